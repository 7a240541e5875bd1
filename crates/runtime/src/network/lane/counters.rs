//! How many operations a lane was given, and how many of them are known to be complete.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crate::network::lane::ContextLane;

/// Whether an operation brings something back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    /// A put, or an atomic without a result.
    Write,
    /// A get, or an atomic with one.
    Read,
}

/// The counters of one lane. Relaxed: they say how much, not when.
#[derive(Default)]
pub(crate) struct OperationCounters {
    issued: [AtomicU64; 2],
    completed: [AtomicU64; 2],
}

/// The counters at one moment.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct OperationCount {
    pub(crate) issued_writes: u64,
    pub(crate) issued_reads: u64,
    pub(crate) completed_writes: u64,
    pub(crate) completed_reads: u64,
}

impl OperationCounters {
    /// An operation is about to be issued.
    #[inline]
    pub(crate) fn note(&self, direction: Direction) {
        self.issued[direction as usize].fetch_add(1, Relaxed);
    }

    /// The counters of a lane.
    pub(crate) fn read(lane: &ContextLane) -> OperationCount {
        let this = &lane.counters;
        // Before the look at the lane: an operation that is counted here is complete if the lane is empty then.
        let issued = this.issued.each_ref().map(|count| count.load(Relaxed));
        if lane.is_idle() {
            for (completed, issued) in this.completed.iter().zip(issued) {
                completed.fetch_max(issued, Relaxed);
            }
        }
        let [completed_writes, completed_reads] = this.completed.each_ref().map(|count| count.load(Relaxed));
        let issued = this.issued.each_ref().map(|count| count.load(Relaxed));
        OperationCount { issued_writes: issued[0], issued_reads: issued[1], completed_writes, completed_reads }
    }
}
