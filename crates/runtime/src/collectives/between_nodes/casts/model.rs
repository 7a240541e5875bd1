//! Broadcasts among leaders over the worst network that a lane may be, as states and moves: [`tests`](super::tests) takes
//! all moves of small trees and random ones of large trees.
//!
//! A put is two events, as late and as far out of order as the lane permits: first the network reads the source and the bytes
//! land, later the stamp appears. An acknowledgement is one. Between two calls, and between any two steps of a call, a leader may
//! stop for as long as it likes. Members of a node take a broadcast as late as they may: until they count in at their next call.

use crate::collectives::zones::{CastRoom, CastTree, Lent};
use crate::memory::control::mail::{CAST, HALF};
use oxshmem_schedule::algorithm::broadcast::Tree;
use oxshmem_schedule::step::{Algorithm, Caller, Plan, Step};

/// The bytes of a unit: half of a half.
pub(super) const UNIT: usize = HALF / 2;
const UNITS: usize = 2 * HALF / UNIT;
const _: () = assert!(UNIT.is_multiple_of(CAST));

/// The faults that the model must find.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Fault {
    None,
    NobodyWaits,
    OtherTreesCount,
}

/// A call that all leaders make.
#[derive(Clone, Copy, Debug)]
enum ModelCall {
    Cast { root: u32, room: CastRoom },
    Synchronisation,
}

/// The calls of a history, and the tree that they use: what does not change.
pub(super) struct History {
    calls: Vec<ModelCall>,
    leaders: u32,
    tree: Tree,
    fault: Fault,
}

impl History {
    /// Broadcasts of (root, bytes), or synchronisations; a broadcast without a room is one, too.
    pub(super) fn new(leaders: u32, radix: u32, calls: &[Option<(u32, usize)>], fault: Fault) -> Self {
        let (lent, mut run) = (Lent::default(), 0);
        let calls = calls.iter().map(|call| {
            let room = call.and_then(|(root, bytes)| {
                let shown = if fault == Fault::OtherTreesCount { 0 } else { root };
                Some((root, lent.cast(run, bytes, CastTree { root: shown, radix })?))
            });
            match room {
                Some((root, room)) => ModelCall::Cast { root, room },
                None => {
                    run += 1;
                    ModelCall::Synchronisation
                }
            }
        });
        Self { calls: calls.collect(), leaders, tree: Tree { radix }, fault }
    }

    fn plan(&self, root: u32) -> Plan {
        Plan { root, root_apart: true, ..Plan::new(self.leaders, 1) }
    }

    /// How often a half is used again.
    pub(super) fn again(&self) -> usize {
        let is_again = |call: &&ModelCall| matches!(call, ModelCall::Cast { room, .. } if room.again.is_some());
        self.calls.iter().filter(is_again).count()
    }
}

/// What a leader does next.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Stage {
    Enter,
    /// The node has counted in at a synchronisation.
    Met,
    /// A root lays the payload down.
    Lay,
    /// The node counts in.
    Gather,
    Run(u8),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
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
pub(super) struct State {
    leaders: Vec<ModelLeader>,
    messages: Vec<Message>,
}

/// One event.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Move {
    /// The leader goes one step.
    Step(usize),
    /// The message with this number arrives.
    Arrive(usize),
}

impl State {
    pub(super) fn first(history: &History) -> Self {
        let leader = ModelLeader {
            call: 0,
            stage: Stage::Enter,
            payload: [0; UNITS],
            stamp: [0; UNITS],
            taken: 0,
            acknowledged: [0; 2],
            expected: [0; 2],
        };
        Self { leaders: vec![leader; history.leaders as usize], messages: Vec::new() }
    }

    pub(super) fn is_over(&self, history: &History) -> bool {
        self.leaders.iter().all(|leader| leader.call as usize == history.calls.len())
    }

    pub(super) fn under_way(&self) -> usize {
        self.messages.len()
    }

    /// The leaders that can go one step.
    pub(super) fn steps<'a>(&'a self, history: &'a History) -> impl Iterator<Item = Move> + 'a {
        (0..self.leaders.len()).filter(|&rank| self.can_step(history, rank)).map(Move::Step)
    }

    /// Every message can arrive.
    pub(super) fn arrivals(&self) -> impl Iterator<Item = Move> + use<> {
        (0..self.messages.len()).map(Move::Arrive)
    }

    pub(super) fn apply(&mut self, history: &History, event: Move) -> Result<(), String> {
        match event {
            Move::Step(rank) => self.step(history, rank),
            Move::Arrive(number) => {
                let message = self.messages.remove(number);
                self.arrive(history, message)
            }
        }
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
            (ModelCall::Cast { room: CastRoom { again: Some(half), .. }, .. }, Stage::Enter) => {
                leader.acknowledged[half] >= leader.expected[half] || history.fault == Fault::NobodyWaits
            }
            (ModelCall::Cast { root, .. }, Stage::Run(pc)) => match history.step(root, rank, pc) {
                Step::Wait { .. } => leader.stamp[history.units(leader.call).start] == leader.call + 1,
                _ => true,
            },
            _ => true,
        }
    }

    fn step(&mut self, history: &History, rank: usize) -> Result<(), String> {
        let leader = &mut self.leaders[rank];
        let (call, number) = (history.calls[leader.call as usize], leader.call);
        let ModelCall::Cast { root, room } = call else {
            if leader.stage == Stage::Enter {
                (leader.stage, leader.taken) = (Stage::Met, number);
            } else {
                (leader.call, leader.stage) = (number + 1, Stage::Enter);
            }
            return Ok(());
        };
        match leader.stage {
            Stage::Enter => leader.stage = if root as usize == rank { Stage::Lay } else { Stage::Gather },
            Stage::Lay => {
                let room = &mut leader.payload[history.units(number)];
                if room.iter().any(|&there| there > leader.taken) {
                    return Err(format!("{rank} has not taken what it lays down in call {number}"));
                }
                room.fill(number + 1);
                leader.stage = Stage::Gather;
            }
            Stage::Gather => {
                (leader.taken, leader.stage) = (number, Stage::Run(0));
                if let Some(half) = room.left {
                    let plan = history.plan(root);
                    leader.expected[half] += history.tree.children(&plan, rank as u32) as u8;
                    if let Some(parent) = history.tree.parent(&plan, rank as u32) {
                        self.send(Message::Acknowledgement { to: parent as u8, half: half as u8 });
                    }
                }
            }
            Stage::Run(pc) => match history.step(root, rank, pc) {
                Step::Done => (leader.call, leader.stage) = (number + 1, Stage::Enter),
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
}

impl History {
    fn units(&self, call: u8) -> core::ops::Range<usize> {
        match self.calls[call as usize] {
            ModelCall::Cast { room, .. } => room.at / UNIT..(room.at + room.bytes) / UNIT,
            ModelCall::Synchronisation => 0..0,
        }
    }

    fn step(&self, root: u32, rank: usize, pc: u8) -> Step {
        self.tree.step(&self.plan(root), &Caller::new(rank as u32), u64::from(pc))
    }
}
