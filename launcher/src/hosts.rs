//! The hosts of a job: who named them, how many PEs each has room for, and which PE goes where.

pub(crate) mod allocation;
pub(crate) mod nodelist;
pub(crate) mod placement;

use std::net::{IpAddr, Ipv6Addr};
use std::path::Path;

use oxshmem_base::{Error, file};
use oxshmem_os::interfaces;

/// A host as the user or a scheduler named it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostEntry {
    /// The name that the remote shell is given.
    pub name: String,
    /// How many PEs it is meant for, if the user or the scheduler says so.
    pub slots: Option<u32>,
}

/// `-H a,b:4,n[1-3],[::1]:2`: a host named twice has the room of both.
pub fn from_option(text: &str) -> Result<Vec<HostEntry>, String> {
    let mut hosts = Vec::new();
    for item in nodelist::items(text)? {
        let (names, slots) = names_and_slots(item)?;
        for name in names {
            add(&mut hosts, name, slots)?;
        }
    }
    if hosts.is_empty() { Err("no host is named".into()) } else { Ok(hosts) }
}

/// The hosts that an item means, and for how many PEs each is meant.
fn names_and_slots(item: &str) -> Result<(Vec<String>, Option<u32>), String> {
    let number = |text: &str| text.parse().map(Some).map_err(|_| no_number(text));
    if let Some((user, address, rest)) = bracketed_address(item) {
        let slots = match rest.strip_prefix(':') {
            Some(slots) => number(slots)?,
            None if rest.is_empty() => None,
            None => return Err(format!("`{rest}` behind the address in `{item}` is not :N")),
        };
        // A link-local address has a zone behind it.
        let plain = address.split_once('%').map_or(address, |(plain, _)| plain);
        plain.parse::<Ipv6Addr>().map_err(|_| format!("`{address}` is not an IPv6 address"))?;
        return Ok((vec![format!("{user}{address}")], slots));
    }
    match item.split_once(':') {
        Some((_, rest)) if rest.contains(':') => {
            Err(format!("`{item}` has several colons; write an IPv6 address in brackets, as in [::1] or [::1]:2"))
        }
        Some((names, slots)) => Ok((nodelist::expand(names)?, number(slots)?)),
        None => Ok((nodelist::expand(item)?, None)),
    }
}

/// The parts of `user@[address]rest`. Brackets without a colon are those of a range.
fn bracketed_address(item: &str) -> Option<(&str, &str, &str)> {
    let (user, rest) = item.split_once('[')?;
    let (address, rest) = rest.split_once(']')?;
    let is_address = address.contains(':') && (user.is_empty() || user.ends_with('@'));
    is_address.then_some((user, address, rest))
}

/// A host file: one host a line, `name`, `name:4` or `name slots=4`; `#` begins a comment.
pub(crate) fn from_file(path: &Path) -> Result<Vec<HostEntry>, Error> {
    let refused = |why: String| {
        Error::new(format!("cannot use the host file {}", path.display()))
            .because(why)
            .fix("name a file with one host on a line, `name` or `name slots=4`, or name hosts with -H a,b")
    };
    let text = file::read(path).map_err(|error| refused(error.to_string()))?;
    from_lines(&text).map_err(refused)
}

fn from_lines(text: &str) -> Result<Vec<HostEntry>, String> {
    let mut hosts = Vec::new();
    // Editors of Windows begin a file with this mark, which no screen shows.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (line, number) in text.lines().zip(1..) {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let Some(names) = words.next() else { continue };
        let at = |why: String| format!("line {number}: {why}");
        let mut named = from_option(names).map_err(at)?;
        for word in words {
            let slots = word.strip_prefix("slots=").ok_or_else(|| at(no_slots(word)))?;
            let slots = slots.parse().map_err(|_| at(no_number(slots)))?;
            named.iter_mut().for_each(|host| host.slots = Some(slots));
        }
        for HostEntry { name, slots } in named {
            add(&mut hosts, name, slots).map_err(at)?;
        }
    }
    if hosts.is_empty() { Err("it names no host".into()) } else { Ok(hosts) }
}

fn add(hosts: &mut Vec<HostEntry>, name: String, slots: Option<u32>) -> Result<(), String> {
    // A name that the remote shell would take for an option, or that would be two words, is no name.
    if name.is_empty() || name.starts_with('-') || name.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(format!("`{}` is not a host's name", name.escape_debug()));
    }
    if slots == Some(0) {
        return Err(format!("{name} has room for no PE; leave it out"));
    }
    match hosts.iter_mut().find(|host| host.name == name) {
        Some(known) => known.slots = Some(known.slots.unwrap_or(1).saturating_add(slots.unwrap_or(1))),
        None => hosts.push(HostEntry { name, slots }),
    }
    Ok(())
}

fn no_number(text: &str) -> String {
    format!("`{text}` is not a number of PEs")
}

/// Open MPI's host files may limit a host. A limit that is not kept must not be passed over, so such a line is refused.
fn no_slots(word: &str) -> String {
    match word.split_once('=') {
        Some(("max_slots" | "max-slots", _)) => {
            format!("`{word}` is a limit, which oxshmem does not keep; leave it out, slots=N is enough")
        }
        _ => format!("`{word}` is not slots=N"),
    }
}

/// A host's name as `-H` takes it: an IPv6 address goes in brackets.
pub(crate) fn as_option(name: &str) -> String {
    let (user, host) = user_and_host(name);
    if host.contains(':') { format!("{user}[{host}]") } else { name.to_owned() }
}

/// The parts of `user@host`; the first one ends with `@` or is empty.
fn user_and_host(name: &str) -> (&str, &str) {
    name.split_at(name.rfind('@').map_or(0, |at| at + 1))
}

/// Whether a name means the machine we are on: one of its addresses, its name, or a name that every machine has for itself.
pub(crate) fn is_here(name: &str) -> bool {
    if let Ok(address) = name.parse::<IpAddr>() {
        let is_own = |(own, _): &(IpAddr, String)| *own == address;
        return address.is_loopback() || interfaces::addresses().unwrap_or_default().iter().any(is_own);
    }
    let own = own_short_name();
    let short = short_name(name);
    short == "localhost" || (!own.is_empty() && short == own)
}

/// The first label of a host name, in lower case.
fn short_name(name: &str) -> String {
    name.split('.').next().unwrap_or_default().to_ascii_lowercase()
}

/// The short name of the machine we are on.
fn own_short_name() -> String {
    short_name(std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim())
}

/// Whether a name means the machine we are on, whatever user it names. `me@localhost` takes a remote shell, so that
/// [`is_here`] does not hold, and means another machine elsewhere.
pub(crate) fn is_this_machine(name: &str) -> bool {
    is_here(user_and_host(name).1)
}

/// The hosts with all names of this machine as one host, at the place of the first of them.
pub(crate) fn together_here(hosts: &[HostEntry]) -> Vec<HostEntry> {
    let mut together: Vec<HostEntry> = Vec::with_capacity(hosts.len());
    let mut here = None;
    for host in hosts {
        match here {
            Some(at) if is_here(&host.name) => {
                let known: &mut HostEntry = &mut together[at];
                known.slots = Some(known.slots.unwrap_or(1).saturating_add(host.slots.unwrap_or(1)));
            }
            _ => {
                here = here.or(is_here(&host.name).then_some(together.len()));
                together.push(host.clone());
            }
        }
    }
    together
}

/// A note about two names in different domains which [`together_here`] takes for this machine: they may be two machines.
pub(crate) fn note_of_domains(hosts: &[HostEntry]) -> Option<String> {
    let own = own_short_name();
    let is_own = |name: &&str| name.contains('.') && name.parse::<IpAddr>().is_err() && short_name(name) == own;
    let mut names = hosts.iter().map(|host| host.name.trim_end_matches('.')).filter(is_own);
    let first = names.next()?;
    let other = names.find(|name| !name.eq_ignore_ascii_case(first))?;
    Some(format!(
        "note: {first} and {other} count as one host, this machine, whose name without a domain is {own}: name another \
         machine by its address"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(hosts: &[HostEntry]) -> String {
        let one = |host: &HostEntry| match host.slots {
            Some(slots) => format!("{}:{slots}", host.name),
            None => host.name.clone(),
        };
        hosts.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn hosts_of_an_option() {
        for (text, hosts) in [
            ("a", "a"),
            ("a,b:4", "a b:4"),
            ("n[1-3]:2,login", "n1:2 n2:2 n3:2 login"),
            ("a,a,b", "a:2 b"),
            ("me@n1:3", "me@n1:3"),
            ("[::1]", "::1"),
            ("[::1]:2,a", "::1:2 a"),
            ("me@[fe80::1%eth0]:3,[2001:db8::7]", "me@fe80::1%eth0:3 2001:db8::7"),
            ("[1-2]:4", "1:4 2:4"),
        ] {
            assert_eq!(shown(&from_option(text).unwrap()), hosts, "{text}");
        }
        for name in ["a", "me@n1", "::1", "me@fe80::1%eth0"] {
            assert_eq!(shown(&from_option(&as_option(name)).unwrap()), name);
        }
        for bad in
            ["", ",", "a:x", "a:0", "-oProxyCommand=x", "n[1-", "n[3-1]", "a b", "[::1]2", "[::1]:x", "[a:b]", "a[::1]"]
        {
            assert!(from_option(bad).is_err(), "{bad}");
        }
        for bad in ["::1", "a:2:3", "fe80::1%eth0"] {
            assert!(from_option(bad).is_err_and(|why| why.contains("in brackets, as in [::1]")), "{bad}");
        }
    }

    #[test]
    fn fault_L1_all_names_of_this_machine_are_one_host() {
        let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let own = own.trim();
        for name in ["localhost", "localhost.localdomain", "127.0.0.1", "127.0.0.2", "::1", own] {
            assert!(is_here(name), "{name}");
        }
        for name in ["2001:db8::1", "someone-elses", "me@localhost"] {
            assert!(!is_here(name), "{name}");
        }
        for (name, is_ours) in [("me@localhost", true), ("me@::1", true), ("::1", true), ("me@2001:db8::1", false)] {
            assert_eq!(is_this_machine(name), is_ours, "{name}");
        }
        let text = format!("n7,localhost:2,n8:3,{own},127.0.0.1:4");
        let hosts = together_here(&from_option(&text).unwrap());
        assert_eq!(shown(&hosts), "n7 localhost:7 n8:3");
        let short = own_short_name();
        let note = |text: String| note_of_domains(&from_option(&text).unwrap());
        let told = note(format!("{short}.a.test,n7.a.test,{short}.b.test:2")).expect("they may be two machines");
        assert!(told.contains(&format!("{short}.a.test and {short}.b.test count as one host")), "{told}");
        for names in [format!("{short},{short}.a.test"), format!("{short}.a.test,{short}.A.test,127.0.0.1,127.0.0.2")] {
            assert_eq!(note(names.clone()), None, "{names}");
        }
        assert_eq!(note("someone-elses.a.test,someone-elses.b.test".into()), None);
    }

    #[test]
    fn hosts_of_a_file() {
        let hosts = from_lines("# two racks\nn1 slots=4\n\nn2:2 # slow\nn[3-4]\n[::1] slots=2\n").unwrap();
        assert_eq!(shown(&hosts), "n1:4 n2:2 n3 n4 ::1:2");
        assert_eq!(shown(&from_lines("\u{feff}n1:2\r\nn2\r\n").unwrap()), "n1:2 n2");
        for (bad, word) in [
            ("", "no host"),
            ("a\nb lots=4", "line 2"),
            ("a slots=many", "many"),
            ("a\n2001:db8::1 slots=2", "line 2: `2001:db8::1` has several colons"),
            ("a slots=2 max_slots=4", "`max_slots=4` is a limit"),
            ("a slots=2\nb max-slots=4", "line 2: `max-slots=4` is a limit"),
        ] {
            assert!(from_lines(bad).unwrap_err().contains(word), "{bad}");
        }
    }
}
