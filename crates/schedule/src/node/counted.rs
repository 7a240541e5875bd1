//! Barriers and short reductions by a counter: members count in at one word, and the last one releases all by another.
//!
//! Each member blocks once, which is best where members outnumber processors. With a processor for each, the counter's
//! line goes to every member in turn, and every member reads the payloads of all.

use super::{Cursor, Load, Move, NodePlan, Operands, Protocol, Shape, dest, hand, source};

/// See the head of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Whether every member's operands travel; otherwise it is a barrier.
    pub payload: bool,
}

impl Protocol for Counted {
    fn lines(&self, _shape: &Shape, _plan: &NodePlan) -> u32 {
        1
    }

    fn hand(&self, shape: &Shape, plan: &NodePlan) -> u64 {
        if self.payload { u64::from(shape.size() + 1) * plan.count } else { 0 }
    }

    fn reader(&self, _shape: &Shape, _plan: &NodePlan, _rank: u32, _line: u32, _index: u32) -> Option<u32> {
        // Payloads are taken after the release, which rings a bell of its own.
        None
    }

    fn step(&self, shape: &Shape, plan: &NodePlan, rank: u32, pc: u64) -> Move {
        let (len, number, size) = (plan.count, plan.mark(1), shape.size());
        let operand = |member: u32| u64::from(shape.place(member)) * len;
        let result = u64::from(size) * Load::Operands.len(plan);
        let mut at = Cursor(pc);
        if at.here(self.payload) {
            return Move::Copy { into: hand(rank, operand(rank)), from: source(rank, 0), len };
        }
        if at.here(self.payload) {
            return Move::Write { line: 0, number, from: operand(rank), len };
        }
        if at.here(true) {
            return Move::Meet { number };
        }
        if !self.payload {
            return Move::Done;
        }
        if let Some(member) = at.within(size.into()) {
            let of = member as u32;
            return Move::Take { of, line: 0, number, into: operand(of), len };
        }
        if at.here(true) {
            return Move::Fold { into: hand(rank, result), operands: Operands::Hands, len };
        }
        if at.here(true) {
            return Move::Copy { into: dest(rank, 0), from: hand(rank, result), len };
        }
        Move::Done
    }
}
