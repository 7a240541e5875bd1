//! No wake-up is lost.

use std::sync::atomic::Ordering::{Acquire, Release, SeqCst};

use super::{CROWDED, REASON, nothing};
use crate::sync::{AtomicU32, Mistake, fence, futex};
use crate::wait;
use crate::wait::bell::Bell;

struct Board {
    word: AtomicU32,
    armed: AtomicU32,
    flag: AtomicU32,
}

impl Board {
    fn new() -> Self {
        let [word, armed, flag] = [0; 3].map(AtomicU32::new);
        Self { word, armed, flag }
    }

    fn bell(&self) -> Bell<'_> {
        Bell { word: &self.word, armed: &self.armed }
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

/// PE 0 waits for both changes. The first ring comes for one that it does not wait for alone.
fn ring_twice(board: &Board, my: u32) {
    match my {
        0 => wait::until(REASON, Some(board.bell()), || (board.flag.load(Acquire) == 2).then_some(())),
        _ => {
            for change in 1..=2 {
                board.flag.store(change, Release);
                board.bell().ring();
            }
        }
    }
}

#[test]
fn loom_a_ring_in_vain_takes_no_later_one_away() {
    CROWDED.explore::<2, _>(Board::new, ring_twice, nothing);
}

/// PE 0 rings for PE 1, then for PE 2. Each ring wakes both.
#[test]
fn loom_two_sleepers_wait_for_two_changes() {
    let pe = |board: &Board, my: u32| match my {
        0 => ring_twice(board, 1),
        _ => wait::until(REASON, Some(board.bell()), || (board.flag.load(Acquire) >= my).then_some(())),
    };
    CROWDED.briefly().explore::<3, _>(Board::new, pe, nothing);
}

/// A ring between the two steps takes `armed` back, and the sleep is on the word behind it.
#[test]
#[should_panic(expected = "deadlock")]
fn loom_mutant_a_word_read_behind_armed_loses_a_wake_up() {
    let pe = |board: &Board, my: u32| {
        if my != 0 {
            return ring_twice(board, my);
        }
        while board.flag.load(Acquire) != 2 {
            board.armed.swap(1, Release);
            fence(SeqCst);
            let word = board.word.load(Acquire);
            if board.flag.load(Acquire) != 2 {
                futex::wait(&board.word, word, None);
            }
        }
    };
    CROWDED.explore::<2, _>(Board::new, pe, nothing);
}

/// A sleeper that sets `armed` between the two steps loses it without a change of the word.
#[test]
#[should_panic(expected = "deadlock")]
fn loom_mutant_armed_taken_back_behind_the_ring_loses_a_wake_up() {
    let pe = |board: &Board, my: u32| {
        if my == 0 {
            return ring_twice(board, my);
        }
        for change in 1..=2 {
            board.flag.store(change, Release);
            fence(SeqCst);
            if board.armed.load(Acquire) != 0 {
                board.word.fetch_add(1, Release);
                futex::wake(&board.word, 2);
                board.armed.swap(0, Acquire);
            }
        }
    };
    CROWDED.explore::<2, _>(Board::new, pe, nothing);
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
