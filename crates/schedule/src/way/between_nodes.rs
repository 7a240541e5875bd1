//! The ways of teams that span nodes.

use super::size_limits::{
    CHAIN_SEGMENT, CHAIN_SINGLE_NODES, EAGER_BROADCAST, GATHER, LEADER_COMBINES, PADDED_PART, PART_HEAD, PAYLOAD,
    PIECES_OF_ELEMENTS, SLICED_NODES, chain_from, eager_reduction,
};
use super::{
    CollectiveWay, LeaderSchedule, LeaseState, NodeShares, NodeSpan, PartExchange, Reach, ReduceFacts, TeamFacts,
    question,
};
use crate::algorithm::chain::ReduceChain;
use crate::algorithm::{Collective, OperatorLaw, Schedule};
use crate::step::Plan;

impl TeamFacts<'_> {
    pub(super) fn reduce_between(&self, span: &NodeSpan, call: ReduceFacts) -> CollectiveWay {
        let in_order = call.law == OperatorLaw::FixedTree;
        let inline = || self.combining(span, call).map(CollectiveWay::Inline);
        if call.bytes() <= PAYLOAD {
            return (!in_order).then(inline).flatten().unwrap_or(CollectiveWay::Exchange);
        }
        let whole = |call: ReduceFacts| {
            if in_order {
                self.gathered(span, NodeShares::blocks(self.size, span, call.bytes()))
            } else {
                self.eager(span, call)
            }
        };
        let buffered = |call: ReduceFacts| whole(call).or_else(|| self.slices(span, call));
        let rendezvous = || self.combined(span, call);
        let pieces = || if in_order { self.in_pieces(call, buffered) } else { None };
        let chain = || if in_order { self.along_nodes(span, call) } else { None };
        // In place the chain is cut to the scratch, and one member of each node sends less in slices.
        let first = if call.in_place && span.most == 1 { None } else { chain() };
        let way = first.or_else(|| buffered(call)).or_else(rendezvous).or_else(pieces);
        way.or_else(chain).unwrap_or(CollectiveWay::Members)
    }

    /// A long reduction in team order along the nodes, if their members follow each other there: each node folds its operands behind the
    /// sum of the nodes before it.
    fn along_nodes(&self, span: &NodeSpan, call: ReduceFacts) -> Option<CollectiveWay> {
        let is_long = call.bytes().saturating_mul(span.most as usize) >= chain_from(span.nodes);
        let is_few = span.most == 1 && span.nodes <= CHAIN_SINGLE_NODES;
        if !self.rules.crowded || !span.in_order || !is_long || is_few {
            return None;
        }
        let schedule = Schedule::ReduceChain(ReduceChain { segment: (CHAIN_SEGMENT / call.element) as u64 });
        let plan = Plan::new(span.nodes, call.n as u64);
        let reach = if call.in_place { Reach::Results } else { Reach::Operands };
        let buffers = span.buffers.is_possible();
        LeaderSchedule::find(schedule, buffers, &plan, call.element, plan.count, reach).map(CollectiveWay::Rendezvous)
    }

    /// The fewest calls of equal length that each have a way through buffers, for a call that has none. Its elements are independent of each
    /// other.
    pub(super) fn in_pieces(
        &self,
        call: ReduceFacts,
        buffered: impl Fn(ReduceFacts) -> Option<CollectiveWay>,
    ) -> Option<CollectiveWay> {
        let has_way = |n: usize| {
            let piece = ReduceFacts { n, ..call };
            piece.bytes() > PAYLOAD && buffered(piece).is_some()
        };
        let last = |n: usize| (call.n - 1) % n + 1;
        let most = if self.rules.crowded { PIECES_OF_ELEMENTS } else { 1 };
        let pieces = 2..=most;
        pieces
            .map(|pieces| call.n.div_ceil(pieces))
            .find(|&n| has_way(n) && has_way(last(n)))
            .map(CollectiveWay::Pieces)
    }

    pub(super) fn broadcast_between(&self, span: &NodeSpan, plan: Plan) -> Option<CollectiveWay> {
        let (plan, bytes) = (Plan { size: span.nodes, ..plan }, plan.count as usize);
        let down = |plan: &Plan, buffers| {
            self.leaders(Collective::Broadcast, plan, 1, plan.count, Reach::Results, buffers)?.whole(plan)
        };
        let ring = || {
            let way = down(&Plan { root_apart: false, ..plan }, span.buffers == LeaseState::Held)?;
            let Schedule::Tree(tree) = way.schedule else { return None };
            Some(CollectiveWay::Ring(tree))
        };
        let ring = if bytes <= EAGER_BROADCAST && span.ring.is_possible() { ring() } else { None };
        // The root's node brings everything, the others nothing.
        let gathered = || self.gathered(span, NodeShares { shortest: 0, total: plan.count, even: false });
        // The words of all members are or-ed; all but the root's are zero.
        let words = ReduceFacts { law: OperatorLaw::Idempotent, element: 8, n: bytes.div_ceil(8), in_place: true };
        let inline = || if bytes <= PAYLOAD { self.combining(span, words).map(CollectiveWay::Inline) } else { None };
        let rendezvous = || down(&plan, span.buffers.is_possible()).map(CollectiveWay::Rendezvous);
        ring.or_else(gathered).or_else(inline).or_else(rendezvous)
    }

    /// How the leaders of this many nodes do it.
    pub fn leaders(
        &self,
        collective: Collective,
        plan: &Plan,
        element: usize,
        longest: u64,
        reach: Reach,
        buffers: bool,
    ) -> Option<LeaderSchedule> {
        let find = |schedule| LeaderSchedule::find(schedule, buffers, plan, element, longest, reach);
        self.rules.first(&question(collective, plan, element), find)
    }

    /// How the leaders wait for each other.
    pub fn meeting(&self, nodes: u32) -> Option<LeaderSchedule> {
        self.leaders(Collective::Sync, &Plan::new(nodes, 0), 1, 0, Reach::Nothing, false)
    }

    /// How leaders combine what fits a payload.
    pub fn combining(&self, span: &NodeSpan, call: ReduceFacts) -> Option<LeaderSchedule> {
        let plan = Plan::new(span.nodes, call.n as u64);
        let buffers = span.buffers == LeaseState::Held;
        self.leaders(Collective::Reduce(call.law), &plan, call.element, plan.count, Reach::Nothing, buffers)
    }

    /// How the leaders gather the shares of all nodes.
    pub fn gathering(&self, shares: NodeShares, reach: Reach, buffers: bool) -> Option<LeaderSchedule> {
        let nodes = self.span?.nodes;
        // No message has everything.
        let longest = shares.total - shares.shortest;
        let equal =
            || self.leaders(Collective::Fcollect, &Plan::new(nodes, shares.shortest), 1, longest, reach, buffers);
        let any = || self.leaders(Collective::Collect, &Plan::new(nodes, 0), 1, longest, reach, buffers);
        if shares.even { equal().or_else(any) } else { any() }
    }

    pub(super) fn gathered(&self, span: &NodeSpan, shares: NodeShares) -> Option<CollectiveWay> {
        let fits = span.buffers.is_possible() && shares.total <= GATHER as u64;
        if fits { self.gathering(shares, Reach::Results, true).map(CollectiveWay::Gathered) } else { None }
    }

    fn eager(&self, span: &NodeSpan, call: ReduceFacts) -> Option<CollectiveWay> {
        let (bytes, plan) = (call.bytes(), Plan::new(span.nodes, call.n as u64));
        let collective = Collective::Reduce(call.law);
        let too_long =
            bytes > eager_reduction(span.nodes) || bytes.saturating_mul(span.most as usize) > LEADER_COMBINES;
        // A schedule that the user wants and that needs the dest of all members runs where that is ready.
        let wanted = self.rules.wanted(&question(collective, &plan, call.element));
        if too_long || !span.buffers.is_possible() || wanted.is_some_and(|wanted| !wanted.spares_dest()) {
            return None;
        }
        let way = self.leaders(collective, &plan, call.element, plan.count, Reach::Nothing, true)?;
        way.whole(&plan).map(CollectiveWay::Eager)
    }

    fn slices(&self, span: &NodeSpan, call: ReduceFacts) -> Option<CollectiveWay> {
        let in_order = call.law == OperatorLaw::FixedTree;
        if !in_order && !self.wants_slices(span, call) {
            return None;
        }
        let operand = call.n.div_ceil(span.nodes as usize).saturating_mul(call.element);
        let shares = NodeShares {
            shortest: operand as u64,
            total: (operand as u64).saturating_mul(span.nodes.into()),
            even: true,
        };
        if shares.total > GATHER as u64 {
            return None;
        }
        let operands = if in_order { span.most as usize } else { 1 };
        let parts = self.parts(span, operands.saturating_mul(operand))?;
        let results = self.gathering(shares, Reach::Results, true)?;
        Some(CollectiveWay::Slices { parts, results })
    }

    fn wants_slices(&self, span: &NodeSpan, call: ReduceFacts) -> bool {
        let plan = Plan::new(span.nodes, call.n as u64);
        let wanted = self.rules.wanted(&question(Collective::Reduce(call.law), &plan, call.element));
        let leader_combines = span.most == 1 || call.bytes().saturating_mul(span.most as usize) <= LEADER_COMBINES;
        span.nodes <= SLICED_NODES && leader_combines && wanted.is_none()
    }

    /// An exchange of parts that have the blocks of all members of one node for all of another one. All parts are as long as that
    /// of the largest node for itself, unless such parts would be long and most of them empty. Blocks that have no room go in up to
    /// `pieces` pieces of whole elements, in the fewest that have.
    pub(super) fn blocks_by_nodes(
        &self,
        span: &NodeSpan,
        block: usize,
        element: usize,
        pieces: usize,
    ) -> Option<PartExchange> {
        let part = |piece: usize| piece.saturating_mul(span.most as usize * span.most as usize);
        let (room, used) = (u64::from(span.most) * u64::from(span.nodes), u64::from(self.size));
        let is_sparse = room.saturating_mul(room) > 2 * used * used;
        if part(block) > PADDED_PART && is_sparse {
            return None;
        }
        let piece = |pieces: usize| block.div_ceil(pieces).checked_next_multiple_of(element);
        (1..=pieces).find_map(|pieces| self.parts(span, part(piece(pieces)?)))
    }

    /// An exchange of parts with `bytes` bytes of data.
    pub(super) fn parts(&self, span: &NodeSpan, bytes: usize) -> Option<PartExchange> {
        let part = bytes.checked_next_multiple_of(PART_HEAD)?.checked_add(PART_HEAD)?;
        part.checked_mul(span.nodes as usize).filter(|&all| all <= GATHER && span.buffers.is_possible())?;
        let plan = Plan::new(span.nodes, part as u64);
        let schedule = self.leaders(Collective::Alltoall, &plan, 1, plan.count, Reach::Results, true)?.whole(&plan)?;
        Some(PartExchange { part: plan.count, schedule })
    }

    fn combined(&self, span: &NodeSpan, call: ReduceFacts) -> Option<CollectiveWay> {
        let in_order = call.law == OperatorLaw::FixedTree;
        // The sum of two operands has the same bits in either order, unless both are NaN: it is the left one then.
        let law = match (in_order, self.size) {
            (false, _) => call.law,
            (true, 2) => OperatorLaw::Exact,
            (true, _) => return None,
        };
        let plan = Plan::new(span.nodes, call.n as u64);
        // Operands of other nodes come as soon as those have met, and members here may still read a source.
        let reach = if call.in_place { Reach::Results } else { Reach::Operands };
        let buffers = span.buffers.is_possible();
        let find = |schedule: Schedule| {
            // Each member of a census has its own operand on the right.
            if in_order && matches!(schedule, Schedule::Census(_)) {
                return None;
            }
            LeaderSchedule::find(schedule, buffers, &plan, call.element, plan.count, reach)
        };
        let way = self.rules.first(&question(Collective::Reduce(law), &plan, call.element), find)?;
        Some(CollectiveWay::Rendezvous(way))
    }
}
