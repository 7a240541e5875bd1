//! Eager exchanges and posted broadcasts: no member reads what another one is writing, and each reads what belongs to its call.

use super::{CROWDED, DEDICATED, Setting, blank, nothing};
use crate::collectives::call::Call;
use crate::collectives::node_eager::{exchange, post, take};
use crate::memory::control::eager::EagerMemory;
use crate::memory::control::seat::Seat;
use crate::sync::{Apart, AtomicU32, Mistake};
use crate::teams::members::Members;
use crate::teams::team::TeamState;

const CALL: &str = "model";

/// Each PE's seat.
struct Board(Vec<Seat>);

impl Board {
    fn new() -> Self {
        let seat = |_| Seat { slot: blank(), mark: Apart(AtomicU32::new(0)), eager: EagerMemory::new() };
        Self((0..3).map(seat).collect())
    }

    fn team(&self, size: u32, my: u32) -> TeamState {
        let places = &raw const self.0[0].slot;
        let members = Members::Triplet { start: 0, stride: 1 };
        TeamState::at(members, size, my, places as usize, size_of::<Seat>() as isize, 0)
    }
}

/// An exchange in which member i gives `round * 8 + i`.
fn round(team: &TeamState, round: u64) {
    let word = |member: u32| round * 8 + u64::from(member);
    let (mine, mut seen) = (word(team.my), 0);
    // SAFETY: a word fits a buffer.
    let write = |buffer| unsafe { core::ptr::copy_nonoverlapping((&raw const mine).cast(), buffer, 8) };
    exchange(Call::new(team, CALL), 8, write, |member, bytes| {
        // SAFETY: each member has filled its buffer with a word, and the checker would see it change.
        let theirs = unsafe { bytes.cast::<u64>().read_unaligned() };
        assert_eq!(theirs, word(member), "the buffer of another round");
        seen += 1;
    });
    assert_eq!(seen, team.size);
}

/// A broadcast of `value` by member `root`.
fn broadcast(team: &TeamState, root: u32, value: u64) {
    let mut word = value;
    // SAFETY: a word fits an entry.
    unsafe {
        if team.my == root {
            return post(Call::new(team, CALL), (&raw const word).cast(), 8);
        }
        word = 0;
        take(Call::new(team, CALL), root, (&raw mut word).cast(), 8);
    }
    assert_eq!(word, value, "another broadcast");
}

fn rounds(board: &Board, my: u32) {
    let team = board.team(2, my);
    (1..=3).for_each(|number| round(&team, number));
}

fn rounds_of_three(board: &Board, my: u32) {
    let team = board.team(3, my);
    (1..=2).for_each(|number| round(&team, number));
}

#[test]
fn loom_two_pes_read_each_others_buffers() {
    DEDICATED.explore::<2, _>(Board::new, rounds, nothing);
}

#[test]
fn loom_two_pes_that_count_in_read_each_others_buffers() {
    CROWDED.explore::<2, _>(Board::new, rounds, nothing);
}

#[test]
fn loom_three_pes_read_each_others_buffers() {
    DEDICATED.with_preemptions(1).briefly().explore::<3, _>(Board::new, rounds_of_three, nothing);
    CROWDED.briefly().explore::<3, _>(Board::new, rounds_of_three, nothing);
}

/// Exchanges of one parity.
#[test]
#[should_panic]
fn loom_mutant_with_one_buffer_an_operand_is_overwritten() {
    let pe = |board: &Board, my: u32| {
        let mut team = board.team(2, my);
        for number in 1..=3 {
            team = team.after(2 * number, 0);
            round(&team, number);
        }
    };
    DEDICATED.explore::<2, _>(Board::new, pe, nothing);
}

/// More broadcasts of one root than its ring has entries.
fn posts(board: &Board, my: u32) {
    let team = board.team(2, my);
    (1..=4).for_each(|value| broadcast(&team, 0, value));
}

/// Roots that take turns, in two rings, and an exchange between.
fn turns(board: &Board, my: u32) {
    let team = board.team(2, my);
    broadcast(&team, 0, 1);
    broadcast(&team, 1, 2);
    round(&team, 1);
    broadcast(&team, 0, 3);
    broadcast(&team, 0, 4);
    broadcast(&team, 1, 5);
}

fn posts_to_two(board: &Board, my: u32) {
    let team = board.team(3, my);
    (1..=3).for_each(|value| broadcast(&team, 0, value));
}

fn turns_of_three(board: &Board, my: u32) {
    let team = board.team(3, my);
    (0..3).for_each(|root| broadcast(&team, root, u64::from(root) + 1));
}

#[test]
fn loom_a_root_posts_more_than_its_ring_holds() {
    DEDICATED.explore::<2, _>(Board::new, posts, nothing);
    DEDICATED.with_preemptions(1).briefly().explore::<3, _>(Board::new, posts_to_two, nothing);
}

#[test]
fn loom_roots_post_in_turn() {
    DEDICATED.explore::<2, _>(Board::new, turns, nothing);
    DEDICATED.with_preemptions(1).briefly().explore::<3, _>(Board::new, turns_of_three, nothing);
}

#[test]
fn loom_crowded_roots_post_in_turn() {
    CROWDED.explore::<2, _>(Board::new, turns, nothing);
}

#[test]
#[should_panic]
fn loom_mutant_a_root_that_asks_nobody_overwrites_its_ring() {
    let pe = |board: &Board, my: u32| {
        // The root thinks that it is alone.
        let team = board.team(1 + my, my);
        (1..=4).for_each(|value| broadcast(&team, 0, value));
    };
    DEDICATED.explore::<2, _>(Board::new, pe, nothing);
}

fn mistaken(mistake: Mistake, pe: fn(&Board, u32)) {
    let setting: Setting = DEDICATED.with(mistake);
    setting.explore::<2, _>(Board::new, pe, nothing);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn loom_mutant_without_release_a_stamp_comes_before_its_payload() {
    mistaken(Mistake::NoRelease, posts);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn loom_mutant_without_acquire_an_entry_is_written_while_it_is_read() {
    mistaken(Mistake::NoAcquire, posts);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn loom_mutant_without_release_a_buffer_is_not_published() {
    mistaken(Mistake::NoRelease, rounds);
}
