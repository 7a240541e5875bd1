//! How many operations a lane was given, and how many of them are known to be complete.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::network::lane::ContextLane;
use crate::sync::AtomicU64 as AtomicWord;

/// Whether an operation brings something back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    /// A put, or an atomic without a result.
    Write,
    /// A get, or an atomic with one.
    Read,
}

/// The counters of one lane.
///
/// An operation is counted when it has been issued, with release. A thread that reads the counts with acquire, and then finds the lane
/// empty, knows that all operations of these counts are complete, and stores their sum as `settled`. So a thread whose counts have that
/// sum has nothing under way: its own operations are among them. A slow thread may store an older sum over a newer one; then a quiet asks
/// the lane once more. `loom_models::operations` tries every order of two threads and a network.
pub(crate) struct OperationCounters {
    issued: [AtomicWord; 2],
    completed: [AtomicU64; 2],
    settled: AtomicWord,
    /// One thread at a time counts.
    alone: bool,
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
    /// Of no operations; `alone`: one thread at a time will count, so that no count needs to lock the memory.
    pub(crate) fn new(alone: bool) -> Self {
        let completed = [0; 2].map(AtomicU64::new);
        Self { issued: [0; 2].map(AtomicWord::new), completed, settled: AtomicWord::new(0), alone }
    }

    /// An operation has been issued.
    #[inline(always)]
    pub(crate) fn note(&self, direction: Direction) {
        let count = &self.issued[direction as usize];
        if self.alone {
            count.store(count.load(Relaxed).wrapping_add(1), Release);
        } else {
            count.fetch_add(1, Release);
        }
    }

    /// How many operations have been issued.
    #[inline(always)]
    pub(crate) fn sum(&self) -> u64 {
        self.issued[0].load(Acquire).wrapping_add(self.issued[1].load(Acquire))
    }

    /// The lane was empty after its operations were so many.
    #[inline(always)]
    pub(crate) fn settle(&self, sum: u64) {
        self.settled.store(sum, Release);
    }

    /// Whether all operations of this thread are known to be complete. The older number is read first: counts that have its sum are the
    /// ones that it was made of, because they only grow.
    #[inline(always)]
    pub(crate) fn are_settled(&self) -> bool {
        let settled = self.settled.load(Acquire);
        self.sum() == settled
    }

    pub(crate) fn read(lane: &ContextLane) -> OperationCount {
        let this = &lane.counters;
        // Before the look at the lane: an operation that is counted here is complete if the lane is empty then.
        let issued = this.issued.each_ref().map(|count| count.load(Acquire));
        if lane.is_idle() {
            for (completed, issued) in this.completed.iter().zip(issued) {
                completed.fetch_max(issued, Release);
            }
        }
        // Acquire: another thread may have stored it, and as many have been issued for the loads below.
        let [completed_writes, completed_reads] = this.completed.each_ref().map(|count| count.load(Acquire));
        let issued = this.issued.each_ref().map(|count| count.load(Relaxed));
        OperationCount { issued_writes: issued[0], issued_reads: issued[1], completed_writes, completed_reads }
    }
}
