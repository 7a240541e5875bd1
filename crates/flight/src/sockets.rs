//! The names of the sockets at which a launcher tells what its job does. They are in no file system.

/// The beginning of the names of all sockets of a user's launchers that answer with a view of the job in JSON.
pub fn views(user: u32) -> String {
    format!("oxshmem/{user}/")
}

/// The socket of the launcher with this process number that answers with a view of the job in JSON.
pub fn view(user: u32, launcher: u32) -> String {
    format!("{}{launcher}", views(user))
}

/// Another name of that socket, for where another user has taken the first one.
pub fn other_view(user: u32, launcher: u32, number: u64) -> String {
    format!("{}.{number:x}", view(user, launcher))
}

/// The process number of the launcher in the name of a socket that answers with views; nothing in any other name.
pub fn launcher(user: u32, name: &[u8]) -> Option<u32> {
    let rest = std::str::from_utf8(name.strip_prefix(views(user).as_bytes())?).ok()?;
    let number = rest.split_once('.').map_or(rest, |(number, _)| number);
    number.parse().ok().filter(|launcher: &u32| launcher.to_string() == number)
}

/// The one that answers with the waits of all PEs in words, and with nothing as long as one of them does not wait. For the launcher
/// and its PEs, which count processes alike: a launcher in another container that shares the network may have the same number.
pub fn waits(user: u32, launcher: u32) -> String {
    let space = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!("oxshmem-waits/{user}/{launcher}/{}", space.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_of_two_containers_have_two_names_for_waits() {
        let name = waits(7, 1);
        let space = name.strip_prefix("oxshmem-waits/7/1/").expect("it begins with user and launcher");
        assert!(space.starts_with("pid:["), "{name}");
        // An abstract name has this room.
        assert!(waits(u32::MAX, u32::MAX).len() < 100);
    }

    #[test]
    fn launchers_are_found_in_names_of_both_forms_and_in_no_others() {
        assert_eq!(launcher(7, view(7, 41).as_bytes()), Some(41));
        assert_eq!(launcher(7, other_view(7, 41, u64::MAX).as_bytes()), Some(41));
        for other in
            [&b"oxshmem/7/+41"[..], b"oxshmem/7/", b"oxshmem/7/41/2", b"oxshmem/8/41", b"\xff", b"oxshmem/7/4\xff"]
        {
            assert_eq!(launcher(7, other), None, "{}", other.escape_ascii());
        }
    }
}
