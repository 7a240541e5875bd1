//! The hosts of a job: who named them, how many PEs each has room for, and which PE goes where.

pub(crate) mod allocation;
pub(crate) mod nodelist;
pub(crate) mod placement;

use std::path::Path;

use oxshmem_base::Error;

/// A host as the user or a scheduler named it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// What the remote shell is given.
    pub name: String,
    /// How many PEs it is meant for, if anybody said so.
    pub slots: Option<u32>,
}

/// `-H a,b:4,n[1-3]`: a host named twice has the room of both.
pub fn from_option(text: &str) -> Result<Vec<Host>, String> {
    let mut hosts = Vec::new();
    for item in nodelist::items(text)? {
        let (names, slots) = match item.rsplit_once(':') {
            Some((names, slots)) => (names, Some(slots.parse().map_err(|_| no_number(slots))?)),
            None => (item, None),
        };
        for name in nodelist::expand(names)? {
            add(&mut hosts, name, slots)?;
        }
    }
    match hosts.is_empty() {
        true => Err("no host is named".into()),
        false => Ok(hosts),
    }
}

/// A host file: one host a line, `name`, `name:4` or `name slots=4`; `#` begins a comment.
pub(crate) fn from_file(path: &Path) -> Result<Vec<Host>, Error> {
    let refused = |why: String| Error::new(format!("cannot use the host file {}", path.display())).because(why);
    let text = std::fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
    from_lines(&text).map_err(refused)
}

fn from_lines(text: &str) -> Result<Vec<Host>, String> {
    let mut hosts = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let Some(names) = words.next() else { continue };
        let at = |why: String| format!("line {number}: {why}");
        let mut named = from_option(names).map_err(at)?;
        for word in words {
            let slots = word.strip_prefix("slots=").ok_or_else(|| at(format!("`{word}` is not slots=N")))?;
            let slots = slots.parse().map_err(|_| at(no_number(slots)))?;
            named.iter_mut().for_each(|host| host.slots = Some(slots));
        }
        for Host { name, slots } in named {
            add(&mut hosts, name, slots).map_err(at)?;
        }
    }
    match hosts.is_empty() {
        true => Err("it names no host".into()),
        false => Ok(hosts),
    }
}

fn add(hosts: &mut Vec<Host>, name: String, slots: Option<u32>) -> Result<(), String> {
    // A name that the remote shell would take for an option, or that would be two words, is no name.
    if name.is_empty() || name.starts_with('-') || name.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(format!("`{}` is not a host's name", name.escape_debug()));
    }
    if slots == Some(0) {
        return Err(format!("{name} has room for no PE; leave it out"));
    }
    match hosts.iter_mut().find(|host| host.name == name) {
        Some(known) => known.slots = Some(known.slots.unwrap_or(1).saturating_add(slots.unwrap_or(1))),
        None => hosts.push(Host { name, slots }),
    }
    Ok(())
}

fn no_number(text: &str) -> String {
    format!("`{text}` is not a number of PEs")
}

/// Whether a name means the machine we are on.
pub(crate) fn is_here(name: &str) -> bool {
    let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_string();
    matches!(name, "localhost" | "127.0.0.1") || (!own.trim().is_empty() && short(name) == short(own.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(hosts: &[Host]) -> String {
        let one = |host: &Host| match host.slots {
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
        ] {
            assert_eq!(shown(&from_option(text).unwrap()), hosts, "{text}");
        }
        for bad in ["", ",", "a:x", "a:0", "-oProxyCommand=x", "n[1-", "n[3-1]", "a b"] {
            assert!(from_option(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn hosts_of_a_file() {
        let hosts = from_lines("# two racks\nn1 slots=4\n\nn2:2 # slow\nn[3-4]\n").unwrap();
        assert_eq!(shown(&hosts), "n1:4 n2:2 n3 n4");
        for (bad, word) in [("", "no host"), ("a\nb lots=4", "line 2"), ("a slots=many", "many")] {
            assert!(from_lines(bad).unwrap_err().contains(word), "{bad}");
        }
    }
}
