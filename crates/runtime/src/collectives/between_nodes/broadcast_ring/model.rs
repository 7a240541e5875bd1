//! Broadcasts among leaders over the worst network that a lane may be, as states and moves: [`tests`](super::tests) takes
//! all moves of small trees and random ones of large trees.
//!
//! A put is two events, as late and as far out of order as the lane permits: first the network reads the source and the bytes
//! land, later the stamp appears. An acknowledgement is one. Members of a node take a broadcast as late as they may: until they count in, at
//! the first broadcast in the other half or at a synchronisation. There a leader may stop for as long as it likes. Its other steps send
//! messages or write a payload: to do that later is no worse than a message that arrives later, so a leader does them at once.
//!
//! The root leads its node here. Another root waits for the same acknowledgements, and writes its payload after the release of the
//! broadcast before: between the same two steps of its leader.

use crate::collectives::free_buffers::ring::{BroadcastTree, PendingAcknowledgements, RingBlock, RingBlocks};
use crate::memory::control::broadcast_ring::{BLOCK_ALIGN, HALF};
use oxshmem_schedule::algorithm::broadcast::Tree;
use oxshmem_schedule::step::{Algorithm, Caller, Plan, Step};

/// The bytes of a unit: half of a half.
pub(super) const UNIT: usize = HALF / 2;
const UNITS: usize = 2 * HALF / UNIT;
const _: () = assert!(UNIT.is_multiple_of(BLOCK_ALIGN));

/// Rules that are too weak, which the model must find.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum WeakerRule {
    None,
    /// A half is used again without its acknowledgements.
    NobodyWaits,
    /// Halves take turns although broadcasts go down several trees.
    OtherTreesCount,
    /// A leader acknowledges a half before its children have.
    AtOnce,
    /// A leader that has entered a broadcast acknowledges the half before it, although its node has not counted in.
    BeforeTheNode,
    /// A leader acknowledges a half, and the node never counts in.
    WithoutTheNode,
    /// After a synchronisation a leader still waits for its children before it acknowledges.
    ChildrenAfterARun,
    /// Pending acknowledgements are forgotten with a synchronisation.
    Forgotten,
}

/// A call that all leaders make.
#[derive(Clone, Copy, Debug)]
enum ModelCall {
    Broadcast { root: u32, block: RingBlock, run: u32 },
    Synchronisation,
}

/// The calls of a history, and the tree that they use: what does not change.
pub(super) struct History {
    calls: Vec<ModelCall>,
    leaders: u32,
    tree: Tree,
    rule: WeakerRule,
}

impl History {
    /// Broadcasts of (root, bytes), or synchronisations; a broadcast without a block is one, too.
    pub(super) fn new(leaders: u32, radix: u32, calls: &[Option<(u32, usize)>], rule: WeakerRule) -> Self {
        let (mut blocks, mut run) = (RingBlocks::default(), 0);
        let calls = calls.iter().map(|call| {
            let block = call.and_then(|(root, bytes)| {
                let shown = if rule == WeakerRule::OtherTreesCount { 0 } else { root };
                Some((root, blocks.block(run, bytes, BroadcastTree { root: shown, radix })?))
            });
            match block {
                Some((root, block)) => ModelCall::Broadcast { root, block, run },
                None => {
                    run += 1;
                    ModelCall::Synchronisation
                }
            }
        });
        Self { calls: calls.collect(), leaders, tree: Tree { radix }, rule }
    }

    fn plan(&self, root: u32) -> Plan {
        Plan { root, root_apart: true, ..Plan::new(self.leaders, 1) }
    }

    /// How often a half is used again.
    pub(super) fn again(&self) -> usize {
        let is_again = |call: &&ModelCall| matches!(call, ModelCall::Broadcast { block, .. } if block.again.is_some());
        self.calls.iter().filter(is_again).count()
    }
}

/// The next thing that a leader does.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
enum Stage {
    #[default]
    Enter,
    /// The node has counted in at a synchronisation.
    Met,
    /// A root writes the payload.
    Lay,
    /// The node counts in, at a synchronisation or before its leader acknowledges a half.
    Gather,
    Run(u8),
}

#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
struct ModelLeader {
    call: u8,
    stage: Stage,
    /// The call, counted from 1, whose payload is in each unit, and whose stamp is beside it.
    payload: [u8; UNITS],
    stamp: [u8; UNITS],
    /// All members of the node have taken the broadcasts of so many calls.
    taken: u8,
    acknowledged: [u8; 2],
    expected: [u8; 2],
    pending: PendingAcknowledgements,
}

/// A message under way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Message {
    Put { from: u8, to: u8, call: u8 },
    Stamp { to: u8, call: u8 },
    Acknowledgement { to: u8, half: u8 },
}

/// All leaders, and what is under way, in order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct ModelState {
    leaders: Vec<ModelLeader>,
    messages: Vec<Message>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum ModelEvent {
    /// The leader's node counts in.
    CountIn(usize),
    /// The message with this number arrives.
    Arrive(usize),
}

impl ModelState {
    pub(super) fn first(history: &History) -> Self {
        let mut first = Self { leaders: vec![ModelLeader::default(); history.leaders as usize], messages: Vec::new() };
        first.settle(history).map(|()| first).expect("nobody has counted in")
    }

    pub(super) fn is_over(&self, history: &History) -> bool {
        self.leaders.iter().all(|leader| leader.call as usize == history.calls.len())
    }

    pub(super) fn under_way(&self) -> usize {
        self.messages.len()
    }

    /// The nodes that can count in.
    pub(super) fn steps(&self) -> impl Iterator<Item = ModelEvent> + '_ {
        let stops = |rank: &usize| self.leaders[*rank].stage == Stage::Gather;
        (0..self.leaders.len()).filter(stops).map(ModelEvent::CountIn)
    }

    /// Every message can arrive.
    pub(super) fn arrivals(&self) -> impl Iterator<Item = ModelEvent> + use<> {
        (0..self.messages.len()).map(ModelEvent::Arrive)
    }

    pub(super) fn apply(&mut self, history: &History, event: ModelEvent) -> Result<(), String> {
        match event {
            ModelEvent::CountIn(rank) => self.step(history, rank)?,
            ModelEvent::Arrive(number) => {
                let message = self.messages.remove(number);
                self.arrive(history, message)?;
            }
        }
        self.settle(history)
    }

    /// All leaders go on until their nodes have to count in or they have to wait.
    fn settle(&mut self, history: &History) -> Result<(), String> {
        let goes =
            |state: &Self, rank: usize| state.leaders[rank].stage != Stage::Gather && state.can_step(history, rank);
        while let Some(rank) = (0..self.leaders.len()).find(|&rank| goes(self, rank)) {
            self.step(history, rank)?;
        }
        Ok(())
    }

    fn send(&mut self, message: Message) {
        let place = self.messages.partition_point(|other| *other <= message);
        self.messages.insert(place, message);
    }

    fn arrive(&mut self, history: &History, message: Message) -> Result<(), String> {
        match message {
            Message::Acknowledgement { to, half } => self.leaders[to as usize].acknowledged[half as usize] += 1,
            Message::Stamp { to, call } => {
                let units = history.units(call);
                self.leaders[to as usize].stamp[units.start] = call + 1;
            }
            Message::Put { from, to, call } => {
                let units = history.units(call);
                if self.leaders[from as usize].payload[units.clone()].iter().any(|&there| there != call + 1) {
                    return Err(format!("{from} has written over call {call} before {to} had it"));
                }
                let target = &mut self.leaders[to as usize];
                if target.payload[units.clone()].iter().any(|&there| there > target.taken) {
                    return Err(format!("{to} has not taken what call {call} overwrites"));
                }
                target.payload[units].fill(call + 1);
                self.send(Message::Stamp { to, call });
            }
        }
        Ok(())
    }

    fn can_step(&self, history: &History, rank: usize) -> bool {
        let leader = &self.leaders[rank];
        let Some(call) = history.calls.get(leader.call as usize) else { return false };
        match (*call, leader.stage) {
            (ModelCall::Synchronisation, Stage::Met) => {
                let met = |other: &ModelLeader| (other.call, other.stage == Stage::Met) >= (leader.call, true);
                self.leaders.iter().all(met)
            }
            (ModelCall::Broadcast { block: RingBlock { again: Some(half), .. }, .. }, Stage::Enter) => {
                leader.acknowledged[half] >= leader.expected[half] || history.rule == WeakerRule::NobodyWaits
            }
            (ModelCall::Broadcast { root, .. }, Stage::Run(pc)) => match history.step(root, rank, pc) {
                Step::Wait { .. } => leader.stamp[history.units(leader.call).start] == leader.call + 1,
                _ => true,
            },
            _ => true,
        }
    }

    fn step(&mut self, history: &History, rank: usize) -> Result<(), String> {
        let leader = &mut self.leaders[rank];
        let (call, number) = (history.calls[leader.call as usize], leader.call);
        let ModelCall::Broadcast { root, block, run } = call else {
            match leader.stage {
                Stage::Enter => leader.stage = Stage::Gather,
                Stage::Gather => (leader.stage, leader.taken) = (Stage::Met, number),
                _ if history.rule == WeakerRule::Forgotten => {
                    (leader.call, leader.stage) = (number + 1, Stage::Enter);
                    leader.pending = PendingAcknowledgements::default();
                }
                _ => (leader.call, leader.stage) = (number + 1, Stage::Enter),
            }
            return Ok(());
        };
        match leader.stage {
            Stage::Enter => {
                leader.stage = if root as usize == rank { Stage::Lay } else { history.after_entry(block) };
                if let (Some(half), WeakerRule::BeforeTheNode | WeakerRule::WithoutTheNode) = (block.left, history.rule)
                {
                    self.defer(history, rank, root, half, run)?;
                }
                self.acknowledge(history, rank, run);
            }
            Stage::Lay => {
                let units = &mut leader.payload[history.units(number)];
                if units.iter().any(|&there| there > leader.taken) {
                    return Err(format!("{rank} has not taken what it writes in call {number}"));
                }
                units.fill(number + 1);
                leader.stage = history.after_entry(block);
            }
            Stage::Gather => {
                (leader.taken, leader.stage) = (number, Stage::Run(0));
                if let Some(half) = block.left
                    && history.rule != WeakerRule::BeforeTheNode
                {
                    self.defer(history, rank, root, half, run)?;
                    self.acknowledge(history, rank, run);
                }
            }
            Stage::Run(pc) => match history.step(root, rank, pc) {
                Step::Done => {
                    (leader.call, leader.stage) = (number + 1, Stage::Enter);
                    self.acknowledge(history, rank, run);
                }
                step => {
                    leader.stage = Stage::Run(pc + 1);
                    if let Step::Put { to, .. } = step {
                        self.send(Message::Put { from: rank as u8, to: to as u8, call: number });
                    }
                }
            },
            Stage::Met => unreachable!("only a synchronisation meets"),
        }
        Ok(())
    }

    /// The node has taken what was in a half.
    fn defer(&mut self, history: &History, rank: usize, root: u32, half: usize, run: u32) -> Result<(), String> {
        let (leader, plan) = (&mut self.leaders[rank], history.plan(root));
        leader.expected[half] += history.tree.children(&plan, rank as u32) as u8;
        if let Some(parent) = history.tree.parent(&plan, rank as u32) {
            if leader.pending.has(half) {
                return Err(format!("{rank} leaves half {half} again before it has acknowledged it"));
            }
            leader.pending.add(half, parent, run);
        }
        Ok(())
    }

    /// Sends the acknowledgements that are due.
    fn acknowledge(&mut self, history: &History, rank: usize, run: u32) {
        let leader = &mut self.leaders[rank];
        let run =
            if history.rule == WeakerRule::ChildrenAfterARun { leader.pending.last_run().unwrap_or(run) } else { run };
        let (acknowledged, expected) = (leader.acknowledged, leader.expected);
        let due =
            leader.pending.due(run, |half| history.rule == WeakerRule::AtOnce || acknowledged[half] >= expected[half]);
        for (half, to) in due.into_iter().enumerate() {
            if let Some(to) = to {
                self.send(Message::Acknowledgement { to: to as u8, half: half as u8 });
            }
        }
    }
}

impl History {
    /// Where the leader of a node goes when it has entered a broadcast with this block.
    fn after_entry(&self, block: RingBlock) -> Stage {
        let counts_in = block.left.is_some() && self.rule != WeakerRule::WithoutTheNode;
        if counts_in { Stage::Gather } else { Stage::Run(0) }
    }

    fn units(&self, call: u8) -> core::ops::Range<usize> {
        match self.calls[call as usize] {
            ModelCall::Broadcast { block, .. } => block.at / UNIT..(block.at + block.bytes) / UNIT,
            ModelCall::Synchronisation => 0..0,
        }
    }

    fn step(&self, root: u32, rank: usize, pc: u8) -> Step {
        self.tree.step(&self.plan(root), &Caller::new(rank as u32), u64::from(pc))
    }
}
