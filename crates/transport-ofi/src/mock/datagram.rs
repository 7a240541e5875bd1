//! Datagrams of three kinds travel between endpoints. The `wire` takes them, between the threads of a process or between processes.

/// The kind of a datagram. Every endpoint takes each kind apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum DatagramKind {
    /// Messages of peers.
    Message,
    /// Commands for the card.
    Command,
    /// Answers of peers' cards.
    Answer,
}

/// The name of an endpoint: its process, and its number there.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[repr(C)]
pub(super) struct EndName {
    pub(super) process: u64,
    pub(super) number: u64,
}

/// How a datagram went.
#[derive(PartialEq, Eq)]
pub(super) enum Sent {
    Yes,
    /// There is no room now.
    Later,
    /// No endpoint has the name any more.
    Gone,
}
