//! Peers on this host whose connections are to be sent over without pauses (`os::pacing`): when they are looked for.

use std::mem;
use std::time::Instant;

/// Peers whose connections are to be looked for among the descriptors of the process, which may be many.
#[derive(Default)]
pub(crate) struct NewContacts {
    pes: Vec<u32>,
    /// The earliest time of the next search.
    next: Option<Instant>,
}

/// The share of the time that searches take at most is one in so many.
const SEARCH_SHARE: u32 = 20;

impl NewContacts {
    /// The first message of a peer has come.
    pub(crate) fn add(&mut self, pe: u32) {
        self.pes.push(pe);
    }

    /// Whether it is time to look for connections.
    #[inline]
    pub(crate) fn are_due(&self) -> bool {
        !self.pes.is_empty() && self.next.is_none_or(|next| next <= Instant::now())
    }

    /// Takes all of them, for a search.
    pub(crate) fn take(&mut self) -> Vec<u32> {
        mem::take(&mut self.pes)
    }

    pub(crate) fn note_search(&mut self, begun: Instant) {
        self.next = Some(Instant::now() + SEARCH_SHARE * begun.elapsed());
    }
}
