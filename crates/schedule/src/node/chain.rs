//! Reductions of long arrays from group to group: each byte crosses a boundary between groups once on its way to the
//! result and once on the way back.
//!
//! The pieces of the array are dealt out to the members of each group. The owner of a piece in a group takes what the
//! groups before have combined, folds the sources of its own group onto it in team order, and keeps that in its dest. The
//! last group so has the result, which goes back from group to group, and inside a group from the owner to the others.
//! Where groups are runs of consecutive members the result is the fold of all sources in team order: the same bits as
//! on any other shape.
//!
//! The owner's dest is free to hold what is on its way: in place it is the owner's own source, which only the owner
//! reads at this piece.

use super::slices::{meeting, meeting_lines, meeting_reader};
use super::{Cursor, Move, NodeMembers, NodePlan, Operands, Protocol, Shape, dest};

/// The line by which a member says that it has entered.
const ENTERED: u32 = 0;
/// The line that counts the pieces that a member has combined.
const COMBINED: u32 = 1;
/// The line that counts the pieces of the result that a member has.
const FINISHED: u32 = 2;
/// The first line of the synchronisation at the end.
const MEETING: u32 = 3;

/// See the head of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PieceChain {
    /// Whether groups are runs of consecutive members, so that the sources are folded in team order.
    pub in_order: bool,
}

/// Bytes of an array from which the way from group to group is shorter than that from each member to each other one.
const LONG: u64 = 64 << 10;

impl PieceChain {
    /// Whether it is the quickest way for arrays of this many bytes: around one memory slices are, and a chain of many
    /// groups takes long.
    pub fn pays(self, shape: &Shape, bytes: u64) -> bool {
        let groups = shape.groups(self.in_order).len();
        bytes >= LONG && groups >= 2 && groups * 2 <= shape.size()
    }
}

impl Protocol for PieceChain {
    fn lines(&self, shape: &Shape, plan: &NodePlan) -> u32 {
        MEETING + meeting_lines(shape, plan)
    }

    fn reader(&self, shape: &Shape, plan: &NodePlan, rank: u32, line: u32, index: u32) -> Option<u32> {
        if let Some(line) = line.checked_sub(MEETING) {
            return meeting_reader(shape, plan, rank, line, index);
        }
        let groups = shape.groups(self.in_order);
        let group = groups.of(rank);
        let of =
            |group: Option<u32>| group.filter(|&group| group < groups.len()).map_or(&[][..], |g| groups.members(g));
        // Owners of the same pieces: before the caller's group those that fetch the result, behind it those that go on.
        let beyond = match line {
            COMBINED => of(Some(group + 1)),
            FINISHED => of(group.checked_sub(1)),
            _ => &[],
        };
        groups.members(group).iter().filter(|&&member| member != rank).chain(beyond).nth(index as usize).copied()
    }

    fn step(&self, shape: &Shape, plan: &NodePlan, rank: u32, pc: u64) -> Move {
        let groups = shape.groups(self.in_order);
        let group = groups.of(rank);
        let members = groups.members(group);
        let (size, pieces) = (members.len() as u64, plan.pieces());
        let index = members.iter().position(|&member| member == rank).expect("a member of its group") as u64;
        let last = group + 1 == groups.len();
        let owned = |size: u64, index: u64| (pieces + size - 1 - index) / size;
        // The owner of a piece in another group, and the number by which it says that it is through with the piece.
        let owner = |group: u32, piece: u64| {
            let members = groups.members(group);
            let size = members.len() as u64;
            (members[(piece % size) as usize], plan.mark(piece / size + 1))
        };
        let mut at = Cursor(pc);
        if at.here(true) {
            return Move::Write { line: ENTERED, number: plan.mark(1), from: 0, len: 0 };
        }
        let mine = owned(size, index);
        if let Some(step) = at.within(if mine > 0 { size - 1 } else { 0 }) {
            let other = members[((index + 1 + step) % size) as usize];
            return Move::Wait { of: other, line: ENTERED, number: plan.mark(1) };
        }
        if let Some(step) = at.within(3 * mine) {
            let piece = step / 3 * size + index;
            let (begin, len) = plan.piece(piece);
            let before = group.checked_sub(1).map(|before| owner(before, piece));
            return match (step % 3, before) {
                (0, None) => Move::Skip,
                (0, Some((of, number))) => Move::Wait { of, line: COMBINED, number },
                (1, _) => {
                    let of = NodeMembers::Group { in_order: self.in_order, group };
                    let before = before.map(|(of, _)| dest(of, begin));
                    Move::Fold { into: dest(rank, begin), operands: Operands::Sources { before, of, at: begin }, len }
                }
                _ => {
                    let line = if last { FINISHED } else { COMBINED };
                    Move::Write { line, number: plan.mark(step / 3 + 1), from: 0, len: 0 }
                }
            };
        }
        if let Some(step) = at.within(if last { 0 } else { 3 * mine }) {
            let piece = step / 3 * size + index;
            let (begin, len) = plan.piece(piece);
            let (of, number) = owner(group + 1, piece);
            return match step % 3 {
                0 => Move::Wait { of, line: FINISHED, number },
                1 => Move::Copy { into: dest(rank, begin), from: dest(of, begin), len },
                _ => Move::Write { line: FINISHED, number: plan.mark(step / 3 + 1), from: 0, len: 0 },
            };
        }
        // The pieces of the others in the group, beginning behind the caller's, so that not all fetch from one owner.
        if let Some(step) = at.within(2 * (pieces - mine)) {
            let (mut owner, mut step) = ((index + 1) % size, step);
            while step >= 2 * owned(size, owner) {
                step -= 2 * owned(size, owner);
                owner = (owner + 1) % size;
            }
            let (of, turn) = (members[owner as usize], step / 2);
            let (begin, len) = plan.piece(turn * size + owner);
            return match step % 2 {
                0 => Move::Wait { of, line: FINISHED, number: plan.mark(turn + 1) },
                _ => Move::Copy { into: dest(rank, begin), from: dest(of, begin), len },
            };
        }
        meeting(shape, plan, rank, &mut at, MEETING).unwrap_or(Move::Done)
    }
}
