//! The recorder of this PE's last calls, in its control window.
//!
//! Recorded are collectives, calls of memory, teams and locks, waits that are not over at once, and operations between nodes.
//! Operations on the node are not: each takes less time than a record.

use oxshmem_flight::calls::{CallRing, CallSubject};

use crate::memory::control::ControlBlock;

/// A call that has been recorded. It ends when this is dropped.
pub(crate) struct RecordedCall {
    ring: &'static CallRing,
    number: u64,
}

impl RecordedCall {
    /// A call begins. The library is initialised.
    #[inline(always)]
    pub(crate) fn begin(name: &'static str, subject: CallSubject) -> Self {
        let ring = &ControlBlock::own().call_words().calls;
        Self { ring, number: ring.begin(name, subject) }
    }
}

impl Drop for RecordedCall {
    #[inline(always)]
    fn drop(&mut self) {
        self.ring.end(self.number);
    }
}

/// A call begins and ends that is about one other PE, or about none.
#[inline(always)]
pub(crate) fn note(name: &'static str, peer: Option<u32>, bytes: usize) {
    if let Some(own) = ControlBlock::if_open() {
        own.call_words().calls.note(name, CallSubject { peer, team: None, bytes: bytes as u64 });
    }
}

/// [`note`] of an operation on another PE that the table of the data path has found, which is open while the library is initialised.
#[inline(always)]
pub(crate) fn note_found(name: &'static str, peer: u32, bytes: usize) {
    let subject = CallSubject { peer: Some(peer), team: None, bytes: bytes as u64 };
    ControlBlock::own().call_words().calls.note(name, subject);
}
