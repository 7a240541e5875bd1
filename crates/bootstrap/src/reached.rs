//! The address by which this host was reached when the job was started: where a launcher gets through, peers do, too.

use std::net::{IpAddr, ToSocketAddrs, UdpSocket};

use crate::wire::host_and_port;

/// The variable in which agents of `oshrun` say it, because they know it.
pub const REACHED: &str = "OXSHMEM_REACHED";

/// The address, if the launcher is one that says something of it.
pub fn reached() -> Option<IpAddr> {
    from(&|name| std::env::var(name).ok())
}

fn from(variable: &dyn Fn(&str) -> Option<String>) -> Option<IpAddr> {
    if let Some(said) = variable(REACHED) {
        return said.parse().ok();
    }
    // Slurm tells where srun runs, a server at a port where it listens: we reach them from where they reached us.
    let launcher = variable("SLURM_LAUNCH_NODE_IPADDR").map(|address| (address, 9));
    let server = || Some((host_and_port(&variable("PMI_PORT")?)?.0.to_owned(), 9));
    towards(launcher.or_else(server)?)
}

/// The address of this host from which packets to `there` would go. None is sent.
fn towards(there: (String, u16)) -> Option<IpAddr> {
    let there = (there.0.as_str(), there.1).to_socket_addrs().ok()?.next()?;
    let any: IpAddr = if there.is_ipv4() { [0_u8; 4].into() } else { [0_u8; 16].into() };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect(there).ok()?;
    let here = socket.local_addr().ok()?.ip();
    // A launcher on this very host says nothing of how others get here.
    (!here.is_loopback() && here != there.ip()).then_some(here)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(set: &[(&str, &str)]) -> Option<IpAddr> {
        from(&|name| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn our_launcher_knows_it() {
        assert_eq!(with(&[(REACHED, "10.1.2.3"), ("PMI_PORT", "127.0.0.1:99")]), "10.1.2.3".parse().ok());
        assert_eq!(with(&[(REACHED, "2001:db8::7")]), "2001:db8::7".parse().ok());
        assert_eq!(with(&[(REACHED, "somewhere")]), None);
        assert_eq!(with(&[]), None);
    }

    #[test]
    fn a_launcher_on_this_host_says_nothing() {
        assert_eq!(with(&[("PMI_PORT", "127.0.0.1:99")]), None);
        assert_eq!(with(&[("SLURM_LAUNCH_NODE_IPADDR", "127.0.0.1")]), None);
    }

    #[test]
    fn what_is_no_address_is_nothing() {
        assert_eq!(with(&[("PMI_PORT", "99")]), None);
        assert_eq!(with(&[("SLURM_LAUNCH_NODE_IPADDR", "")]), None);
    }

    #[test]
    fn the_way_to_another_host_begins_at_an_address_of_this_one() {
        // An address for documentation: nothing is sent there. Without a route there is no answer.
        if let Some(here) = with(&[("SLURM_LAUNCH_NODE_IPADDR", "192.0.2.1")]) {
            assert!(UdpSocket::bind((here, 0)).is_ok(), "{here}");
        }
    }
}
