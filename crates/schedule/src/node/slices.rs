//! Reductions of long arrays by slices: each member combines one slice of all sources and writes it to all dests.
//!
//! Each source is read once and each dest written once, wherever they are: of P members nearly every byte leaves the
//! cache of its owner twice. It is the best way for members around one cache.

use super::{Cursor, Load, Move, NodeMembers, NodePlan, Operands, Protocol, Shape, dest, tree::LineTree};

/// See the head of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slices;

/// The synchronisations before and after.
const MEETING: LineTree = LineTree { load: Load::Nothing };

/// A step of a synchronisation on lines from `first` on; `None` when it is over.
pub(super) fn meeting(shape: &Shape, plan: &NodePlan, rank: u32, at: &mut Cursor, first: u32) -> Option<Move> {
    MEETING.walk(shape, plan, rank, at).map(|step| match step {
        Move::Write { line, number, from, len } => Move::Write { line: line + first, number, from, len },
        Move::Wait { of, line, number } => Move::Wait { of, line: line + first, number },
        step => step,
    })
}

/// Lines of a synchronisation.
pub(super) fn meeting_lines(shape: &Shape, plan: &NodePlan) -> u32 {
    MEETING.lines(shape, plan)
}

/// A member that may wait for a line of a synchronisation.
pub(super) fn meeting_reader(shape: &Shape, plan: &NodePlan, rank: u32, line: u32, index: u32) -> Option<u32> {
    MEETING.reader(shape, plan, rank, line, index)
}

impl Protocol for Slices {
    fn lines(&self, shape: &Shape, plan: &NodePlan) -> u32 {
        2 * meeting_lines(shape, plan)
    }

    fn reader(&self, shape: &Shape, plan: &NodePlan, rank: u32, line: u32, index: u32) -> Option<u32> {
        meeting_reader(shape, plan, rank, line % meeting_lines(shape, plan), index)
    }

    fn step(&self, shape: &Shape, plan: &NodePlan, rank: u32, pc: u64) -> Move {
        let size = u64::from(shape.size());
        let start = |member: u64| plan.count * member / size;
        let (begin, end) = (start(rank.into()), start(u64::from(rank) + 1));
        let mut at = Cursor(pc);
        if let Some(step) = meeting(shape, plan, rank, &mut at, 0) {
            return step;
        }
        if at.here(begin < end) {
            let operands = Operands::Sources { before: None, of: NodeMembers::All, at: begin };
            return Move::Fold { into: dest(rank, begin), operands, len: end - begin };
        }
        if let Some(index) = at.within(if begin < end { size - 1 } else { 0 }) {
            let other = ((u64::from(rank) + 1 + index) % size) as u32;
            return Move::Copy { into: dest(other, begin), from: dest(rank, begin), len: end - begin };
        }
        meeting(shape, plan, rank, &mut at, meeting_lines(shape, plan)).unwrap_or(Move::Done)
    }
}
