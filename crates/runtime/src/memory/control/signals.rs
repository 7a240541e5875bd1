//! The words and counters by which the members of a team that run a schedule signal each other.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use oxshmem_schedule::step::{SIGNAL_SETS, Traffic};

use crate::sync::Apart;

/// Those of one member in one slot. All numbers only grow, across teams too.
#[repr(C)]
pub(crate) struct ScheduleSignals<const WORDS: usize, const SET_WORDS: usize> {
    /// Signals of synchronising calls, by parity. Set by the member that the schedule names, with release or behind what they announce, and
    /// read with acquire by the owner: they publish what was put before them.
    words: [[AtomicU64; WORDS]; 2],
    /// Signals of one-way calls, by signal set; likewise.
    signal_sets: [[AtomicU64; SET_WORDS]; SIGNAL_SETS as usize],
    /// Arrivals, by parity: added to with release or behind what they announce, read with acquire by the owner. The additions are one
    /// release sequence, so the owner that sees the last one sees what was put before each.
    counters: [Apart<AtomicU64>; 2],
    /// How much of the counters earlier calls account for. The owner's alone.
    counted: Apart<[AtomicU64; 2]>,
}

/// The part of a member's signals that one call uses.
#[derive(Clone, Copy)]
pub(crate) struct CallSignals<'a> {
    pub(crate) words: &'a [AtomicU64],
    pub(crate) counter: &'a AtomicU64,
    counted: &'a AtomicU64,
}

impl<const WORDS: usize, const SET_WORDS: usize> ScheduleSignals<WORDS, SET_WORDS> {
    #[inline]
    pub(crate) fn of(&self, traffic: Traffic, parity: usize) -> CallSignals<'_> {
        let words = match traffic {
            Traffic::Synchronising => &self.words[parity][..],
            Traffic::OneWay { signal_set } => &self.signal_sets[signal_set as usize][..],
        };
        CallSignals { words, counter: &self.counters[parity].0, counted: &self.counted.0[parity] }
    }
}

impl CallSignals<'_> {
    /// The value of the counter before the call.
    pub(crate) fn counted(&self) -> u64 {
        self.counted.load(Relaxed)
    }

    /// Accounts for the arrivals of the call, which is over.
    pub(crate) fn account(&self, arrivals: u64) {
        self.counted.store(self.counted() + arrivals, Relaxed);
    }
}
