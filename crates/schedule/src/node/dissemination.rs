//! Barriers and short idempotent reductions in rounds: in round r a member waits for the one 2^r places before it.
//!
//! No level is known to it, so that most rounds cross the node. It is here to be compared with.

use super::{Cursor, Load, Move, NodePlan, Operands, Protocol, Shape, dest, hand, source};
use crate::step::rounds;

/// See the head of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineDissemination {
    /// Whether what has been combined so far travels along; otherwise it is a barrier.
    pub payload: bool,
}

impl LineDissemination {
    fn load(self) -> Load {
        if self.payload { Load::Combined } else { Load::Nothing }
    }
}

impl Protocol for LineDissemination {
    fn lines(&self, shape: &Shape, _plan: &NodePlan) -> u32 {
        rounds(shape.size(), 2)
    }

    fn hand(&self, _shape: &Shape, plan: &NodePlan) -> u64 {
        2 * self.load().len(plan)
    }

    fn reader(&self, shape: &Shape, _plan: &NodePlan, rank: u32, line: u32, index: u32) -> Option<u32> {
        (index == 0).then(|| (rank + (1 << line)) % shape.size())
    }

    fn step(&self, shape: &Shape, plan: &NodePlan, rank: u32, pc: u64) -> Move {
        let (size, len, number) = (shape.size(), self.load().len(plan), plan.mark(1));
        let mut at = Cursor(pc);
        if at.here(self.payload) {
            return Move::Copy { into: hand(rank, 0), from: source(rank, 0), len };
        }
        let each = if self.payload { 4 } else { 2 };
        if let Some(step) = at.within(each * u64::from(rounds(size, 2))) {
            let line = (step / each) as u32;
            let of = (rank + size - (1 << line)) % size;
            return match step % each {
                0 => Move::Write { line, number, from: 0, len },
                1 => Move::Wait { of, line, number },
                2 => Move::Take { of, line, number, into: len, len },
                _ => Move::Fold { into: hand(rank, 0), operands: Operands::Pair(hand(rank, 0), hand(rank, len)), len },
            };
        }
        if at.here(self.payload) {
            return Move::Copy { into: dest(rank, 0), from: hand(rank, 0), len };
        }
        Move::Done
    }
}
