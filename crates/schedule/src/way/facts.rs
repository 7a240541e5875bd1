//! The facts by which a way is chosen: all members know them alike.

use super::size_limits::{LEVEL_LINES, ONE_WAY_LINES};
use crate::algorithm::broadcast::Tree;
use crate::algorithm::ring::RingReduce;
use crate::algorithm::{Collective, OperatorLaw, Schedule};
use crate::choose::{CROWDED, Question, Row, SERVED, choose, choose_from};
use crate::node::Shape;

/// A team and its job, as all members know them alike.
#[derive(Clone, Copy)]
pub struct TeamFacts<'a> {
    /// Members.
    pub size: u32,
    /// The nodes on which they are, if there are several.
    pub span: Option<NodeSpan>,
    /// The levels by which they meet on one node.
    pub levels: Option<LevelLines<'a>>,
    /// Whether they have memory for schedules on one node.
    pub scheduled: bool,
    /// Whether a root on one node may post broadcasts, which the other members take later.
    pub posts: bool,
    /// The rows that answer before the standard table.
    pub rules: Rules<'a>,
}

/// How a team lies on nodes, and the memory that it has between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeSpan {
    /// Nodes.
    pub nodes: u32,
    /// Members of the node with fewest.
    pub fewest: u32,
    /// Members of the node with most.
    pub most: u32,
    /// The nodes' members follow each other in the team.
    pub in_order: bool,
    /// Scratch and gather buffers.
    pub buffers: LeaseState,
    /// The broadcast ring.
    pub ring: LeaseState,
}

/// Whether a team has memory that teams lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseState {
    /// It has.
    Held,
    /// It may ask for it.
    Wanted,
    /// It has not, and goes without.
    Missing,
}

impl LeaseState {
    pub(super) fn is_possible(self) -> bool {
        self != Self::Missing
    }
}

/// The shape of a team that meets level by level, and how many lines its members have.
#[derive(Clone, Copy)]
pub struct LevelLines<'a> {
    /// The shape.
    pub shape: &'a Shape,
    /// Lines of synchronising calls.
    pub synchronising: u32,
    /// Lines of one-way calls.
    pub one_way: u32,
}

impl<'a> LevelLines<'a> {
    /// Of a team of this shape, whose members have all their lines.
    pub const fn of(shape: &'a Shape) -> Self {
        Self { shape, synchronising: LEVEL_LINES, one_way: ONE_WAY_LINES }
    }
}

/// The rows that answer before the standard table.
#[derive(Clone, Copy, Default)]
pub struct Rules<'a> {
    /// Those of the user.
    pub own: &'a [Row],
    /// Whether all nodes are one machine with fewer processors than PEs: [`CROWDED`] applies. Of a team on one node: whether its node has
    /// fewer.
    pub crowded: bool,
    /// Whether the processor of a target serves what is asked of its memory: [`SERVED`] applies.
    pub served: bool,
}

impl Rules<'_> {
    /// The schedule that the user wants for such a call.
    pub fn wanted(&self, question: &Question) -> Option<Schedule> {
        match question.collective {
            // Half of a collect: it needs some schedule.
            Collective::Shares => Some(choose(self.own, question)),
            // Folded in team order, so that no setting and no number of nodes changes the bits.
            Collective::Reduce(OperatorLaw::FixedTree) => None,
            _ => choose_from(self.own, question),
        }
    }

    /// The first schedule for which there is room: one that the user wants, one of the network's tables, the standard one, the
    /// one that needs least.
    pub(super) fn first<T>(&self, question: &Question, find: impl Fn(Schedule) -> Option<T>) -> Option<T> {
        let least = match question.collective {
            Collective::Reduce(_) => Some(Schedule::RingReduce(RingReduce)),
            Collective::Broadcast => Some(Schedule::Tree(Tree { radix: 2 })),
            _ => None,
        };
        let tables = [(self.crowded, CROWDED), (self.served, SERVED)];
        let of_network = || {
            let apply = tables.iter().filter(|(applies, _)| *applies);
            apply.map(|(_, rows)| *rows).find_map(|rows| find(choose_from(rows, question)?))
        };
        let wanted = self.wanted(question).and_then(&find);
        wanted.or_else(of_network).or_else(|| find(choose(&[], question))).or_else(|| find(least?))
    }
}

/// The bytes that each node brings to a gather.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeShares {
    /// Of the node that brings least.
    pub shortest: u64,
    /// Of all.
    pub total: u64,
    /// Whether all bring as much.
    pub even: bool,
}

impl NodeShares {
    /// Of nodes that bring this many bytes each.
    pub fn of(shares: impl Iterator<Item = u64>) -> Self {
        let none = (u64::MAX, 0, 0);
        let (shortest, longest, total) = shares.fold(none, |(shortest, longest, total): (u64, u64, u64), share| {
            (shortest.min(share), longest.max(share), total.saturating_add(share))
        });
        Self { shortest: shortest.min(longest), total, even: shortest == longest }
    }

    /// Of as many blocks as each node has members.
    pub(super) fn blocks(size: u32, span: &NodeSpan, block: usize) -> Self {
        let bytes = |members: u32| u64::from(members).saturating_mul(block as u64);
        Self { shortest: bytes(span.fewest), total: bytes(size), even: span.fewest == span.most }
    }
}

/// A reduction, as far as its way depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReduceFacts {
    /// The freedom that the operator leaves to the order.
    pub law: OperatorLaw,
    /// Bytes of an element.
    pub element: usize,
    /// Elements.
    pub n: usize,
    /// Whether the destination is the source.
    pub in_place: bool,
}

impl ReduceFacts {
    pub(super) fn bytes(&self) -> usize {
        self.n.saturating_mul(self.element)
    }
}

impl TeamFacts<'_> {
    /// Of a team on one node whose members read each other's memory.
    pub fn plain(size: u32) -> Self {
        Self { size, span: None, levels: None, scheduled: false, posts: true, rules: Rules::default() }
    }

    /// The same team without leased buffers.
    #[must_use]
    pub fn without_buffers(self) -> Self {
        Self { span: self.span.map(|span| NodeSpan { buffers: LeaseState::Missing, ..span }), ..self }
    }

    /// The same team without a broadcast ring.
    #[must_use]
    pub fn without_ring(self) -> Self {
        Self { span: self.span.map(|span| NodeSpan { ring: LeaseState::Missing, ..span }), ..self }
    }
}
