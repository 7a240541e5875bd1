//! UCX over TCP.

use std::ffi::{CStr, CString};

use crate::usable::usable_card;

/// The settings that make TCP segments of UCX's as long as [`TCP_SEGMENT`], as far as the user has not made them.
///
/// They are made only where the user names TCP: UCX warns of settings that no transport takes.
pub(crate) fn segments(version: &str, tls: Option<&str>) -> impl Iterator<Item = (&'static CStr, CString)> {
    let is_set = |name: &str| std::env::var_os(name).is_some();
    let free = !is_set("UCX_TCP_TX_SEG_SIZE") && !is_set("UCX_TCP_RX_SEG_SIZE");
    let names = tls.filter(|tls| free && names(tls).any(|name| name == "tcp")).map(|_| segment_names(version));
    names.into_iter().flatten().filter_map(|&name| Some((name, CString::new(TCP_SEGMENT.to_string()).ok()?)))
}

/// Bytes of a TCP segment of UCX's. Puts over TCP are made of segments, and each costs a call of the kernel: with UCX's own 8 KiB a
/// put of a MiB takes three times as long. Two hold a piece of an unacknowledged put (`channel::unacknowledged`) with its header.
const TCP_SEGMENT: usize = 132 << 10;

/// Longest data of a message over TCP that UCX is given as a list. UCX sends contiguous data of this length by `sendmsg`, and copies a list
/// behind the header and sends both by `send` ([`copying`]), which takes 0.1 us less up to this length, and as long at 8 KiB.
pub(crate) const LISTED: usize = 4 << 10;

/// The setting by which UCX copies messages of up to [`LISTED`] bytes that it is given as lists, unless the user has made it.
pub(crate) fn copying(sends_messages: bool) -> Option<(&'static CStr, CString)> {
    let is_free = sends_messages && std::env::var_os("UCX_ZCOPY_THRESH").is_none();
    is_free.then(|| CString::new((LISTED + 1).to_string()).ok()).flatten().map(|number| (c"ZCOPY_THRESH", number))
}

/// By which names a version of UCX lets a program set the length of segments: without the name of the transport at first, later with
/// it. None where that is not known.
fn segment_names(version: &str) -> &'static [&'static CStr] {
    let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
    match (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) {
        (1, 12..=13) => &[c"TX_SEG_SIZE", c"RX_SEG_SIZE"],
        (1, 15..) => &[c"TCP_TX_SEG_SIZE", c"TCP_RX_SEG_SIZE"],
        _ => &[],
    }
}

/// UCX's transports within a node.
const WITHIN_A_NODE: &[&str] = &["self", "sm", "shm", "posix", "sysv", "mm", "cma", "xpmem", "knem"];

/// Whether UCX has nothing but TCP between nodes: the user has named no other transport, or has named none and there is
/// no card.
pub(crate) fn is_all_there_is(tls: Option<&str>) -> bool {
    let by_variable = || std::env::var("UCX_TLS").ok();
    match tls.map(String::from).or_else(by_variable) {
        Some(tls) => is_all_of(&tls),
        None => usable_card().is_err(),
    }
}

fn is_all_of(tls: &str) -> bool {
    names(tls).any(|name| name == "tcp") && names(tls).all(|name| name == "tcp" || WITHIN_A_NODE.contains(&name))
}

fn names(tls: &str) -> impl Iterator<Item = &str> {
    tls.split(',').map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::{LISTED, copying, is_all_of, segment_names};

    #[test]
    fn the_names_of_segments_follow_the_version() {
        assert_eq!(segment_names("1.13.1"), [c"TX_SEG_SIZE", c"RX_SEG_SIZE"]);
        assert_eq!(segment_names("1.18.0"), [c"TCP_TX_SEG_SIZE", c"TCP_RX_SEG_SIZE"]);
        for unknown in ["1.14.0", "1.9.0", "2.0.0", ""] {
            assert!(segment_names(unknown).is_empty(), "{unknown}");
        }
    }

    #[test]
    fn ucx_copies_lists_of_messages_unless_the_user_has_chosen() {
        let chosen = std::env::var_os("UCX_ZCOPY_THRESH").is_some();
        assert_eq!(copying(true).is_none(), chosen);
        assert!(copying(true).is_none_or(|(name, least)| name == c"ZCOPY_THRESH" && least.to_bytes() == b"4097"));
        assert!(LISTED == 4096 && copying(false).is_none());
    }

    #[test]
    fn tcp_is_all_there_is_where_no_card_is_named() {
        assert!(["tcp", "tcp,self", "sm, tcp"].into_iter().all(is_all_of));
        assert!(!["rc", "rc,tcp", "all", "^ib", "self,sm", ""].into_iter().any(is_all_of));
    }
}
