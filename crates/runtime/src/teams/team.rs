//! Teams: the members of one, and what they share.

mod gathering;
mod handle;

use std::sync::OnceLock;

use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed};

use oxshmem_schedule::lease::Leases;
use oxshmem_schedule::step::{Traffic, Turn};
use oxshmem_schedule::team::Triplet;
use parking_lot::Mutex;

use crate::collectives::chosen_ways::ChosenWays;
use crate::collectives::free_buffers::{Leased, LeasedRing, Pool};
use crate::memory::control::lines::TeamLines;
use crate::memory::control::{self, Slot, area::AREAS};
use crate::start::job;
use crate::start::state;
use crate::sync::AtomicU64 as AtomicWord;
use crate::teams::hierarchy::{self, Hierarchy};
use crate::teams::live_contexts::LiveContext;
use crate::teams::members::Members;
use crate::teams::predefined_handles;
use crate::teams::span::Span;
use crate::wait::Needs;

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
    /// Its synchronisation slot, the same on all members; `None` for an active set.
    pub(crate) slot: Option<u32>,
    /// Where member 0's place to synchronise is, and how far apart members' places are. (A list looks its places up.)
    places: usize,
    step: isize,
    looked_up: bool,
    /// How the members lie on the nodes, if they are on several; on all members or on none.
    pub(crate) span: Option<Box<Span>>,
    /// The buffers that a team on several nodes has leased.
    pub(crate) buffers: Leased,
    /// The ring of its broadcasts, if it has leased one.
    pub(crate) ring: LeasedRing,
    /// The ways of its collectives that it has chosen.
    pub(crate) ways: ChosenWays,
    /// The number of the last exchange. Only one thread at a time is in a collective of a team.
    exchanges: AtomicU64,
    announcements: AtomicU64,
    /// Whether its members, which are on one node, meet level by level.
    pub(crate) leveled: bool,
    hierarchy: OnceLock<Hierarchy>,
    /// Whether some of its collectives may run a schedule.
    pub(crate) scheduled: bool,
    /// The number of the last call that ran a schedule, and of those that synchronised.
    calls: AtomicU64,
    generation: AtomicU32,
    /// A number that tells the team from all others of its members, at all times.
    name: u64,
    /// How many leases it has given to splits.
    splits: AtomicU64,
    /// `num_contexts` of its config.
    pub(crate) contexts_wanted: AtomicI32,
    /// The shareable contexts that live on it.
    pub(crate) contexts: Mutex<Vec<LiveContext>>,
    /// Slots reserved on all members for this team's children.
    pub(crate) held: Mutex<TeamLeases>,
    /// The handle that stands for it.
    handle: AtomicPtr<TeamObject>,
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
        let places = control::slot(first.wrapping_sub(job::first_of_node()), slot) as *const Slot as usize;
        let step = (stride as isize) << control::SHIFT;
        let looked_up = stride == 0;
        let scheduled = size > 1 && slot < AREAS && state::wants_schedules();
        let calls = AtomicU64::new(base);
        let mut team = Self {
            slot: Some(slot),
            looked_up,
            scheduled: scheduled && span.is_none(),
            span,
            calls,
            ..Self::unleveled(members, size, my, places, step, base)
        };
        team.leveled = team.span.is_none() && hierarchy::serves(size, |member| team.window(member));
        team
    }

    /// A team whose members synchronise at `places`, `step` bytes apart.
    pub(crate) fn at(members: Members, size: u32, my: u32, places: usize, step: isize, base: u64) -> Self {
        let mut team = Self::unleveled(members, size, my, places, step, base);
        team.leveled = hierarchy::serves(size, |member| team.window(member));
        team
    }

    fn unleveled(members: Members, size: u32, my: u32, places: usize, step: isize, base: u64) -> Self {
        Self {
            members,
            size,
            my,
            slot: None,
            places,
            step,
            looked_up: false,
            span: None,
            buffers: Leased::of(Pool::Buffers),
            ring: LeasedRing::default(),
            ways: ChosenWays::default(),
            exchanges: AtomicU64::new(base),
            announcements: AtomicU64::new(base),
            leveled: false,
            hierarchy: OnceLock::new(),
            scheduled: false,
            calls: AtomicU64::new(base),
            generation: AtomicU32::new(0),
            name: 0,
            splits: AtomicU64::new(0),
            contexts_wanted: AtomicI32::new(0),
            contexts: Mutex::new(Vec::new()),
            held: Mutex::new(TeamLeases::default()),
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

    /// A number that tells the team from its members' other teams; the same on all members.
    pub(crate) fn identity(&self) -> u64 {
        self.slot.map_or(0, u64::from)
    }

    /// With a name.
    pub(crate) fn called(self, name: u64) -> Self {
        Self { name, ..self }
    }

    /// The name of the team that the next lease is for, the same on all members.
    pub(crate) fn next_name(&self, slot: u16, base: u64) -> u64 {
        mix(&[self.name, self.identity(), next(&self.splits), slot.into(), base])
    }

    /// How many leases it has given to splits: the same number on all members that have made the same splits.
    pub(crate) fn leases_given(&self) -> u64 {
        self.splits.load(Relaxed)
    }

    /// With leases for its children.
    pub(crate) fn holding(self, held: TeamLeases) -> Self {
        Self { held: Mutex::new(held), ..self }
    }

    /// Where member `member` synchronises.
    #[inline(always)]
    pub(crate) fn place(&self, member: u32) -> &'static Slot {
        let distance =
            if self.looked_up { (self.window(member) as isize) << control::SHIFT } else { member as isize * self.step };
        // SAFETY: `new` and `at` got a place in the control arena for every member; all fields are atomics or cells.
        unsafe { &*((self.places as isize + distance) as *const Slot) }
    }

    /// How the members lie on the node's levels, for a team that is [`Self::leveled`].
    pub(crate) fn hierarchy(&self) -> &Hierarchy {
        self.hierarchy.get_or_init(|| {
            let windows: Vec<u32> = (0..self.size).map(|member| self.window(member)).collect();
            let lines = |(member, &window): (u32, &u32)| -> &'static TeamLines {
                match self.slot {
                    Some(slot) => control::lines(window, slot),
                    // SAFETY: members without a slot meet in the seats of an active set.
                    None => unsafe { TeamLines::behind(self.place(member)) },
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
        job::window(self.world(member))
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

    /// The number of the exchange that begins now.
    #[inline(always)]
    pub(crate) fn next_exchange(&self) -> u64 {
        next(&self.exchanges)
    }

    /// The number of the announcement that begins now.
    #[inline(always)]
    pub(crate) fn next_announcement(&self) -> u64 {
        next(&self.announcements)
    }

    /// The number before those of a synchronisation that takes `stages`. An odd number of them passes, so that the parity
    /// changes from each synchronisation to the next.
    pub(crate) fn pass_exchanges(&self, stages: u64) -> u64 {
        pass(&self.exchanges, stages | 1)
    }

    /// The number before those of a one-way call of so many stages.
    pub(crate) fn pass_announcements(&self, stages: u64) -> u64 {
        pass(&self.announcements, stages)
    }

    /// The turn of the scheduled call that begins now.
    pub(crate) fn next_turn(&self, traffic: Traffic) -> Turn {
        let last = Turn { call: self.calls.load(Relaxed), generation: self.generation.load(Relaxed) };
        let turn = last.next(traffic);
        self.calls.store(turn.call, Relaxed);
        self.generation.store(turn.generation, Relaxed);
        turn
    }

    /// The number of the last scheduled call that synchronised.
    pub(crate) fn synchronising_runs(&self) -> u32 {
        self.generation.load(Relaxed)
    }

    /// The same team after these numbers.
    #[cfg(test)]
    pub(crate) fn after(self, exchanges: u64, announcements: u64) -> Self {
        self.exchanges.store(exchanges, Relaxed);
        self.announcements.store(announcements, Relaxed);
        self
    }

    /// How many exchanges and announcements the team has begun.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.exchanges.load(Relaxed), self.announcements.load(Relaxed))
    }

    /// The number of the team's last meeting, the same on all members that are in it.
    #[inline(always)]
    pub(crate) fn meetings(&self) -> u64 {
        // Between nodes members count the same call at different times, before and behind the leader's part of it.
        let calls = if self.span.is_none() { self.calls.load(Relaxed) } else { 0 };
        let (exchanges, announcements) = self.counts();
        exchanges.wrapping_add(announcements).wrapping_add(calls)
    }

    /// How far the team is: its exchanges, and all other calls that have sent something.
    pub(crate) fn history(&self) -> (u64, u64) {
        (self.exchanges.load(Relaxed), self.announcements.load(Relaxed) + self.calls.load(Relaxed))
    }

    /// The number that no line and no word of this team has passed.
    pub(crate) fn passed(&self) -> u64 {
        let (exchanges, announcements) = self.counts();
        exchanges.max(announcements).max(self.calls.load(Relaxed))
    }
}

/// A number that depends on all these, and is not zero.
pub(crate) fn mix(words: &[u64]) -> u64 {
    let step = |sum: u64, word: &u64| (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    words.iter().fold(0x51f1, step) | 1
}

/// Counts on; not a read-modify-write, because only one thread at a time is in a collective of the team.
#[inline(always)]
fn next(counter: &AtomicU64) -> u64 {
    pass(counter, 1) + 1
}

/// Counts on by more than one; returns the number before.
#[inline(always)]
fn pass(counter: &AtomicU64, by: u64) -> u64 {
    let before = counter.load(Relaxed);
    counter.store(before + by, Relaxed);
    before
}

#[cfg(test)]
mod tests;
