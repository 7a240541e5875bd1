//! A quiet that asks no lane returns only when the thread's operations are complete.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};

use super::{DEDICATED, REASON, nothing};
use crate::network::lane::{Direction, OperationCounters};
use crate::sync::{AtomicU32, Cell, Mistake};
use crate::wait;

/// The lane of a context that two threads use: one waits for what was issued before, the other one gets something meanwhile.
struct Board {
    counters: OperationCounters,
    /// Operations of the lane under way.
    outstanding: AtomicU32,
    /// Whether the get has been posted.
    posted: AtomicU32,
    /// Where the network writes what comes.
    buffer: Cell<u32>,
}

impl Board {
    /// A put is counted, and complete.
    fn new() -> Self {
        let counters = OperationCounters::new(false);
        counters.note(Direction::Write);
        Self { counters, outstanding: AtomicU32::new(0), posted: AtomicU32::new(0), buffer: Cell::new(0) }
    }

    fn issue(&self) {
        self.outstanding.fetch_add(1, AcqRel);
        self.posted.store(1, Release);
        self.counters.note(Direction::Read);
    }

    /// A quiet, which counts before it looks at the lane, as `ContextLane::drain` does, or behind that.
    fn quiet(&self, counts_first: bool) {
        if self.counters.are_settled() {
            return;
        }
        let before = self.counters.sum();
        wait::until(REASON, None, || (self.outstanding.load(Acquire) == 0).then_some(()));
        self.counters.settle(if counts_first { before } else { self.counters.sum() });
    }

    fn complete(&self) {
        wait::until(REASON, None, || (self.posted.load(Acquire) == 1).then_some(()));
        // SAFETY: the checker finds accesses that race with this one.
        self.buffer.with_mut(|value| unsafe { *value = 7 });
        self.outstanding.fetch_sub(1, Release);
    }
}

/// PE 0 is the thread that waits, PE 1 the one that gets, PE 2 the network.
fn run(board: &Board, my: u32, counts_first: bool) {
    match my {
        0 => board.quiet(counts_first),
        1 => {
            board.issue();
            board.quiet(counts_first);
            // SAFETY: the checker finds accesses that race with this one.
            let value = board.buffer.with(|value| unsafe { *value });
            assert_eq!(value, 7, "a quiet has returned too early");
        }
        _ => board.complete(),
    }
}

#[test]
fn loom_a_quiet_that_asks_no_lane_has_nothing_to_wait_for() {
    let setting = DEDICATED.with_preemptions(2).briefly();
    setting.explore::<3, _>(Board::new, |board, my| run(board, my, true), nothing);
}

#[test]
#[should_panic]
fn loom_mutant_a_count_behind_the_look_settles_what_is_under_way() {
    DEDICATED.with_preemptions(2).explore::<3, _>(Board::new, |board, my| run(board, my, false), nothing);
}

#[test]
#[should_panic]
fn loom_mutant_without_release_a_settled_count_shows_nothing() {
    DEDICATED.with(Mistake::NoRelease).explore::<3, _>(Board::new, |board, my| run(board, my, true), nothing);
}
