//! No wake-up is lost.

use std::sync::atomic::Ordering::{Acquire, Release};

use super::{CROWDED, REASON, nothing};
use crate::sync::{AtomicU32, Mistake};
use crate::wait;
use crate::wait::bell::Bell;

struct Board {
    word: AtomicU32,
    sleepers: AtomicU32,
    flag: AtomicU32,
}

impl Board {
    fn new() -> Self {
        let [word, sleepers, flag] = [0; 3].map(AtomicU32::new);
        Self { word, sleepers, flag }
    }

    fn bell(&self) -> Bell<'_> {
        Bell { word: &self.word, sleepers: &self.sleepers }
    }

    fn wait(&self) {
        wait::until(REASON, Some(self.bell()), || (self.flag.load(Acquire) != 0).then_some(()));
    }
}

/// PE 0 rings, the others wait.
fn ring(board: &Board, my: u32) {
    if my == 0 {
        board.flag.store(1, Release);
        board.bell().ring();
    } else {
        board.wait();
    }
}

#[test]
fn loom_a_sleeper_is_woken() {
    CROWDED.explore::<2, _>(Board::new, ring, nothing);
}

#[test]
fn loom_two_sleepers_are_woken() {
    CROWDED.briefly().explore::<3, _>(Board::new, ring, nothing);
}

#[test]
fn loom_two_ringers_do_not_disturb_each_other() {
    let pe = |board: &Board, my: u32| match my {
        0 => wait::until(REASON, Some(board.bell()), || (board.flag.load(Acquire) == 2).then_some(())),
        _ => {
            board.flag.fetch_add(1, Release);
            board.bell().ring();
        }
    };
    CROWDED.briefly().explore::<3, _>(Board::new, pe, nothing);
}

#[test]
#[should_panic(expected = "deadlock")]
fn loom_mutant_without_the_fences_a_wake_up_is_lost() {
    CROWDED.with(Mistake::NoFence).explore::<2, _>(Board::new, ring, nothing);
}

/// Why sleeps that only a nudge ends have a timeout.
#[test]
#[should_panic(expected = "deadlock")]
fn loom_mutant_a_nudge_alone_loses_a_wake_up() {
    let pe = |board: &Board, my: u32| {
        if my == 0 {
            board.flag.store(1, Release);
            board.bell().nudge();
        } else {
            board.wait();
        }
    };
    CROWDED.explore::<2, _>(Board::new, pe, nothing);
}

#[test]
#[should_panic(expected = "deadlock")]
fn loom_mutant_without_the_second_look_a_wake_up_is_lost() {
    let pe = |board: &Board, my: u32| {
        if my == 0 {
            return ring(board, my);
        }
        // Every second look, the one of the sleep, finds nothing.
        let mut looks = 0;
        wait::until(REASON, Some(board.bell()), || {
            looks += 1;
            (looks % 2 == 1 && board.flag.load(Acquire) != 0).then_some(())
        });
    };
    CROWDED.explore::<2, _>(Board::new, pe, nothing);
}
