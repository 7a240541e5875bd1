//! The network interfaces of this host: their addresses, and which of them lead out of it.

use std::ffi::CStr;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::ptr;

/// The interfaces as the kernel shows them.
const CLASS: &str = "/sys/class/net";

/// Stacks are not higher: a VLAN on a bond in a bridge has three.
const HIGHEST_STACK: u32 = 8;

/// All addresses of interfaces that are up, with the names of the interfaces.
pub fn addresses() -> io::Result<Vec<(IpAddr, String)>> {
    let mut first = ptr::null_mut();
    // SAFETY: the list goes to a live pointer and is freed below.
    unsafe { syscall!(getifaddrs(&mut first)) }?;
    let mut found = Vec::new();
    let mut next = first;
    // SAFETY: entries are valid until `freeifaddrs`; names are C strings; an address is what its family says.
    unsafe {
        while let Some(entry) = next.as_ref() {
            next = entry.ifa_next;
            if entry.ifa_flags & libc::IFF_UP as u32 == 0 || entry.ifa_addr.is_null() {
                continue;
            }
            let ip = match i32::from((*entry.ifa_addr).sa_family) {
                libc::AF_INET => {
                    let address = &*entry.ifa_addr.cast::<libc::sockaddr_in>();
                    IpAddr::from(address.sin_addr.s_addr.to_ne_bytes())
                }
                libc::AF_INET6 => IpAddr::from((*entry.ifa_addr.cast::<libc::sockaddr_in6>()).sin6_addr.s6_addr),
                _ => continue,
            };
            found.push((ip, CStr::from_ptr(entry.ifa_name).to_string_lossy().into_owned()));
        }
        libc::freeifaddrs(first);
    }
    Ok(found)
}

/// The interfaces with an address by which other hosts can be reached: those on hardware, and those that stand on such
/// (bonds, VLANs, bridges that have a card as a port). A bridge of containers, a tunnel or one end of a pair leads
/// nowhere that every node of a job is sure to be, and a card without a cable nowhere at all, although its address stays. None where that
/// cannot be told, as within a container.
pub fn leading_out() -> Vec<String> {
    let mut names = Vec::new();
    for (ip, name) in addresses().unwrap_or_default() {
        if !is_link_local(ip) && !names.contains(&name) && leads_out(Path::new(CLASS), &name, HIGHEST_STACK) {
            names.push(name);
        }
    }
    names
}

/// Whether an address means something on its own link only.
pub fn is_link_local(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.segments()[0] & 0xFFC0 == 0xFE80,
    }
}

fn leads_out(class: &Path, name: &str, stack: u32) -> bool {
    let folder = class.join(name);
    if fs::read_to_string(folder.join("carrier")).is_ok_and(|carrier| carrier.trim() == "0") {
        return false;
    }
    if folder.join("device").exists() {
        return true;
    }
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    stack > 0 && names.any(|name| name.strip_prefix("lower_").is_some_and(|lower| leads_out(class, lower, stack - 1)))
}

#[cfg(test)]
mod tests {
    use oxshmem_test_folder::TestFolder;

    use super::*;

    #[test]
    fn problem_15_what_stands_on_hardware_leads_out() {
        let class = TestFolder::new("interfaces");
        let interface = |name: &str, entries: &[&str]| {
            fs::create_dir_all(class.join(name)).expect("a folder");
            entries.iter().for_each(|entry| fs::write(class.join(name).join(entry), "").expect("a file"));
        };
        interface("eth0", &["device", "upper_bond0"]);
        interface("bond0", &["lower_eth0", "upper_br0"]);
        interface("bond0.7", &["lower_bond0"]);
        interface("br0", &["lower_bond0", "lower_veth1"]);
        interface("veth1", &["upper_docker0"]);
        interface("docker0", &["lower_veth1"]);
        interface("lo", &[]);
        interface("a", &["lower_b"]);
        interface("b", &["lower_a"]);
        let cable = |name: &str, carrier: &str| fs::write(class.join(name).join("carrier"), carrier).expect("a file");
        cable("eth0", "1\n");
        interface("eth1", &["device"]);
        interface("eth1.7", &["lower_eth1"]);
        cable("eth1", "0\n");
        let leads = |name: &&str| leads_out(&class, name, HIGHEST_STACK);
        let all = ["eth0", "eth1", "eth1.7", "bond0", "bond0.7", "br0", "veth1", "docker0", "lo", "a", "b", "none"];
        assert_eq!(all.into_iter().filter(leads).collect::<Vec<_>>(), ["eth0", "bond0", "bond0.7", "br0"]);
    }

    #[test]
    fn loopback_has_an_address_and_does_not_lead_out() {
        let all = addresses().expect("a list");
        assert!(all.iter().any(|(ip, _)| ip.is_loopback()), "{all:?}");
        assert!(!leading_out().contains(&"lo".to_owned()));
    }
}
