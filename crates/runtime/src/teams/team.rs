//! Teams: the members of one, and what they share.

mod counters;
mod gathering;
mod handle;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use core::sync::atomic::{AtomicI32, AtomicPtr, Ordering::Relaxed};

use oxshmem_schedule::lease::Leases;
use oxshmem_schedule::step::Traffic;
use oxshmem_schedule::strided_team::Triplet;
use parking_lot::Mutex;

use crate::collectives::chosen_ways::ChosenWays;
use crate::collectives::free_buffers::{BUFFERS, Leased, LeasedRing};
use crate::memory::control::eager::EagerMemory;
use crate::memory::control::lines::TeamLines;
use crate::memory::control::seat::Seat;
use crate::memory::control::{self, SLOT_EAGER, SLOT_LINES, Slot, TEAM_SLOTS, area::AREAS};
use crate::start::{job, state};
use crate::sync::AtomicU64 as AtomicWord;
use crate::teams::cache_levels::{self, Hierarchy};
use crate::teams::live_contexts::LiveContext;
use crate::teams::members::Members;
use crate::teams::predefined_handles;
use crate::teams::span::Span;
use crate::wait::Needs;

use counters::TeamCounters;

/// A `shmem_team_t`: the address of a team object, or null for `SHMEM_TEAM_INVALID`.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TeamHandle(pub(crate) *const TeamObject);

/// The object behind a handle. The predefined teams' objects are defined in C; see `predefined_handles`.
#[repr(C)]
pub struct TeamObject {
    /// Stored with release and loaded with acquire: the state is plain memory, and a predefined handle exists before it.
    state: AtomicPtr<TeamState>,
    _reserved: usize,
}

const _: () = assert!(size_of::<TeamObject>() <= size_of::<predefined_handles::Object>());

impl TeamObject {
    /// Of no team.
    pub(crate) const fn empty() -> Self {
        Self { state: AtomicPtr::new(core::ptr::null_mut()), _reserved: 0 }
    }
}

/// A live team, as one of its members knows it.
pub(crate) struct TeamState {
    pub(crate) members: Members,
    pub(crate) size: u32,
    /// The caller's number in the team.
    pub(crate) my: u32,
    /// Its synchronisation slot, the same on all members; `None` for an active set on one node, which has seats instead.
    pub(crate) slot: Option<u32>,
    /// The address at which member 0 synchronises; that of the slot in window 0 if `by_window`.
    first_place: usize,
    /// How many bytes lie from the place of each member to that of the next one.
    step: isize,
    /// Whether the window of a member tells where it synchronises, because the windows of the members are not evenly apart.
    by_window: bool,
    /// How the members lie on the nodes, if they are on several; on all members or on none.
    pub(crate) span: Option<Box<Span>>,
    /// The buffers that a team on several nodes has leased.
    pub(crate) buffers: Leased,
    /// The ring of its broadcasts, if it has leased one.
    pub(crate) ring: LeasedRing,
    /// The ways of its collectives that it has chosen.
    pub(crate) ways: ChosenWays,
    /// The number of its last call of each kind.
    counters: TeamCounters,
    /// Whether its members, which are on one node, meet level by level.
    pub(crate) leveled: bool,
    /// How they lie on the levels of the node, from the first call that asks: see [`Self::hierarchy`].
    hierarchy: OnceLock<Hierarchy>,
    /// Whether some of its collectives may run a schedule.
    pub(crate) scheduled: bool,
    /// Whether roots on its one node may post broadcasts, which the members take later.
    pub(crate) posts: bool,
    /// A hash of the splits that led to the team, the same on all members; 0 for a predefined team. The hashes of its children follow from
    /// it.
    name_hash: u64,
    /// `num_contexts` of its config.
    pub(crate) contexts_wanted: AtomicI32,
    /// The shareable contexts that live on it.
    pub(crate) contexts: Mutex<Vec<LiveContext>>,
    /// Slots reserved on all members for this team's children.
    pub(crate) held: Mutex<TeamLeases>,
    /// Its parts of which Cray's split has made teams, by their numbers in it: see [`super::kept_parts`].
    pub(crate) split_parts: Mutex<HashMap<Triplet, SplitPart>>,
    /// The handle that stands for it.
    handle: AtomicPtr<TeamObject>,
}

/// A part of a team of which Cray's split has made teams, alike on all its members.
#[derive(Clone)]
pub(crate) enum SplitPart {
    /// Its members have met once.
    Once,
    /// Its members have this team.
    Kept(Arc<TeamState>),
    /// Some member had as many kept parts as it can, or there was no slot.
    NotKept,
}

/// The leases of a team, and the numbers that go with them.
#[derive(Default)]
pub(crate) struct TeamLeases {
    pub(crate) leases: Leases,
    pub(crate) base: u64,
}

impl TeamState {
    /// A team whose synchronisations go on from `base`.
    pub(crate) fn new(members: Members, size: u32, my: u32, slot: u32, base: u64) -> Self {
        let span = members.span(size);
        let (first, stride) = match members {
            Members::Triplet { start, stride } if span.is_none() && !job::is_scattered() => (start, stride),
            _ => (job::first_of_node(), 0),
        };
        let first_place = TEAM_SLOTS.address(first.wrapping_sub(job::first_of_node()), slot);
        let step = (stride as isize) << control::SHIFT;
        let by_window = stride == 0;
        let scheduled = size > 1 && slot < AREAS && state::wants_schedules();
        let mut team = Self {
            slot: Some(slot),
            by_window,
            scheduled: scheduled && span.is_none(),
            posts: span.is_none(),
            span,
            ..Self::unleveled(members, size, my, first_place, step, base)
        };
        team.leveled = team.span.is_none() && cache_levels::serves(size, |member| team.window(member));
        team
    }

    /// A team whose members synchronise `step` bytes apart, from `first_place` on.
    pub(crate) fn at(members: Members, size: u32, my: u32, first_place: usize, step: isize, base: u64) -> Self {
        let mut team = Self::unleveled(members, size, my, first_place, step, base);
        team.leveled = cache_levels::serves(size, |member| team.window(member));
        team
    }

    fn unleveled(members: Members, size: u32, my: u32, first_place: usize, step: isize, base: u64) -> Self {
        Self {
            members,
            size,
            my,
            slot: None,
            first_place,
            step,
            by_window: false,
            span: None,
            buffers: Leased::of(&BUFFERS),
            ring: LeasedRing::default(),
            ways: ChosenWays::default(),
            counters: TeamCounters::new(base),
            leveled: false,
            hierarchy: OnceLock::new(),
            scheduled: false,
            posts: false,
            name_hash: 0,
            contexts_wanted: AtomicI32::new(0),
            contexts: Mutex::new(Vec::new()),
            held: Mutex::new(TeamLeases::default()),
            split_parts: Mutex::default(),
            handle: AtomicPtr::new(core::ptr::null_mut()),
        }
    }

    /// The world number of member `member`.
    #[inline(always)]
    pub(crate) fn world(&self, member: u32) -> u32 {
        self.members.world(member)
    }

    /// The numbers that members have in this team, as a triplet that can be split.
    pub(crate) fn numbers(&self) -> Triplet {
        Triplet::world(self.size)
    }

    /// The members of this team whose numbers `part` names.
    pub(crate) fn subset(&self, part: &Triplet) -> Members {
        if let Members::Triplet { .. } = self.members {
            let start = self.world(part.start as u32);
            let second = if part.size > 1 { self.world((part.start + part.stride) as u32) } else { start + 1 };
            return Members::Triplet { start, stride: second.wrapping_sub(start) as i32 };
        }
        let number = |i: u32| (part.start + i64::from(i) * part.stride) as u32;
        Members::of((0..part.size).map(|i| self.world(number(i))).collect())
    }

    /// Its slot, the same on all members; 0 for an active set on one node, as for the world.
    pub(crate) fn slot_or_zero(&self) -> u64 {
        self.slot.map_or(0, u64::from)
    }

    /// With the hash that a lease has brought.
    pub(crate) fn called(self, name_hash: u64) -> Self {
        Self { name_hash, ..self }
    }

    /// The hash of the team that the next lease is for, the same on all members. Two teams have one hash only
    /// by chance.
    pub(crate) fn next_name_hash(&self, slot: u16, base: u64) -> u64 {
        mix(&[self.name_hash, self.slot_or_zero(), self.next_split(), slot.into(), base])
    }

    /// With leases for its children.
    pub(crate) fn holding(self, held: TeamLeases) -> Self {
        Self { held: Mutex::new(held), ..self }
    }

    /// Where member `member` synchronises.
    #[inline(always)]
    pub(crate) fn place(&self, member: u32) -> &'static Slot {
        let distance =
            if self.by_window { (self.window(member) as isize) << control::SHIFT } else { member as isize * self.step };
        // SAFETY: `new` and `at` got a place in the control arena for every member; all fields are atomics or cells.
        unsafe { &*((self.first_place as isize + distance) as *const Slot) }
    }

    /// The seat of member `member` of a team without a slot.
    #[inline(always)]
    fn seat(&self, member: u32) -> &'static Seat {
        debug_assert!(self.slot.is_none(), "a team with a slot has no seats");
        // SAFETY: members without a slot meet in the seats of an active set.
        unsafe { Seat::of(self.place(member)) }
    }

    /// The eager memory of member `member` of a team on one node.
    #[inline(always)]
    pub(crate) fn eager(&self, member: u32) -> &'static EagerMemory {
        match self.slot {
            Some(slot) => SLOT_EAGER.get(self.window(member), slot),
            None => &self.seat(member).eager,
        }
    }

    /// How the members lie on the node's levels, for a team that is [`Self::leveled`].
    pub(crate) fn hierarchy(&self) -> &Hierarchy {
        self.hierarchy.get_or_init(|| {
            let windows: Vec<u32> = (0..self.size).map(|member| self.window(member)).collect();
            let lines = |(member, &window): (u32, &u32)| -> &'static TeamLines {
                match self.slot {
                    Some(slot) => &SLOT_LINES.get(window, slot).0,
                    #[cfg(not(loom))]
                    None => &self.seat(member).lines,
                    #[cfg(loom)]
                    None => unreachable!("models lay out levels by themselves"),
                }
            };
            let lines = (0..).zip(&windows).map(lines).collect();
            Hierarchy::new(self.my, &windows, lines)
        })
    }

    /// The same team, whose members meet level by level through these domains.
    #[cfg(test)]
    pub(crate) fn through(self, domains: &[Vec<u32>], lines: Box<[&'static TeamLines]>) -> Self {
        let hierarchy = OnceLock::from(Hierarchy::of(self.my, domains, lines));
        Self { leveled: true, hierarchy, ..self }
    }

    /// Whether short data of its collectives travels with one exchange, whatever the call: nothing else is to be chosen.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.span.is_none() && !self.scheduled && !self.leveled
    }

    /// The word by which a member says that it has entered the exchange of this number.
    pub(crate) fn entrance(&self, member: u32, number: u64) -> &AtomicWord {
        let parity = number as usize & 1;
        if self.leveled {
            &self.hierarchy().lines[member as usize].line(Traffic::Synchronising, parity, 0).sequence
        } else {
            &self.place(member).lines[parity].sequence
        }
    }

    /// The window of member `member` on this node.
    #[inline(always)]
    pub(crate) fn window(&self, member: u32) -> u32 {
        job::window_on_node(self.world(member))
    }

    /// A wait for all members.
    #[inline(always)]
    pub(crate) fn needed(&self) -> Needs<'_> {
        Needs::All(self)
    }

    /// The number that world number `pe` has in the team.
    pub(crate) fn member(&self, pe: u32) -> Option<u32> {
        self.members.find(self.size, pe)
    }

    /// The handle that stands for it.
    #[inline(always)]
    pub(crate) fn handle(&self) -> TeamHandle {
        TeamHandle(self.handle.load(Relaxed))
    }

    /// Start and stride in world numbers, for a team that is a triplet.
    pub(crate) fn triplet(&self) -> Option<(u32, i32)> {
        match &self.members {
            Members::Triplet { start, stride } => Some((*start, *stride)),
            Members::List(_) => None,
        }
    }
}

/// A number that depends on all these, and is not zero.
pub(crate) fn mix(words: &[u64]) -> u64 {
    let step = |sum: u64, word: &u64| (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    words.iter().fold(0x51f1, step) | 1
}

#[cfg(test)]
mod tests;
