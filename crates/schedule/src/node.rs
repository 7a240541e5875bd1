//! The protocols by which the members of a team meet in the memory of one node, as data.
//!
//! A protocol is a pure function from (shape, plan, member, program counter) to one [`Move`]. A [`Shape`] says which
//! members are close to each other, level by level, so that a move names the line and the member whose line it is, and a
//! tool knows how far the line has to travel. In tests `prove` runs protocols in an abstract machine
//! that rejects whatever some timing could break. With the feature `tools`, `coherence` runs them on a model of a machine's caches.
//!
//! # The promises between a protocol and the memory it runs on
//!
//! - Every member owns lines. A line has one writer, its owner; all members read it. One store makes the number and the
//!   payload of a line visible (the payload is written first, the number is stored with release).
//! - Numbers only grow: a waiter compares with `>=`, nothing is reset. A number is [`NodePlan::mark`] of the call's number
//!   and of a stage inside the call.
//! - *Synchronising* calls use the lines of the parity of their [`Turn`]. Two synchronising calls later all members
//!   have left the first one, so that none reads these lines any more.
//! - *One-way* calls (broadcasts) have lines of their own. A member leaves such a call when all members that read its
//!   lines or its arrays have signalled that they are done.
//! - A member's source and dest are readable by all. No other member touches them before the member has entered the
//!   call.

pub mod chain;
pub mod counted;
pub mod dissemination;
pub mod relay;
mod shape;
pub mod slices;
pub mod tree;

#[cfg(feature = "tools")]
pub mod coherence;
#[cfg(test)]
mod prove;

pub use shape::{Level, MemberGroups, Shape};

use crate::algorithm::OperatorLaw;
use crate::step::{Traffic, Turn};

/// Whether levels are quicker than reading each other's lines, as on a flat shape, for this many members around this
/// many caches. By the simulator: a dozen lines are read at once, a few more are if most of them come from near caches.
pub const fn levels_pay(size: u32, caches: u32) -> bool {
    size > 16 || size > 12 && caches > 8
}

/// Subgroups of a group, in trees.
pub const WIDTH: u32 = 8;
/// Bytes of a piece of a long array.
pub const PIECE: u64 = 16 << 10;
/// Pieces of one call at most. Longer arrays have longer pieces.
pub const MOST_PIECES: u64 = 1 << 15;
/// Bytes of the payload of a line.
pub const LINE_BYTES: u64 = 56;

/// One memory object of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodePlace {
    /// The source array of a member.
    Source,
    /// The dest array of a member.
    Dest,
    /// Memory of the caller that no other member sees: registers, the stack.
    Hand,
}

/// An element of an object of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The member; the caller itself for [`NodePlace::Hand`].
    pub of: u32,
    /// The object.
    pub place: NodePlace,
    /// The element, counted from the object's start.
    pub at: u64,
}

/// The operands of a fold, from the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operands {
    /// Two spots.
    Pair(Spot, Spot),
    /// One operand of each member out of the caller's hand, where they lie by place in the shape; in team order.
    Hands,
    /// The earlier result, if there is one, then the sources of some members in team order, from element `at`.
    Sources {
        /// The leftmost operand.
        before: Option<Spot>,
        /// Whose sources.
        of: NodeMembers,
        /// Where the operands begin in the sources.
        at: u64,
    },
}

/// Some members of the team, in team order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeMembers {
    /// All.
    All,
    /// Those of one group of [`Shape::groups`].
    Group {
        /// Whether groups are runs of consecutive members.
        in_order: bool,
        /// The group.
        group: u32,
    },
}

/// One step of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// Stores a payload out of the caller's hand and a number in a line of the caller.
    Write {
        /// The line, below [`Protocol::lines`].
        line: u32,
        /// Its new number, from [`NodePlan::mark`].
        number: u64,
        /// Where the payload begins in the hand.
        from: u64,
        /// Elements of the payload.
        len: u64,
    },
    /// Waits until a member's line has reached a number. Waits that follow each other overlap.
    Wait {
        /// The member.
        of: u32,
        /// The line.
        line: u32,
        /// The awaited number.
        number: u64,
    },
    /// Copies the payload of a line that has reached `number` into the caller's hand.
    Take {
        /// The member.
        of: u32,
        /// The line.
        line: u32,
        /// The number that came with the payload.
        number: u64,
        /// Where it goes in the hand.
        into: u64,
        /// Elements.
        len: u64,
    },
    /// Counts in at the first member's counter; the last to come releases all, the others wait for that.
    Meet {
        /// The number of the release.
        number: u64,
    },
    /// Copies elements; nothing if both are the same memory.
    Copy {
        /// The copy.
        into: Spot,
        /// The original.
        from: Spot,
        /// Elements.
        len: u64,
    },
    /// Combines elements. `into` may be one of the operands.
    Fold {
        /// The result.
        into: Spot,
        /// The operands.
        operands: Operands,
        /// Elements.
        len: u64,
    },
    /// Nothing here; it keeps the arithmetic on program counters regular.
    Skip,
    /// The call is over.
    Done,
}

/// The facts about a call that all members know, identical on each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodePlan {
    /// Elements of the arrays; 0 for a barrier.
    pub count: u64,
    /// The root of a broadcast, a number in the team.
    pub root: u32,
    /// The place of the call in the history of the team.
    pub turn: Turn,
    /// Elements that the payload of a line holds, at least 1.
    pub line: u64,
    /// Elements of a piece of a long array, at least 1.
    pub piece: u64,
}

impl NodePlan {
    /// A plan for elements of this many bytes, in pieces of one; for the call of number zero, so that numbers in its
    /// steps are those of its stages.
    pub fn short(count: u64, element: u64) -> Self {
        Self { count, root: 0, turn: Turn::default(), line: (LINE_BYTES / element).max(1), piece: 1 }
    }

    /// The same for a long array, in pieces that are not too many.
    pub fn in_pieces(count: u64, element: u64) -> Self {
        let bytes = count.saturating_mul(element);
        let piece = bytes.div_ceil(MOST_PIECES).next_multiple_of(PIECE).max(PIECE);
        Self { piece: piece / element, ..Self::short(count, element) }
    }

    /// The number of stage `stage` of this call. Numbers grow with the calls and, inside one call, with the stage.
    pub const fn mark(&self, stage: u64) -> u64 {
        self.turn.call << 16 | stage
    }

    /// How many pieces the array has.
    pub const fn pieces(&self) -> u64 {
        self.count.div_ceil(self.piece)
    }

    /// Where a piece begins, and its elements.
    pub const fn piece(&self, piece: u64) -> (u64, u64) {
        let (begin, end) = (piece * self.piece, (piece + 1) * self.piece);
        (begin, if end < self.count { self.piece } else { self.count - begin })
    }
}

/// The payload of a synchronisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Nothing: a barrier.
    Nothing,
    /// The result so far: operands meet in any order.
    Combined,
    /// All operands, which are folded in team order once they are together: the same bits whatever the shape.
    Operands,
}

impl Load {
    /// The load of a short reduction.
    pub const fn of(law: OperatorLaw) -> Self {
        match law {
            OperatorLaw::Idempotent | OperatorLaw::Exact => Self::Combined,
            OperatorLaw::FixedTree => Self::Operands,
        }
    }

    /// Elements of one operand.
    const fn len(self, plan: &NodePlan) -> u64 {
        match self {
            Self::Nothing => 0,
            _ => plan.count,
        }
    }
}

/// A protocol of the node as a pure function.
pub trait Protocol {
    /// The dependence of members on each other.
    fn traffic(&self) -> Traffic {
        Traffic::Synchronising
    }
    /// Lines of a member.
    fn lines(&self, shape: &Shape, plan: &NodePlan) -> u32;
    /// Elements of a member's hand.
    fn hand(&self, _shape: &Shape, _plan: &NodePlan) -> u64 {
        0
    }
    /// The `index`-th of the members that may wait for a line of member `rank`, so that the writer can end their sleeps.
    fn reader(&self, shape: &Shape, plan: &NodePlan, rank: u32, line: u32, index: u32) -> Option<u32>;
    /// The step at `pc`. The first [`Move::Done`] is the last step.
    fn step(&self, shape: &Shape, plan: &NodePlan, rank: u32, pc: u64) -> Move;
}

/// Shows `each` the spots of the operands of a fold of `len` elements by member `rank`, from the left.
pub fn operands(shape: &Shape, rank: u32, operands: Operands, len: u64, mut each: impl FnMut(Spot)) {
    match operands {
        Operands::Pair(left, right) => [left, right].into_iter().for_each(each),
        Operands::Hands => {
            (0..shape.size()).for_each(|member| each(hand(rank, u64::from(shape.place(member)) * len)));
        }
        Operands::Sources { before, of, at } => {
            before.into_iter().for_each(&mut each);
            match of {
                NodeMembers::All => (0..shape.size()).for_each(|member| each(source(member, at))),
                NodeMembers::Group { in_order, group } => {
                    let members = shape.groups(in_order).members(group);
                    members.iter().for_each(|&member| each(source(member, at)));
                }
            }
        }
    }
}

/// A spot in the caller's hand.
const fn hand(rank: u32, at: u64) -> Spot {
    Spot { of: rank, place: NodePlace::Hand, at }
}

/// A spot in a member's source.
const fn source(of: u32, at: u64) -> Spot {
    Spot { of, place: NodePlace::Source, at }
}

/// A spot in a member's dest.
const fn dest(of: u32, at: u64) -> Spot {
    Spot { of, place: NodePlace::Dest, at }
}

/// A program counter on its way through the sections of a protocol.
struct Cursor(u64);

impl Cursor {
    /// The step inside a section of `len` steps, if the counter is there; otherwise the section is behind.
    fn within(&mut self, len: u64) -> Option<u64> {
        if self.0 < len {
            return Some(self.0);
        }
        self.0 -= len;
        None
    }

    /// Whether the counter is at this one step, if the protocol has it at all.
    fn here(&mut self, exists: bool) -> bool {
        self.within(exists.into()).is_some()
    }
}
