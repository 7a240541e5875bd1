//! The kinds of endpoints that libfabric offers, and which of them is the better one.

/// A kind of endpoint that could carry the job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct EndpointKind {
    /// The provider's full name.
    pub(crate) provider: String,
    /// A card does the work: it wants memory that is really there. The others are software on this machine's processors.
    pub(crate) card: bool,
    /// It reaches other hosts.
    pub(crate) remote: bool,
    /// The provider drives the card itself; otherwise one provider makes our kind of endpoint of another's.
    pub(crate) native: bool,
}

/// Providers from the fastest to the slowest, by the names of those that drive the network: networks made for this first,
/// then sockets. An unknown one stands where the empty name is. (`net` is what libfabric 1.16 and 1.17 call endpoints
/// of their own over sockets; a put takes milliseconds there, so the layered `tcp` goes before it.)
const STANDING: &[&str] = &["cxi", "verbs", "efa", "psm3", "opx", "psm2", "usnic", "", "tcp", "udp", "net", "sockets"];

impl EndpointKind {
    /// The lesser, the better: endpoints that reach other hosts, by the standing of their provider; a card before software and
    /// the provider's own endpoints before those of a layer above.
    pub(crate) fn order(&self) -> (bool, usize, bool, bool) {
        let core = self.provider.split(';').next().unwrap_or_default();
        let place = |name| STANDING.iter().position(|&known| known == name);
        let standing = place(core).or_else(|| place("")).unwrap_or(0);
        (!self.remote, standing, !self.card, !self.native)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_made_for_this_go_before_sockets_and_the_slow_ones_last() {
        let offer = |provider: &str, card, remote| EndpointKind {
            provider: provider.into(),
            card,
            remote,
            native: !provider.contains(';'),
        };
        let mut offers = vec![
            offer("shm", false, false),
            offer("net", false, true),
            offer("udp;ofi_rxd", false, true),
            offer("tcp;ofi_rxm", false, true),
            offer("tcp", false, true),
            offer("pigeon", true, true),
            offer("psm3", false, true),
            offer("verbs;ofi_rxm", true, true),
            offer("verbs", true, true),
            offer("efa", true, true),
            offer("cxi", true, true),
        ];
        offers.sort_by_key(EndpointKind::order);
        let names: Vec<&str> = offers.iter().map(|offer| offer.provider.as_str()).collect();
        let wanted = [
            "cxi",
            "verbs",
            "verbs;ofi_rxm",
            "efa",
            "psm3",
            "pigeon",
            "tcp",
            "tcp;ofi_rxm",
            "udp;ofi_rxd",
            "net",
            "shm",
        ];
        assert_eq!(names, wanted);
    }
}
