//! Exchanges and announcements: each member sees what belongs to this round, and none writes what another one is reading.

use super::{CROWDED, DEDICATED, Setting, blank, nothing, team};
use crate::collectives::call::Call;
use crate::collectives::node_exchange::{announce, exchange, synchronise, take};
use crate::memory::control::Slot;
use crate::sync::{Cell, Mistake};
use crate::teams::team::TeamState;

const CALL: &str = "model";

/// Each PE's slot of a team, its slot of the team's parent, and memory that a root announces.
struct Board {
    slots: Vec<Slot>,
    parents: Vec<Slot>,
    sources: Vec<Cell<u64>>,
}

impl Board {
    fn new() -> Self {
        let three = || (0..3).map(|_| blank()).collect();
        Self { slots: three(), parents: three(), sources: (0..3).map(|_| Cell::new(0)).collect() }
    }
}

/// An exchange in which member i gives `round * 8 + i`.
fn round(team: &TeamState, round: u64) {
    let word = |member: u32| round * 8 + u64::from(member);
    let mut seen = 0;
    exchange(Call::new(team, CALL), &[word(team.my)], |member, words| {
        assert_eq!(words[0], word(member), "a payload of another round");
        seen += 1;
    });
    assert_eq!(seen, team.size);
}

/// Announces the source of member `root`, or reads it.
fn share(board: &Board, team: &TeamState, root: u32, value: u64) {
    let source = &board.sources[root as usize];
    if team.my == root {
        // SAFETY: between its announcements the source is the root's own; the checker would see it.
        source.with_mut(|word| unsafe { *word = value });
        announce(Call::new(team, CALL), 0, || {});
    } else {
        // SAFETY: the root has announced its source, and waits for us.
        take(Call::new(team, CALL), root, 0, || source.with(|word| assert_eq!(unsafe { *word }, value)));
    }
}

fn two(board: &Board, my: u32) {
    let team = team(&board.slots, 0, 1, 2, my, 0);
    (1..=3).for_each(|number| round(&team, number));
}

fn three(board: &Board, my: u32) {
    let team = team(&board.slots, 0, 1, 3, my, 0);
    (1..=2).for_each(|number| round(&team, number));
}

#[test]
fn loom_two_pes_read_each_others_lines() {
    DEDICATED.explore::<2, _>(Board::new, two, nothing);
}

#[test]
fn loom_two_pes_count_in() {
    CROWDED.explore::<2, _>(Board::new, two, nothing);
}

#[test]
fn loom_three_pes_read_each_others_lines() {
    DEDICATED.with_preemptions(1).briefly().explore::<3, _>(Board::new, three, nothing);
}

#[test]
fn loom_three_pes_count_in() {
    CROWDED.briefly().explore::<3, _>(Board::new, three, nothing);
}

/// Announcements with changing roots, alone and between exchanges.
fn mixed(board: &Board, my: u32) {
    let team = team(&board.slots, 0, 1, 2, my, 0);
    share(board, &team, 0, 1);
    round(&team, 1);
    share(board, &team, 1, 2);
    share(board, &team, 0, 3);
    round(&team, 2);
    round(&team, 3);
}

#[test]
fn loom_announcements_come_between_exchanges() {
    DEDICATED.explore::<2, _>(Board::new, mixed, nothing);
}

#[test]
fn loom_announcements_come_between_counted_exchanges() {
    CROWDED.explore::<2, _>(Board::new, mixed, nothing);
}

#[test]
fn loom_a_root_waits_for_all_before_it_changes_its_source() {
    let pe = |board: &Board, my: u32| {
        let team = team(&board.slots, 0, 1, 3, my, 0);
        share(board, &team, 0, 1);
        share(board, &team, 0, 2);
    };
    DEDICATED.with_preemptions(1).briefly().explore::<3, _>(Board::new, pe, nothing);
}

/// How a slot passes from the team of PEs 0 and 1 to another one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Handover {
    /// As it is done: the new team goes on from the greatest number that a member has passed.
    Agreed,
    /// The new team starts anew.
    Anew,
    /// The first member makes the slot as good as new.
    Cleared,
}

/// PEs 0 and 1 use a slot and give it up; then the PEs `keeps` and 2 get it. `keeps` is 0, so that both teams count in at the
/// same PE, or 1, so that the new team counts at another.
fn hand_over(board: &Board, pe: u32, keeps: u32, how: Handover) {
    let mut passed = 0;
    if pe < 2 {
        let old = team(&board.slots, 0, 1, 2, pe, 0);
        round(&old, 1);
        round(&old, 2);
        synchronise(Call::new(&old, CALL));
        passed = old.greatest_number();
    }
    let stride = 2 - keeps;
    if pe != keeps && pe != 2 {
        return;
    }
    if how == Handover::Cleared && pe == keeps {
        board.slots[pe as usize].clear();
    }
    let my = u32::from(pe == 2);
    let parent = team(&board.parents, keeps, stride as i32, 2, my, 0);
    let mut base = passed;
    exchange(Call::new(&parent, CALL), &[passed], |_, words| base = base.max(words[0]));
    if how != Handover::Agreed {
        base = 0;
    }
    let new = team(&board.slots, keeps, stride as i32, 2, my, base);
    (3..=4).for_each(|number| round(&new, number));
}

fn same_first(board: &Board, pe: u32) {
    hand_over(board, pe, 0, Handover::Agreed);
}

fn other_first(board: &Board, pe: u32) {
    hand_over(board, pe, 1, Handover::Agreed);
}

fn pass_on(setting: Setting) {
    setting.explore::<3, _>(Board::new, same_first, nothing);
    setting.explore::<3, _>(Board::new, other_first, nothing);
}

#[test]
fn loom_a_slot_passes_to_another_team() {
    pass_on(DEDICATED.with_preemptions(1).briefly());
}

#[test]
fn loom_a_counted_slot_passes_to_another_team() {
    pass_on(CROWDED.with_preemptions(2).briefly());
}

#[test]
#[should_panic]
fn loom_mutant_a_team_that_starts_anew_takes_old_lines_for_its_own() {
    let pe = |board: &Board, pe: u32| hand_over(board, pe, 1, Handover::Anew);
    DEDICATED.explore::<3, _>(Board::new, pe, nothing);
}

#[test]
#[should_panic]
fn loom_mutant_a_cleared_slot_strands_who_still_looks_at_it() {
    let pe = |board: &Board, pe: u32| hand_over(board, pe, 0, Handover::Cleared);
    CROWDED.with_preemptions(1).explore::<3, _>(Board::new, pe, nothing);
}

/// Numbers of one parity are one line.
fn one_line(board: &Board, my: u32) {
    let mut team = team(&board.slots, 0, 1, 2, my, 0);
    for number in 1..=3 {
        team = team.after(2 * number, 0);
        round(&team, number);
    }
}

#[test]
#[should_panic]
fn loom_mutant_with_one_line_a_payload_is_overwritten() {
    DEDICATED.explore::<2, _>(Board::new, one_line, nothing);
}

#[test]
#[should_panic]
fn loom_mutant_with_one_line_a_counted_payload_is_overwritten() {
    CROWDED.explore::<2, _>(Board::new, one_line, nothing);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn loom_mutant_without_release_a_line_comes_before_its_payload() {
    DEDICATED.with(Mistake::NoRelease).explore::<2, _>(Board::new, two, nothing);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn loom_mutant_without_acquire_a_line_comes_before_its_payload() {
    DEDICATED.with(Mistake::NoAcquire).explore::<2, _>(Board::new, two, nothing);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn loom_mutant_without_release_counting_in_publishes_nothing() {
    CROWDED.with(Mistake::NoRelease).explore::<3, _>(Board::new, three, nothing);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn loom_mutant_without_release_an_announcement_comes_before_its_source() {
    DEDICATED.with(Mistake::NoRelease).explore::<2, _>(Board::new, mixed, nothing);
}

#[test]
#[should_panic]
fn loom_mutant_a_root_that_does_not_wait_changes_what_is_read() {
    let pe = |board: &Board, my: u32| {
        // The root thinks that it is alone.
        let team = team(&board.slots, 0, 1, 1 + my, my, 0);
        share(board, &team, 0, 1);
        share(board, &team, 0, 2);
    };
    DEDICATED.explore::<2, _>(Board::new, pe, nothing);
}
