//! Why a PE that has never been reached cannot be reached: messages for a firewall, a wrong interface, a host
//! without a route to the other.

use std::{fs, io};

use oxshmem_base::Error;
use oxshmem_os::descriptors;

use crate::address::PeAddress;
use crate::interfaces::Address;
use crate::local::LocalPe;
use crate::proto::admission::OTHER_FILES;

/// An address that was tried, and what came of it last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct AddressOutcome {
    pub(crate) address: String,
    pub(crate) why: String,
}

/// Why something has ended, and what came of each address.
pub(crate) fn because(why: &str, history: &[AddressOutcome]) -> String {
    let outcome = |AddressOutcome { address, why }: &AddressOutcome| {
        if address.is_empty() { format!("; {why}") } else { format!("; {address}: {why}") }
    };
    history.iter().fold(why.to_owned(), |words, one| words + &outcome(one))
}

/// The error for PE `pe`. `why`: how long that lasts; `history`: which addresses, and what came of each.
pub(crate) fn explain(local: &LocalPe, pe: u32, why: &str, history: &[AddressOutcome]) -> Error {
    let addresses = &local.addresses;
    match addresses.of(pe) {
        Ok(there) => words(&addresses.own, &there, addresses.ports, pe, why, history),
        Err(error) => error,
    }
}

/// The error where only one of this PE and PE `pe` encrypts.
pub(crate) fn differs(local: &LocalPe, pe: u32) -> Error {
    let (with, without) = if local.credentials.encrypt { (local.me, pe) } else { (pe, local.me) };
    cannot_talk(local, pe)
        .because(format!("SHMEM_TCP_ENCRYPT is set for PE {with} and not for PE {without}"))
        .fix("set SHMEM_TCP_ENCRYPT for all PEs or for none")
}

/// The error where PE `pe` has come over this rail, which this PE does not have.
pub(crate) fn lacks_rail(local: &LocalPe, pe: u32, rail: u16) -> Error {
    cannot_talk(local, pe)
        .because(format!(
            "SHMEM_RAILS is {} for PE {} and more than {rail} for PE {pe}",
            local.addresses.rails, local.me
        ))
        .fix("set SHMEM_RAILS alike for all PEs")
}

/// The beginning of an error about variables that differ.
fn cannot_talk(local: &LocalPe, pe: u32) -> Error {
    let (me, here) = (local.me, &local.addresses.own.name);
    let there = local.addresses.of(pe).map_or_else(|_| String::new(), |there| format!(" on host {}", there.name));
    Error::new(format!("PE {me} on host {here} and PE {pe}{there} cannot talk by TCP"))
}

/// The error where the kernel could not reach the memory of an operation between this PE and PE `pe`.
pub(crate) fn faulted(pe: u32) -> Error {
    oxshmem_transport::faulted(pe, io::Error::from_raw_os_error(libc::EFAULT))
}

/// The error where so many connections in a row have ended behind this number of frames of PE `pe`, because what came then is none.
pub(crate) fn garbled(pe: u32, executed: u64, connections: u32, why: &str) -> Error {
    Error::new(format!("what PE {pe} sends by TCP cannot be read"))
        .because(format!("{connections} connections have ended behind its frame {executed}; the last: {why}"))
        .fix(format!(
            "start one version of oxshmem on all PEs; if it is one, PE {pe} may have written beyond an array into memory of the \
             library: compile with -fsanitize=address, or run valgrind"
        ))
}

fn words(
    here: &PeAddress,
    there: &PeAddress,
    ports: Option<(u16, u16)>,
    pe: u32,
    why: &str,
    history: &[AddressOutcome],
) -> Error {
    let (from, to) = (&here.name, &there.name);
    let error = Error::new(format!("PE {pe} on host {to} cannot be reached from host {from} by TCP"));
    let leads_back = |a: &Address| a.ip.is_loopback() || here.addresses.iter().any(|own| own.ip == a.ip);
    if here.host != there.host && there.addresses.iter().all(leads_back) {
        return error
            .because(format!("{to} tells only {}, by which {from} reaches itself", list(&there.addresses)))
            .fix("SHMEM_TCP_INTERFACE must name the interface by which hosts reach each other; or leave it out");
    }
    let open = match ports {
        Some((first, last)) => format!("let the firewalls of {from} and {to} pass TCP to ports {first}-{last}"),
        None => format!(
            "if there is a firewall, let it pass a range of ports on {from} and {to}, and name it: \
             SHMEM_TCP_PORTS=41000-41999"
        ),
    };
    let had = |word: &str| history.iter().any(|outcome| outcome.why.contains(word));
    let look = if had("handshake") {
        "what answers there does not belong to this job: start all PEs by one launcher; "
    } else if had("takes the connection") {
        // The kernel of that host takes connections and the process does not: most firewalls let none through.
        "see whether that PE is stopped, its host overloaded, or its limit of open files (ulimit -n) reached; "
    } else if had("refused") {
        // A refused connection means that the host is up but no process listens: the PE may be gone.
        "see whether that PE has ended; "
    } else {
        ""
    };
    let error = error.because(because(why, history));
    if had("os error 24") || had("os error 23") {
        return error.fix(format!(
            "raise the limit of open files (ulimit -n), which is {}: a PE has one for each PE of other nodes, and {OTHER_FILES} others",
            descriptors::limit()
        ));
    }
    if had("os error 28") {
        // ENOSPC: a socket was made, and could not be watched.
        let most = fs::read_to_string("/proc/sys/fs/epoll/max_user_watches").unwrap_or_default();
        return error.fix(format!(
            "raise the number of sockets that a user may watch on a host (sysctl fs.epoll.max_user_watches), which is {}: a PE watches the \
             connection to each PE of other nodes twice",
            most.trim()
        ));
    }
    if had("os error 99") && here.host == there.host {
        // EADDRNOTAVAIL: the kernel finds no way to an address of its own, as in a network namespace that nobody has set up.
        return error.fix("bring the interface up by which the host reaches itself (ip link set lo up)");
    }
    if here.host == there.host {
        // No firewall and no choice of an interface stands between the PEs of one host.
        let look = if look.is_empty() { "see whether that PE is stopped, or the host overloaded; " } else { look };
        return error.fix(format!("{look}SHMEM_PEER_TIMEOUT is the patience"));
    }
    error.fix(format!(
        "{look}{open}; SHMEM_TCP_INTERFACE chooses another network ({from} tells {}; {to} tells {})",
        list(&here.addresses),
        list(&there.addresses)
    ))
}

fn list(addresses: &[Address]) -> String {
    if addresses.is_empty() {
        return "no address".into();
    }
    addresses.iter().map(Address::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(name: &str, addresses: &[(&str, &str)]) -> PeAddress {
        let address = |(ip, interface): &(&str, &str)| Address {
            ip: ip.parse().expect("an address"),
            interface: (*interface).into(),
        };
        PeAddress {
            port: 41233,
            name: name.into(),
            host: name.into(),
            addresses: addresses.iter().map(address).collect(),
        }
    }

    #[test]
    fn problem_15_a_blocked_port_is_told_with_both_hosts_and_what_to_open() {
        let (here, there) = (address("n4", &[("10.0.4.4", "eno1")]), address("n5", &[("10.0.4.5", "eno4")]));
        let history = [AddressOutcome { address: "10.0.4.5:41233 (eno4)".into(), why: "no answer".into() }];
        let say =
            |ports| words(&here, &there, ports, 7, "nothing has been heard of it for 30.0 s", &history).to_string();
        let any = say(None);
        for part in ["PE 7 on host n5", "from host n4", "10.0.4.5:41233 (eno4): no answer", "10.0.4.4 (eno1)"] {
            assert!(any.contains(part), "{part}: {any}");
        }
        assert!(any.contains("SHMEM_TCP_PORTS=") && any.contains("SHMEM_TCP_INTERFACE"), "{any}");
        assert!(!any.contains("has ended"), "{any}");
        let named = say(Some((41000, 41009)));
        assert!(named.contains("to ports 41000-41009") && !named.contains("SHMEM_TCP_PORTS="), "{named}");
    }

    #[test]
    fn the_error_names_a_limit_of_this_host() {
        let (here, there) = (address("n4", &[("10.0.4.4", "eno1")]), address("n5", &[("10.0.4.5", "eno4")]));
        for (number, limit) in [(libc::EMFILE, "ulimit -n"), (libc::ENOSPC, "fs.epoll.max_user_watches")] {
            let why = io::Error::from_raw_os_error(number).to_string();
            let history = [AddressOutcome { address: "10.0.4.5:41233 (eno4)".into(), why }];
            let said = words(&here, &there, None, 7, "nothing has been heard of it for 30.0 s", &history).to_string();
            assert!(said.contains(limit) && !said.contains("firewall"), "{said}");
        }
    }

    #[test]
    fn fault_R1_a_host_is_not_told_of_firewalls_to_itself() {
        let here = address("n4", &[("127.0.0.1", "lo")]);
        let say = |why: &str| {
            let history = [AddressOutcome { address: "127.0.0.1:4123 (lo)".into(), why: why.into() }];
            words(&here, &here, None, 7, "nothing has been heard of it for 30.0 s", &history).to_string()
        };
        let silent = say("no answer");
        assert!(silent.contains("127.0.0.1:4123 (lo): no answer") && silent.contains("overloaded"), "{silent}");
        assert!(!silent.contains("firewall") && !silent.contains("SHMEM_TCP_INTERFACE"), "{silent}");
        assert!(say("Connection refused (os error 111)").contains("has ended"));
        let mute = say("it takes the connection and does not answer");
        assert!(mute.contains("is stopped") && mute.contains("ulimit -n"), "{mute}");
        let down = say("Cannot assign requested address (os error 99)");
        assert!(down.contains("ip link set lo up") && !down.contains("is stopped"), "{down}");
        assert!(say("it hangs up during the handshake").contains("does not belong to this job"));
    }

    #[test]
    fn problem_15_an_interface_that_leads_back_is_told() {
        let bridge = ("172.17.0.1", "docker0");
        for wrong in [("127.0.0.1", "lo"), bridge] {
            let (here, there) = (address("n4", &[bridge]), address("n5", &[wrong]));
            let said = words(&here, &there, None, 1, "nothing has been heard of it for 2.0 s", &[]).to_string();
            assert!(said.contains(wrong.0) && said.contains("SHMEM_TCP_INTERFACE"), "{said}");
            assert!(!said.contains("firewall"), "{said}");
        }
    }
}
