//! Broadcasts among leaders over the worst network that a lane may be, as states and moves: [`tests`](super::tests) takes
//! all moves of small trees and random ones of large trees.
//!
//! A put is two events, as late and as far out of order as the lane permits: first the network reads the source and the bytes
//! land, later the stamp appears. What a leader tells another is one event. Members of a node take a broadcast as late as they may: until
//! they count in at their next call. There a leader may stop for as long as it likes. Its other steps send messages or lay a payload
//! down: to do that later is no worse than a message that arrives later, so a leader does them at once.

use crate::collectives::zones::Lent;
use crate::collectives::zones::rooms::{CastRoom, Credits, Tidings};
use crate::memory::control::mail::{CAST, HALF};
use oxshmem_schedule::algorithm::broadcast::Tree;
use oxshmem_schedule::step::{Algorithm, Caller, Plan, Step};

/// The bytes of a unit: half of a half.
pub(super) const UNIT: usize = HALF / 2;
const UNITS: usize = 2 * HALF / UNIT;
const _: () = assert!(UNIT.is_multiple_of(CAST));

/// Rules that are too weak, which the model must find.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum WeakerRule {
    None,
    /// A parent puts to a child that has not told that its half is free.
    NobodyWaits,
    /// A root lays its payload down in a half that its leader has not freed.
    LaidAtOnce,
    /// A leader frees a half before its children have received what it put from there.
    ChildrenForgotten,
    /// A leader that has entered the first broadcast of an epoch has left the one before, although its node has not counted in.
    BeforeTheNode,
    /// A parent that is not one of the epoch before last is not told.
    OnlyUsualParents,
    /// A leader tells nothing before its children have received what it put, not even that it has received its own.
    ReceivedWithFreed,
}

/// A broadcast that all leaders make.
#[derive(Clone, Copy, Debug)]
struct Cast {
    root: u32,
    room: CastRoom,
}

/// The calls of a history, and the tree that they use: what does not change.
pub(super) struct History {
    calls: Vec<Cast>,
    leaders: u32,
    tree: Tree,
    rule: WeakerRule,
}

impl History {
    /// Broadcasts of (root, bytes).
    pub(super) fn new(leaders: u32, radix: u32, calls: &[(u32, usize)], rule: WeakerRule) -> Self {
        let lent = Lent::default();
        let cast = |&(root, bytes): &(u32, usize)| Cast { root, room: lent.room(bytes).expect("at most a half") };
        Self { calls: calls.iter().map(cast).collect(), leaders, tree: Tree { radix }, rule }
    }

    fn plan(&self, root: u32) -> Plan {
        Plan { root, root_apart: true, ..Plan::new(self.leaders, 1) }
    }

    /// How often a half is used again.
    pub(super) fn again(&self) -> usize {
        self.calls.iter().filter(|call| call.room.opens && call.room.epoch > 1).count()
    }
}

/// The next thing that a leader does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Stage {
    Enter,
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
    credits: Credits,
    /// The sums of the tidings of every leader.
    received: Vec<u8>,
    freed: Vec<u8>,
}

/// A message under way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Message {
    Put { from: u8, to: u8, call: u8 },
    Stamp { to: u8, call: u8 },
    Received { from: u8, to: u8, more: u8 },
    Freed { from: u8, to: u8, more: u8 },
}

/// All leaders, and what is under way, in order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct CastState {
    leaders: Vec<ModelLeader>,
    messages: Vec<Message>,
}

/// One event.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum CastEvent {
    /// The leader's node counts in.
    CountIn(usize),
    /// The message with this number arrives.
    Arrive(usize),
}

impl CastState {
    pub(super) fn first(history: &History) -> Self {
        let leader = ModelLeader {
            call: 0,
            stage: Stage::Enter,
            payload: [0; UNITS],
            stamp: [0; UNITS],
            taken: 0,
            credits: Credits::default(),
            received: vec![0; history.leaders as usize],
            freed: vec![0; history.leaders as usize],
        };
        let mut first = Self { leaders: vec![leader; history.leaders as usize], messages: Vec::new() };
        first.settle(history).map(|()| first).expect("nobody has counted in")
    }

    pub(super) fn is_over(&self, history: &History) -> bool {
        self.leaders.iter().all(|leader| leader.call as usize == history.calls.len())
    }

    pub(super) fn under_way(&self) -> usize {
        self.messages.len()
    }

    /// The nodes that can count in.
    pub(super) fn steps(&self) -> impl Iterator<Item = CastEvent> + '_ {
        let stops = |rank: &usize| self.leaders[*rank].stage == Stage::Gather;
        (0..self.leaders.len()).filter(stops).map(CastEvent::CountIn)
    }

    /// Every message can arrive.
    pub(super) fn arrivals(&self) -> impl Iterator<Item = CastEvent> + use<> {
        (0..self.messages.len()).map(CastEvent::Arrive)
    }

    pub(super) fn apply(&mut self, history: &History, event: CastEvent) -> Result<(), String> {
        match event {
            CastEvent::CountIn(rank) => self.step(history, rank)?,
            CastEvent::Arrive(number) => {
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
            Message::Received { from, to, more } => self.leaders[to as usize].received[from as usize] += more,
            Message::Freed { from, to, more } => self.leaders[to as usize].freed[from as usize] += more,
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
        let Some(Cast { root, room }) = history.calls.get(leader.call as usize).copied() else { return false };
        match leader.stage {
            Stage::Enter => room.is_free(leader.freed_soon(history)) || history.rule == WeakerRule::LaidAtOnce,
            Stage::Lay | Stage::Gather => true,
            Stage::Run(pc) => match history.step(root, rank, pc) {
                Step::Wait { .. } => leader.stamp[history.units(leader.call).start] == leader.call + 1,
                Step::Put { to, .. } => {
                    room.is_free(leader.freed[to as usize].into()) || history.rule == WeakerRule::NobodyWaits
                }
                _ => true,
            },
        }
    }

    fn step(&mut self, history: &History, rank: usize) -> Result<(), String> {
        let leader = &mut self.leaders[rank];
        let (Cast { root, room }, number) = (history.calls[leader.call as usize], leader.call);
        let leave = |state: &mut Self| {
            let parents = state.leaders[rank].credits.leave(room.epoch);
            state.free(history, rank);
            if history.rule != WeakerRule::ReceivedWithFreed {
                state.tell(rank, &parents);
            }
        };
        match leader.stage {
            Stage::Enter => {
                leader.stage = if root as usize == rank { Stage::Lay } else { Stage::Gather };
                self.free(history, rank);
                let leader = &mut self.leaders[rank];
                if let Some(parent) = history.tree.parent(&history.plan(root), rank as u32) {
                    leader.credits.expect_from(room, parent);
                    if leader.credits.must_tell(room, parent) && history.rule != WeakerRule::OnlyUsualParents {
                        self.tell(rank, &[parent]);
                    }
                }
                if room.opens && history.rule == WeakerRule::BeforeTheNode {
                    leave(self);
                }
            }
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
                if room.opens && history.rule != WeakerRule::BeforeTheNode {
                    leave(self);
                }
            }
            Stage::Run(pc) => match history.step(root, rank, pc) {
                Step::Done => {
                    (leader.call, leader.stage) = (number + 1, Stage::Enter);
                    self.free(history, rank);
                }
                step => {
                    leader.stage = Stage::Run(pc + 1);
                    if let Step::Put { to, .. } = step {
                        leader.credits.send_to(room, to);
                        self.send(Message::Put { from: rank as u8, to: to as u8, call: number });
                    }
                }
            },
        }
        Ok(())
    }

    /// Frees the half that a leader has left, if it may.
    fn free(&mut self, history: &History, rank: usize) {
        let leader = &mut self.leaders[rank];
        let parents = leader.free(history);
        self.tell(rank, &parents);
    }

    fn tell(&mut self, rank: usize, nodes: &[u32]) {
        for &node in nodes {
            let Tidings { received, freed } = self.leaders[rank].credits.tell(node);
            let (from, to) = (rank as u8, node as u8);
            if received > 0 {
                self.send(Message::Received { from, to, more: received as u8 });
            }
            if freed > 0 {
                self.send(Message::Freed { from, to, more: freed as u8 });
            }
        }
    }
}

impl ModelLeader {
    fn free(&mut self, history: &History) -> Vec<u32> {
        let (received, freed) = (&self.received, &self.freed);
        let has_received = |child: u32| match history.rule {
            WeakerRule::ChildrenForgotten => u64::MAX,
            _ => received[child as usize].max(freed[child as usize]).into(),
        };
        self.credits.free(has_received)
    }

    /// How many halves are free when the leader looks.
    fn freed_soon(&self, history: &History) -> u64 {
        let mut soon = self.clone();
        soon.free(history);
        soon.credits.freed()
    }
}

impl History {
    fn units(&self, call: u8) -> core::ops::Range<usize> {
        let room = self.calls[call as usize].room;
        room.at / UNIT..(room.at + room.bytes) / UNIT
    }

    fn step(&self, root: u32, rank: usize, pc: u8) -> Step {
        self.tree.step(&self.plan(root), &Caller::new(rank as u32), u64::from(pc))
    }
}
