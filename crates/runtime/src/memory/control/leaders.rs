//! The memory of the leaders of nodes in each other's control window: mailboxes, and buffers for longer data.
//! `between_nodes::channel` says when each piece may be used again.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub(crate) use oxshmem_schedule::way::size_limits::{
    COPIES, GATHER, MAILBOX_WORDS, SCRATCH, SIGNAL_SET_WORDS, SMALL_GATHER, WORDS,
};

use super::signals::ScheduleSignals;

/// The lines in which the leaders of one slot write to one of them.
#[repr(C, align(4096))]
pub(crate) struct Mailboxes {
    /// Mailboxes, by parity. The owner's network writes whole words; the owner reads each with one load.
    pub(crate) boxes: [[AtomicU64; MAILBOX_WORDS]; 2],
    /// Signals without a mailbox.
    pub(crate) signals: ScheduleSignals<WORDS, SIGNAL_SET_WORDS>,
}

const _: () = assert!(size_of::<Mailboxes>() == 8192);

impl Mailboxes {
    /// Resets the mailboxes of a parity to their unused state. `between_nodes::channel` says when.
    pub(crate) fn clear(&self, parity: usize) {
        self.boxes[parity].iter().for_each(|word| word.store(0, Relaxed));
    }
}

/// Sets of buffers of a PE. A team that spans nodes leases one when it first needs it (see `between_nodes::buffer_leases`).
pub(crate) const BUFFER_SETS: u32 = 16;

/// The buffers that a team leases, by the parity of runs (scratch, copies) and of exchanges (gather).
#[repr(C, align(4096))]
pub(crate) struct TeamBuffers {
    pub(crate) scratch: [UnsafeCell<[u8; SCRATCH]>; 2],
    pub(crate) gather: [UnsafeCell<[u8; GATHER]>; 2],
    /// Copies of operands that were put and change afterwards. Its owner's alone.
    pub(crate) copies: [UnsafeCell<[u8; COPIES]>; 2],
}

// SAFETY: the buffers are reached through raw pointers only, and schedules are proven free of races.
unsafe impl Sync for TeamBuffers {}
