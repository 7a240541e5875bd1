//! The addresses of this host: which ones peers are told, and which of a peer's are tried in what order.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use oxshmem_base::Error;
use oxshmem_os::interfaces;

/// An address and the interface that has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Address {
    pub(crate) ip: IpAddr,
    pub(crate) interface: String,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.ip, self.interface)
    }
}

/// The addresses to tell peers: the hint first, then those of interfaces that lead out of this host; loopback only if there
/// is nothing else, or if `loopback` says that all peers are on this host. `wanted` are names of interfaces or addresses,
/// separated by commas.
pub(crate) fn published(wanted: Option<&str>, hint: Option<IpAddr>, loopback: bool) -> Result<Vec<Address>, Error> {
    let all = interfaces::addresses()
        .map_err(|e| Error::new("the addresses of this host cannot be listed").because(e))?
        .into_iter()
        .map(|(ip, interface)| Address { ip, interface });
    let all: Vec<Address> = all.collect();
    if loopback && let Some(address) = local(&all) {
        return Ok(vec![address]);
    }
    choose(all, wanted, hint, &interfaces::leading_out())
}

/// The address by which the PEs of one host reach each other.
fn local(all: &[Address]) -> Option<Address> {
    let localhost = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    localhost.iter().find_map(|ip| all.iter().find(|address| address.ip == *ip)).cloned()
}

fn choose(
    all: Vec<Address>,
    wanted: Option<&str>,
    hint: Option<IpAddr>,
    leading_out: &[String],
) -> Result<Vec<Address>, Error> {
    let wanted: Option<Vec<&str>> = wanted.map(|list| list.split(',').map(str::trim).collect());
    // An address of IPv6 may be written in several ways.
    let names = |wanted: &str, a: &Address| wanted == a.interface || wanted.parse() == Ok(a.ip);
    let is_named = |a: &Address| wanted.iter().flatten().any(|&wanted| names(wanted, a));
    let mut usable: Vec<Address> = match &wanted {
        Some(_) => all.iter().filter(|a| is_named(a) && !is_of_link(a)).cloned().collect(),
        None => all.iter().filter(|a| !a.ip.is_loopback() && !interfaces::is_link_local(a.ip)).cloned().collect(),
    };
    if usable.is_empty() {
        if let Some(wanted) = &wanted {
            return Err(nothing_usable(&wanted.join(","), &all, all.iter().find(|a| is_named(a))));
        }
        usable = all.into_iter().filter(|a| a.ip.is_loopback()).collect();
    }
    usable.sort_by_key(|a| (Some(a.ip) != hint, !leading_out.contains(&a.interface), a.ip.is_ipv6()));
    Ok(usable)
}

/// An IPv6 address of one link means nothing without its link, which has other names on other hosts.
fn is_of_link(address: &Address) -> bool {
    address.ip.is_ipv6() && interfaces::is_link_local(address.ip)
}

/// The error where the user's list names none of these addresses, or only such as mean nothing to other hosts, like this one.
fn nothing_usable(list: &str, all: &[Address], of_link: Option<&Address>) -> Error {
    let has = all.iter().map(Address::to_string).collect::<Vec<_>>().join(", ");
    let Some(of_link) = of_link else {
        return Error::new(format!("no interface of host {} is one of SHMEM_TCP_INTERFACE={list}", name()))
            .because(format!("it has {has}"))
            .fix(
                "name one of them that every host has, or leave it out and let each host use what the others can reach",
            );
    };
    Error::new(format!("SHMEM_TCP_INTERFACE={list} names no address of host {} by which others reach it", name()))
        .because(format!("{of_link} is an address of its own link alone; the host has {has}"))
        .fix(format!("give {} another address, of IPv4 or IPv6, or name another interface", of_link.interface))
}

/// The addresses of a peer in the order in which they are tried. On one host loopback is first; between hosts an address
/// that this host has too (a bridge of containers, say) would only lead back here.
pub(crate) fn candidates(peer: &[Address], same_host: bool, mine: &[Address]) -> Vec<Address> {
    if same_host {
        let v6_only = peer.iter().all(|a| a.ip.is_ipv6());
        let ip: IpAddr = if v6_only { Ipv6Addr::LOCALHOST.into() } else { Ipv4Addr::LOCALHOST.into() };
        let others = peer.iter().filter(|a| a.ip != ip).cloned();
        return std::iter::once(Address { ip, interface: "lo".into() }).chain(others).collect();
    }
    let is_shared = |a: &Address| mine.iter().any(|own| own.ip == a.ip);
    let (shared, own): (Vec<Address>, Vec<Address>) = peer.iter().cloned().partition(is_shared);
    if own.is_empty() { shared } else { own }
}

/// Puts the addresses first where the peer has them on the interface for this rail, so that rails take turns over the
/// interfaces. All stay candidates: an interface that leads nowhere costs a rail its turn there and nothing else.
pub(crate) fn spread(candidates: &mut [Address], rail: u16) {
    let mut names: Vec<&str> = Vec::new();
    for address in candidates.iter() {
        if !names.contains(&address.interface.as_str()) {
            names.push(&address.interface);
        }
    }
    let Some(count @ 2..) = Some(names.len()) else { return };
    let wanted = names[usize::from(rail) % count].to_owned();
    candidates.sort_by_key(|address| address.interface != wanted);
}

/// The name of this host; one word.
pub(crate) fn name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.split_whitespace().next().unwrap_or("localhost").to_owned()
}

/// A text that tells two network stacks apart: the boot of the machine and the network namespace.
pub(crate) fn host() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let space = std::fs::read_link("/proc/self/ns/net").map(|p| p.display().to_string()).unwrap_or_default();
    format!("{} {space}", boot.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(ip: &str, interface: &str) -> Address {
        Address { ip: ip.parse().expect("an address"), interface: interface.into() }
    }

    fn host_with_everything() -> Vec<Address> {
        vec![
            address("127.0.0.1", "lo"),
            address("fe80::1", "eth0"),
            address("2001:db8::5", "eth0"),
            address("172.17.0.1", "docker0"),
            address("10.0.0.5", "eth0"),
        ]
    }

    #[test]
    fn loopback_is_told_only_if_there_is_nothing_else() {
        let told = choose(host_with_everything(), None, None, &[]).expect("there are addresses");
        assert_eq!(
            told.iter().map(|a| a.ip.to_string()).collect::<Vec<_>>(),
            ["172.17.0.1", "10.0.0.5", "2001:db8::5"]
        );
        let alone = choose(vec![address("127.0.0.1", "lo")], None, None, &[]).expect("there are addresses");
        assert_eq!(alone, [address("127.0.0.1", "lo")]);
    }

    #[test]
    fn one_host_has_an_address_of_its_own() {
        assert_eq!(local(&host_with_everything()), Some(address("127.0.0.1", "lo")));
        assert_eq!(local(&[address("10.0.0.5", "eth0"), address("::1", "lo")]), Some(address("::1", "lo")));
        assert_eq!(local(&[address("10.0.0.5", "eth0")]), None);
    }

    #[test]
    fn the_hint_is_first_and_the_user_has_the_last_word() {
        let hint = "10.0.0.5".parse().ok();
        assert_eq!(choose(host_with_everything(), None, hint, &[]).expect("addresses")[0], address("10.0.0.5", "eth0"));
        let wanted = choose(host_with_everything(), Some("lo, docker0"), hint, &[]).expect("addresses");
        assert_eq!(wanted, [address("127.0.0.1", "lo"), address("172.17.0.1", "docker0")]);
        let wanted = choose(host_with_everything(), Some("eth0"), None, &[]).expect("addresses");
        assert_eq!(wanted, [address("10.0.0.5", "eth0"), address("2001:db8::5", "eth0")]);
        for written in ["2001:db8::5", "2001:DB8:0::5"] {
            let wanted = choose(host_with_everything(), Some(written), None, &[]).expect("addresses");
            assert_eq!(wanted, [address("2001:db8::5", "eth0")], "{written}");
        }
        let error = choose(host_with_everything(), Some("ib0"), None, &[]).expect_err("there is no ib0").to_string();
        assert!(error.contains("SHMEM_TCP_INTERFACE=ib0") && error.contains("10.0.0.5 (eth0)"), "{error}");
    }

    #[test]
    fn the_error_names_an_address_that_only_its_own_link_reaches() {
        let host = || vec![address("127.0.0.1", "lo"), address("fe80::1", "eth1"), address("10.0.0.5", "eth0")];
        for named in ["eth1", "fe80::1", "ib0, eth1"] {
            let error = choose(host(), Some(named), None, &[]).expect_err("no host reaches it").to_string();
            assert!(error.contains("fe80::1 (eth1) is an address of its own link alone"), "{named}: {error}");
        }
        let wanted = choose(host(), Some("fe80::1, eth0"), None, &[]).expect("an address");
        assert_eq!(wanted, [address("10.0.0.5", "eth0")]);
    }

    #[test]
    fn problem_15_what_leads_out_of_the_host_comes_before_a_bridge() {
        let told = choose(host_with_everything(), None, None, &["eth0".into()]).expect("there are addresses");
        assert_eq!(told.iter().map(|a| a.interface.as_str()).collect::<Vec<_>>(), ["eth0", "eth0", "docker0"]);
    }

    #[test]
    fn problem_15_an_address_that_both_hosts_have_is_not_tried() {
        let (bridge, a, b) =
            (address("172.17.0.1", "docker0"), address("10.0.0.5", "eth0"), address("10.0.0.6", "eth0"));
        let mine = [bridge.clone(), a];
        let (theirs, only_bridge, only_b) = ([bridge.clone(), b.clone()], [bridge], [b.clone()]);
        assert_eq!(candidates(&theirs, false, &mine), only_b);
        assert_eq!(candidates(&only_bridge, false, &mine), only_bridge);
        assert_eq!(candidates(&only_b, true, &only_b), [address("127.0.0.1", "lo"), b]);
    }

    #[test]
    fn rails_take_turns_over_interfaces() {
        let all = [address("10.0.0.6", "eth0"), address("10.1.0.6", "eth1"), address("2001:db8::6", "eth0")];
        let order = |rail| {
            let mut candidates = all.clone();
            spread(&mut candidates, rail);
            candidates.map(|a| a.ip.to_string())
        };
        assert_eq!(order(0), ["10.0.0.6", "2001:db8::6", "10.1.0.6"]);
        assert_eq!(order(1), ["10.1.0.6", "10.0.0.6", "2001:db8::6"]);
        assert_eq!(order(2), order(0));
        let mut alone = [address("10.0.0.6", "eth0")];
        spread(&mut alone, 3);
        spread(&mut [], 1);
        assert_eq!(alone, [address("10.0.0.6", "eth0")]);
    }
}
