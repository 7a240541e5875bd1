//! The lock: exclusion, order of service, nothing left behind.

use std::cell::Cell as Note;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};

use super::{CROWDED, REASON, settled};
use crate::calls::lock::queue::{self, QueueWords, TURN};
use crate::sync::{AtomicU32, Cell, Mistake};
use crate::wait;
use crate::wait::bell::Bell;

/// A lock variable on up to three PEs, their bells, and what the lock protects: the PE that had it last (plus one).
struct Board {
    tail: AtomicU32,
    places: [AtomicU32; 3],
    bells: [[AtomicU32; 2]; 3],
    last: Cell<u32>,
}

impl Board {
    fn new() -> Self {
        let zero = |_| AtomicU32::new(0);
        Self {
            tail: AtomicU32::new(0),
            places: [0; 3].map(zero),
            bells: [[0; 2]; 3].map(|bell| bell.map(zero)),
            last: Cell::new(0),
        }
    }

    fn bell(&self, pe: u32) -> Bell<'_> {
        let [word, armed] = &self.bells[pe as usize];
        Bell { word, armed }
    }

    /// All PEs are through: everything is as before.
    fn is_clear(&self) {
        assert_eq!(settled(&self.tail), 0);
        self.places.iter().for_each(|place| assert_eq!(settled(place), 0));
    }
}

/// One PE's view. The orders are those of `calls::lock`.
struct Pe<'a> {
    board: &'a Board,
    my: u32,
    /// The PE that asked before (plus one).
    before: Note<u32>,
    forgets: Option<Step>,
}

/// The step that a careless PE leaves out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Swapping the tail in one step.
    Swap,
    Wait,
    /// Taking the turn out of its place.
    TakeTurn,
}

impl QueueWords for Pe<'_> {
    fn exchange_tail_if(&self, from: u32, to: u32) -> u32 {
        self.board.tail.compare_exchange(from, to, AcqRel, Acquire).unwrap_or_else(|there| there)
    }

    fn swap_tail(&self, to: u32) -> u32 {
        let before = if self.forgets == Some(Step::Swap) {
            let before = self.board.tail.load(Acquire);
            self.board.tail.store(to, Release);
            before
        } else {
            self.board.tail.swap(to, AcqRel)
        };
        self.before.set(before);
        before
    }

    fn place(&self) -> u32 {
        self.board.places[self.my as usize].load(Acquire)
    }

    fn take_turn(&self) {
        if self.forgets != Some(Step::TakeTurn) {
            self.board.places[self.my as usize].fetch_and(!TURN, AcqRel);
        }
    }

    fn clear_place(&self) {
        self.board.places[self.my as usize].store(0, Release);
    }

    fn add_to_place(&self, owner: u32, bits: u32) {
        self.board.places[owner as usize - 1].fetch_or(bits, AcqRel);
        self.board.bell(owner - 1).ring();
    }

    fn wait(&self, _owner: u32, ready: &mut dyn FnMut() -> bool) {
        if self.forgets != Some(Step::Wait) {
            wait::until(REASON, Some(self.board.bell(self.my)), || ready().then_some(()));
        }
    }

    fn wait_for_next(&self, last: u32, ready: &mut dyn FnMut() -> bool) {
        self.wait(last, ready);
    }
}

impl<'a> Pe<'a> {
    fn new(board: &'a Board, my: u32) -> Self {
        Self { board, my, before: Note::new(0), forgets: None }
    }

    fn use_once(&self) {
        queue::set(self, self.my + 1);
        self.use_it();
        self.clear();
    }

    fn test(&self) -> bool {
        self.before.set(0);
        queue::test(self, self.my + 1) == 0
    }

    /// The work under the lock: looks which PE had it last: for a PE that had to wait, the one that asked before it.
    fn use_it(&self) {
        let before = self.before.get();
        self.board.last.with_mut(|last| {
            // SAFETY: no other PE has the lock; the checker would see it.
            let last = unsafe { &mut *last };
            assert!(before == 0 || *last == before, "PE {} has overtaken", self.my);
            *last = self.my + 1;
        });
    }

    fn clear(&self) {
        assert!(queue::clear(self, self.my + 1));
    }
}

fn once(board: &Board, my: u32) {
    Pe::new(board, my).use_once();
}

fn twice(board: &Board, my: u32) {
    let pe = Pe::new(board, my);
    pe.use_once();
    pe.use_once();
}

#[test]
fn loom_two_pes_take_turns_twice() {
    CROWDED.explore::<2, _>(Board::new, twice, Board::is_clear);
}

#[test]
fn loom_three_pes_are_served_in_order() {
    CROWDED.briefly().explore::<3, _>(Board::new, once, Board::is_clear);
}

#[test]
fn loom_a_test_takes_the_lock_or_leaves_it() {
    let pe = |board: &Board, my: u32| {
        if my == 0 {
            return twice(board, my);
        }
        let pe = Pe::new(board, my);
        if pe.test() {
            pe.use_it();
            pe.clear();
        }
    };
    CROWDED.explore::<2, _>(Board::new, pe, Board::is_clear);
}

#[test]
fn loom_who_does_not_hold_a_free_lock_is_told() {
    let pe = |board: &Board, _| assert!(!queue::clear(&Pe::new(board, 0), 1));
    CROWDED.explore::<1, _>(Board::new, pe, Board::is_clear);
}

fn forgetting(step: Step) {
    let pe = move |board: &Board, my: u32| Pe { forgets: Some(step), ..Pe::new(board, my) }.use_once();
    CROWDED.explore::<2, _>(Board::new, pe, Board::is_clear);
}

#[test]
#[should_panic]
fn loom_mutant_a_swap_in_two_steps_lets_two_in() {
    forgetting(Step::Swap);
}

#[test]
#[should_panic]
fn loom_mutant_who_does_not_wait_gets_in_too() {
    forgetting(Step::Wait);
}

#[test]
#[should_panic]
fn loom_mutant_a_turn_that_nobody_takes_is_handed_to_nobody() {
    forgetting(Step::TakeTurn);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn loom_mutant_without_release_the_next_holder_sees_old_memory() {
    CROWDED.with(Mistake::NoRelease).explore::<2, _>(Board::new, once, Board::is_clear);
}

#[test]
#[should_panic(expected = "deadlock")]
fn loom_mutant_without_fences_the_next_holder_sleeps_on() {
    CROWDED.with(Mistake::NoFence).explore::<2, _>(Board::new, once, Board::is_clear);
}
