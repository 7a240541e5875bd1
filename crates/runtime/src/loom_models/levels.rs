//! Exchanges and short reductions through the levels of a node: no payload comes before its line, and none is written
//! while a PE reads it.

use super::{DEDICATED, Setting, blank, nothing, team};
use crate::collectives::arguments::Reduction;
use crate::collectives::call::Call;
use crate::collectives::levels::reduce;
use crate::collectives::node_exchange::exchange;
use crate::memory::control::Slot;
use crate::memory::control::lines::TeamLines;
use crate::sync::Mistake;
use crate::teams::team::TeamState;
use oxshmem_reduce::{Kernel, Sum};
use oxshmem_schedule::algorithm::OperatorLaw;

const CALL: &str = "model";

/// One preemption. After some more ways, two PEs that poll take turns while the third one may never go on.
fn setting() -> Setting {
    DEDICATED.with_preemptions(1).with_ways(WAYS)
}

const WAYS: usize = 4000;

/// Each PE's slot and lines.
struct Board {
    slots: Vec<Slot>,
    lines: Vec<TeamLines>,
}

impl Board {
    fn new() -> Self {
        Self { slots: (0..3).map(|_| blank()).collect(), lines: (0..3).map(|_| TeamLines::new()).collect() }
    }

    /// PEs 0 and 1 around one cache, PE 2 around another.
    fn team(&self, my: u32) -> TeamState {
        // SAFETY: the board lives as long as the model's threads, which alone use the lines.
        let lines = self.lines.iter().map(|lines| unsafe { &*core::ptr::from_ref(lines) }).collect();
        team(&self.slots, 0, 1, 3, my, 0).through(&[vec![0, 0, 1]], lines)
    }
}

fn exchanges(board: &Board, my: u32) {
    let team = board.team(my);
    for round in 1..=2 {
        let word = |member: u32| round * 8 + u64::from(member);
        exchange(Call::new(&team, CALL), &[word(my)], |member, words| {
            assert_eq!(words[0], word(member), "a payload of another round");
        });
    }
}

/// Sums that travel as operands, or combined on the way.
fn sums(board: &Board, my: u32, law: OperatorLaw) {
    let team = board.team(my);
    for round in 1..=3 {
        let mut value = round * 8 + u64::from(my);
        let dest = (&raw mut value).cast::<u8>();
        let kernel = Kernel::of::<Sum, u64>();
        let sum = Reduction { law, kernel, element: 8, dest, source: dest, n: 1 };
        // SAFETY: the arrays are the caller's, of one element.
        unsafe { reduce(Call::new(&team, CALL), sum) };
        assert_eq!(value, 3 * 8 * round + 3);
    }
}

fn combined(board: &Board, my: u32) {
    sums(board, my, OperatorLaw::Exact);
}

fn operands(board: &Board, my: u32) {
    sums(board, my, OperatorLaw::FixedTree);
}

#[test]
fn loom_three_pes_meet_level_by_level() {
    setting().explore::<3, _>(Board::new, exchanges, nothing);
}

#[test]
fn loom_three_pes_combine_level_by_level() {
    setting().explore::<3, _>(Board::new, combined, nothing);
}

#[test]
fn loom_three_pes_give_operands_level_by_level() {
    setting().explore::<3, _>(Board::new, operands, nothing);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn loom_mutant_without_release_a_level_comes_before_its_payload() {
    setting().with(Mistake::NoRelease).explore::<3, _>(Board::new, combined, nothing);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn loom_mutant_without_acquire_a_level_comes_before_its_payload() {
    setting().with(Mistake::NoAcquire).explore::<3, _>(Board::new, combined, nothing);
}

/// Sums of one parity use the same lines each time.
fn one_parity(board: &Board, my: u32) {
    let mut team = board.team(my);
    for number in 1..=3 {
        team = team.after(2 * number, 0);
        let mut value = number;
        let dest = (&raw mut value).cast::<u8>();
        let kernel = Kernel::of::<Sum, u64>();
        let sum = Reduction { law: OperatorLaw::Exact, kernel, element: 8, dest, source: dest, n: 1 };
        // SAFETY: the arrays are the caller's, of one element.
        unsafe { reduce(Call::new(&team, CALL), sum) };
        assert_eq!(value, 3 * number);
    }
}

#[test]
#[should_panic]
fn loom_mutant_with_one_parity_a_level_is_overwritten() {
    DEDICATED.explore::<3, _>(Board::new, one_parity, nothing);
}
