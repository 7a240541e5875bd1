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

/// Providers whose own software makes atomics of messages to the target's, above a card that has none. Their entries do not say so: a
/// Slingshot card's is one of software's progress as well.
const ATOMICS_BY_SOFTWARE: &[&str] = &["efa"];

/// Providers that drive a card and have the processor move the data. Later versions of `opx` list the demands on memory that we say we meet
/// as their own, and so look like a card's.
const MOVED_BY_THE_PROCESSOR: &[&str] = &["opx", "psm2", "psm3"];

impl EndpointKind {
    /// The kind of this provider's endpoints. Those that want pages demand memory that is really there.
    pub(crate) fn of(provider: String, wants_pages: bool, remote: bool) -> Self {
        let card = wants_pages && remote && !MOVED_BY_THE_PROCESSOR.contains(&provider.as_str());
        Self { native: !provider.contains(';'), provider, card, remote }
    }

    /// Whether a card does what atomics the provider has. A layer above a card's provider makes them of messages.
    pub(crate) fn atomics_are_a_cards(&self) -> bool {
        self.card && self.native && !ATOMICS_BY_SOFTWARE.contains(&self.provider.as_str())
    }

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

    fn kind(provider: &str, card: bool, remote: bool) -> EndpointKind {
        EndpointKind { provider: provider.into(), card, remote, native: !provider.contains(';') }
    }

    #[test]
    fn networks_made_for_this_go_before_sockets_and_the_slow_ones_last() {
        let mut offers = vec![
            kind("shm", false, false),
            kind("net", false, true),
            kind("udp;ofi_rxd", false, true),
            kind("tcp;ofi_rxm", false, true),
            kind("tcp", false, true),
            kind("pigeon", true, true),
            kind("psm3", false, true),
            kind("verbs;ofi_rxm", true, true),
            kind("verbs", true, true),
            kind("efa", true, true),
            kind("cxi", true, true),
        ];
        offers.sort_by_key(EndpointKind::order);
        let names: Vec<&str> = offers.iter().map(|offer| offer.provider.as_str()).collect();
        assert_eq!(names.join(" "), "cxi verbs verbs;ofi_rxm efa psm3 pigeon tcp tcp;ofi_rxm udp;ofi_rxd net shm");
    }

    /// Newer versions of libfabric made a card of Omni-Path's `opx`: it was taken unasked, and left atomics to itself.
    #[test]
    fn who_has_the_processor_move_the_data_is_no_card() {
        for name in ["opx", "psm2", "psm3"] {
            let kind = EndpointKind::of(name.into(), true, true);
            assert!(!kind.card && !kind.atomics_are_a_cards() && kind.native && kind.remote, "{kind:?}");
        }
        assert!(EndpointKind::of("cxi".into(), true, true).card && EndpointKind::of("pigeon".into(), true, true).card);
        let layered = EndpointKind::of("verbs;ofi_rxm".into(), true, true);
        assert!(layered.card && !layered.native);
        for software in [EndpointKind::of("tcp".into(), false, true), EndpointKind::of("shm".into(), true, false)] {
            assert!(!software.card, "{software:?}");
        }
    }

    /// Jobs of one PE on each node left their atomics to EFA's software, as if a card did them.
    #[test]
    fn atomics_are_a_cards_where_no_software_makes_them() {
        assert!(kind("cxi", true, true).atomics_are_a_cards() && kind("pigeon", true, true).atomics_are_a_cards());
        for software in [kind("efa", true, true), kind("verbs;ofi_rxm", true, true), kind("tcp", false, true)] {
            assert!(!software.atomics_are_a_cards(), "{software:?}");
        }
    }
}
