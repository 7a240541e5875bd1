//! Which way a collective takes: the one place that chooses.
//!
//! A way follows from what all members know alike: the call, how the team lies on nodes and caches, the rows of the user and of
//! the network, and whether the team has memory between nodes. So all members choose the same without a message. The
//! runtime does what [`CollectiveWay`] says; `oxshmem explain` prints it.
//!
//! | of a team on one node | of a team on several nodes |
//! |---|---|
//! | a schedule, where the user names one | what fits a payload is combined on each node, then by inline messages |
//! | what fits a payload travels with an exchange | some hundred KiB go eagerly, into buffers that leaders have ready |
//! | large teams: level by level | the rest goes by rendezvous, into the leaders' destinations |
//! | some KiB go through eager memory of the members; the rest: loads from their arrays | what no schedule has room for is fetched by each member |

mod between_nodes;
mod facts;
mod leaders;
pub mod size_limits;
#[cfg(feature = "tools")]
mod words;

pub use facts::{LeaseState, LevelLines, NodeShares, NodeSpan, ReduceFacts, Rules, TeamFacts};
pub use leaders::{LeaderSchedule, Reach};

use crate::algorithm::broadcast::Tree;
use crate::algorithm::{Collective, OperatorLaw, Schedule};
use crate::choose::Question;
use crate::node::chain::PieceChain;
use crate::node::relay::Relay;
use crate::node::tree::LineTree;
use crate::node::{Load, NodePlan, Protocol};
use crate::step::{Algorithm, Plan, Traffic};
use size_limits::*;

/// The way of a collective: the moves of a team's members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectiveWay {
    /// They run a schedule in each other's memory, this many elements at a time.
    Schedule(Schedule, u64),
    /// The data travels with one exchange.
    Exchange,
    /// Short data goes through memory that each member of a node has ready: with one exchange, or posted by a root that goes on.
    NodeEager,
    /// They meet level by level.
    Levels,
    /// They read each other's memory, from node to node by gets.
    Members,
    /// Each node combines its operands, and its leader the nodes' by inline messages.
    Inline(LeaderSchedule),
    /// The same with operands in the leaders' scratch.
    Eager(LeaderSchedule),
    /// The leaders gather the parts of all members in their gather buffers, from which each member takes them.
    Gathered(LeaderSchedule),
    /// The payload goes down a tree of broadcast rings, and the root goes on at once.
    Ring(Tree),
    /// Each node folds a slice: the leaders exchange operands of all slices, and gather the results.
    Slices {
        /// The operands.
        parts: PartExchange,
        /// The results.
        results: LeaderSchedule,
    },
    /// The leaders exchange parts, one from each node for each other one.
    Parts(PartExchange),
    /// The call is made as calls of this many elements, one after the other, each by the way of so many.
    Pieces(usize),
    /// All meet; data goes once to each node, into its leader's destination; all meet again.
    Rendezvous(LeaderSchedule),
}

/// The elements of the blocks of a strided all-to-all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StridedElements {
    /// Bytes of each.
    pub bytes: usize,
    /// They do not lie one behind the other.
    pub are_apart: bool,
}

/// An exchange of parts between leaders, in outgoing and gather buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartExchange {
    /// Bytes of a part with its head.
    pub part: u64,
    /// Its schedule.
    pub schedule: LeaderSchedule,
}

impl TeamFacts<'_> {
    /// The way of a barrier.
    pub fn barrier(&self) -> CollectiveWay {
        self.on_node(Collective::Sync, Plan::new(self.size, 0), 1, true).unwrap_or(CollectiveWay::Exchange)
    }

    /// The way of a reduction.
    pub fn reduce(&self, call: ReduceFacts) -> CollectiveWay {
        let plan = Plan::new(self.size, call.n as u64);
        if let Some(way) = self.on_node(Collective::Reduce(call.law), plan, call.element, false) {
            return way;
        }
        if let Some(span) = &self.span {
            return self.reduce_between(span, call);
        }
        if self.levels.is_some_and(|levels| levels.serve_reduction(call)) {
            return CollectiveWay::Levels;
        }
        self.by_operands(call.bytes())
    }

    /// The way of a call on one node for which each member needs the operands of all.
    fn by_operands(&self, bytes: usize) -> CollectiveWay {
        let most = if self.rules.crowded { NODE_EAGER } else { EAGER_OPERAND };
        match bytes {
            ..=PAYLOAD => CollectiveWay::Exchange,
            bytes if bytes <= most && bytes * self.size as usize <= EAGER_OPERANDS => self.node_eager(),
            _ => CollectiveWay::Members,
        }
    }

    /// The eager way, unless the team is so large that it meets level by level.
    fn node_eager(&self) -> CollectiveWay {
        if self.levels.is_none() { CollectiveWay::NodeEager } else { CollectiveWay::Members }
    }

    /// The way of a prefix sum.
    pub fn scan(&self, call: ReduceFacts, inclusive: bool) -> CollectiveWay {
        let collective = if inclusive { Collective::Inscan } else { Collective::Exscan };
        let plan = Plan::new(self.size, call.n as u64);
        // No schedule keeps the order of the team, on which the bits of floating-point sums depend.
        let by_schedule = || self.on_node(collective, plan, call.element, false);
        let scheduled = if call.law == OperatorLaw::FixedTree { None } else { by_schedule() };
        if let Some(way) = scheduled {
            return way;
        }
        match &self.span {
            _ if call.bytes() <= PAYLOAD => CollectiveWay::Exchange,
            // Each member folds the operands that it needs, in the order of the team.
            Some(span) => {
                let gathered =
                    |call: ReduceFacts| self.gathered(span, NodeShares::blocks(self.size, span, call.bytes()));
                gathered(call).or_else(|| self.in_pieces(call, gathered)).unwrap_or(CollectiveWay::Members)
            }
            None => self.by_operands(call.bytes()),
        }
    }

    /// The way of a broadcast of `bytes` bytes, which go to the root's own destination unless that stays `apart`.
    /// `root_node` is the number of the root's node, if there are several.
    pub fn broadcast(&self, bytes: usize, root: u32, root_node: u32, apart: bool) -> CollectiveWay {
        let plan = Plan { root, root_apart: apart, ..Plan::new(self.size, bytes as u64) };
        if let Some(way) = self.on_node(Collective::Broadcast, plan, 1, true) {
            return way;
        }
        if let Some(span) = &self.span
            && let Some(way) = self.broadcast_between(span, Plan { root: root_node, ..plan })
        {
            return way;
        }
        if self.levels.is_some_and(|levels| levels.serve_broadcast(bytes, root)) {
            return CollectiveWay::Levels;
        }
        match bytes {
            ..=NODE_POST if self.posts && self.levels.is_none() => CollectiveWay::NodeEager,
            ..=PAYLOAD => CollectiveWay::Exchange,
            _ => CollectiveWay::Members,
        }
    }

    /// The way of a gather of equal blocks.
    pub fn fcollect(&self, bytes: usize) -> CollectiveWay {
        if let Some(way) = self.on_node(Collective::Fcollect, Plan::new(self.size, bytes as u64), 1, true) {
            return way;
        }
        match &self.span {
            _ if bytes <= PAYLOAD => CollectiveWay::Exchange,
            Some(span) => self.gather(NodeShares::blocks(self.size, span, bytes)),
            None => self.by_blocks(bytes),
        }
    }

    /// The way of a call on one node in which each member has so many bytes for others.
    fn by_blocks(&self, bytes: usize) -> CollectiveWay {
        if self.rules.crowded && bytes <= NODE_EAGER { self.node_eager() } else { CollectiveWay::Members }
    }

    /// The two schedules that the user wants for a gather of blocks of any size on one node: the first tells members where their
    /// blocks go.
    pub fn collect(&self) -> Option<[Schedule; 2]> {
        let find =
            |collective, count, element| match self.on_node(collective, Plan::new(self.size, count), element, true) {
                Some(CollectiveWay::Schedule(schedule, _)) => Some(schedule),
                _ => None,
            };
        Some([find(Collective::Shares, 1, 8)?, find(Collective::Collect, 0, 1)?])
    }

    /// Bytes that each member's block may have in the next collect of a team that spans nodes, if its blocks are to travel with their sizes, in
    /// one exchange; zero: sizes go first. Those of the last collect, of which the longest has `longest` bytes, would have room, and
    /// padding at most doubles their `total`. All members know the blocks of the last collect, and all choose alike.
    pub fn collect_room(&self, longest: usize, total: usize) -> usize {
        let room = longest.checked_next_power_of_two().unwrap_or(usize::MAX);
        let size = self.size as usize;
        let all = room.saturating_add(COLLECT_HEAD).saturating_mul(size);
        let needed = total.saturating_add(COLLECT_HEAD.saturating_mul(size));
        let most = needed.saturating_mul(2).max(size.saturating_mul(COLLECT_HEAD + COLLECT_PADDING)).min(GATHER);
        if self.span.is_some() && longest > COLLECT_INLINE && all <= most { room } else { 0 }
    }

    /// The way of a gather between nodes, to which nodes bring these shares.
    pub fn gather(&self, shares: NodeShares) -> CollectiveWay {
        let Some(span) = &self.span else { return CollectiveWay::Members };
        let schedule = || self.gathering(shares, Reach::Results, span.buffers == LeaseState::Held);
        // The blocks of a node are one part of the destination only where they follow each other there.
        let rendezvous = || if span.in_order { schedule().map(CollectiveWay::Rendezvous) } else { None };
        self.gathered(span, shares).or_else(rendezvous).unwrap_or(CollectiveWay::Members)
    }

    /// The way of an all-to-all of blocks of `bytes` bytes, which have `strided` elements if the call knows of any.
    pub fn alltoall(&self, bytes: usize, strided: Option<StridedElements>) -> CollectiveWay {
        let scheduled = || self.on_node(Collective::Alltoall, Plan::new(self.size, bytes as u64), 1, true);
        if let Some(way) = if strided.is_some() { None } else { scheduled() } {
            return way;
        }
        if strided.is_none() && bytes.saturating_mul(self.size as usize) <= PAYLOAD {
            return CollectiveWay::Exchange;
        }
        let pieces = match strided {
            _ if !self.rules.crowded => 1,
            Some(StridedElements { are_apart: true, .. }) => PIECES_OF_STRIDED_BLOCKS,
            _ => PIECES_OF_BLOCKS,
        };
        let Some(span) = &self.span else { return self.by_blocks(bytes.saturating_mul(self.size as usize)) };
        self.blocks_by_nodes(span, bytes, strided.map_or(1, |elements| elements.bytes), pieces)
            .map_or(CollectiveWay::Members, CollectiveWay::Parts)
    }

    /// The schedule that the user wants on a node, if the memory of the team's slot has room for it; in one piece if it is not to
    /// be cut.
    fn on_node(&self, collective: Collective, plan: Plan, element: usize, whole: bool) -> Option<CollectiveWay> {
        if !self.scheduled {
            return None;
        }
        let schedule = self.rules.wanted(&question(collective, &plan, element))?;
        let piece = area_piece(&schedule, &plan, element)?;
        (!whole || piece == plan.count).then_some(CollectiveWay::Schedule(schedule, piece))
    }
}

impl CollectiveWay {
    /// Whether a team that takes it has, or asks for, buffers between nodes. A rendezvous goes without if it must.
    pub fn wants_buffers(&self) -> bool {
        matches!(
            self,
            Self::Eager(_)
                | Self::Gathered(_)
                | Self::Slices { .. }
                | Self::Parts(_)
                | Self::Pieces(_)
                | Self::Rendezvous(_)
        )
    }
}

impl LevelLines<'_> {
    fn serve_reduction(&self, call: ReduceFacts) -> bool {
        let (count, element) = (call.n as u64, call.element as u64);
        if call.bytes() <= PAYLOAD {
            let tree = LineTree { load: Load::of(call.law) };
            return tree.lines(self.shape, &NodePlan::short(count, element)) <= self.synchronising;
        }
        let chain = PieceChain { in_order: call.law == OperatorLaw::FixedTree };
        let plan = NodePlan::in_pieces(count, element);
        chain.pays(self.shape, call.bytes() as u64) && chain.lines(self.shape, &plan) <= self.synchronising
    }

    fn serve_broadcast(&self, bytes: usize, root: u32) -> bool {
        let plan = NodePlan { root, ..NodePlan::in_pieces(bytes as u64, 1) };
        Relay.lines(self.shape, &plan) <= self.one_way
    }
}

fn question(collective: Collective, plan: &Plan, element: usize) -> Question {
    Question { collective, size: plan.size, count: plan.count, element: element as u64, root_apart: plan.root_apart }
}

/// The most elements, at most `plan.count`, that one run of the schedule can handle in the area of a slot; `None` if not even one.
fn area_piece(schedule: &Schedule, plan: &Plan, element: usize) -> Option<u64> {
    let words = match schedule.traffic() {
        Traffic::Synchronising => AREA_WORDS,
        Traffic::OneWay { .. } => AREA_SIGNAL_SET_WORDS,
    };
    let has_room = |count: u64| {
        let plan = Plan { count, ..*plan };
        let bytes = schedule.scratch(&plan).checked_mul(element as u64);
        schedule.words(&plan) as usize <= words && bytes.is_some_and(|bytes| bytes <= AREA_SCRATCH as u64)
    };
    largest_piece(plan.count, has_room)
}

/// Of `count` elements all, or the half of them, and so on: the most for which there is room.
fn largest_piece(count: u64, has_room: impl Fn(u64) -> bool) -> Option<u64> {
    core::iter::successors(Some(count), |&count| (count > 1).then(|| count.div_ceil(2))).find(|&count| has_room(count))
}

#[cfg(test)]
mod tests;
