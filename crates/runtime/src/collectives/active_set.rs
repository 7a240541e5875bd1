//! Active sets: the deprecated collectives name their members by a triplet, with no call that made a team of them.
//!
//! Members meet at a *place* that belongs to the pair (set, pSync array), so that overlapping sets with different arrays
//! do not meet (ACT-3). Places are kept by one PE of the node, in its control window. The first member that calls makes the place.
//! Members send no messages for it, and the user's pSync is not touched (ACT-2).
//!
//! When no place is free, the oldest goes to another pair, but only while no PE is inside: a PE marks itself as inside, then looks
//! whether the place is still of its pair. A PE that takes a place over closes it, then looks at the marks. Each PE has a mark of its
//! own, so entering touches only the PE's own cache. A member that leaves a collective after others finds the place intact, because all
//! collectives end only after all members have entered. The one exception is a posted broadcast ([`super::node_eager`]): the place stays
//! with its pair until all members have taken it.
//!
//! Sets that span nodes have no such places. At its first collective such a pair leases a slot, as a team does, and keeps it until its
//! array is [freed](freed); [`temporary_meeting`] says how its members meet first. When no slot is left for sets, they meet anew for each
//! collective.

pub(crate) mod freed;
mod key;
mod place;
mod recent;
#[cfg(not(loom))]
mod temporary_meeting;

use core::sync::atomic::Ordering::{Acquire, Relaxed};
use core::sync::atomic::{AtomicBool as Flag, AtomicU32 as Setting};
use std::collections::HashMap;

use oxshmem_base::Error;
use oxshmem_schedule::strided_team::Triplet;
use parking_lot::Mutex;

use crate::collectives::missed_broadcasts;
use crate::collectives::signature::number_of;
use crate::diagnosis::errors;
use crate::memory::control::seat::Seat;
use crate::memory::control::{ControlBlock, SET_PLACES, SETS_BYTES};
use crate::memory::direct::FAST;
use crate::start::{job, state, threads};
#[cfg(not(loom))]
use crate::teams::leasing;
use crate::teams::members::Members;
use crate::teams::team::TeamState;
use crate::wait::{self, Needs, Reason};

pub(crate) use key::Key;
pub(crate) use place::{Door, Places, SetPlace};
use recent::Recent;
pub(crate) use recent::SetName;
#[cfg(not(loom))]
use temporary_meeting::TemporaryMeeting;

/// A set that has met, as this process knows it.
pub(crate) struct KnownSet {
    name: SetName,
    /// The door of its place; `None`: the set spans nodes, and its team keeps a slot.
    pub(crate) door: Option<Door>,
    /// The members, who count their meetings from the making of the place. Only one thread at a time is in a collective of
    /// a set.
    pub(crate) team: TeamState,
    /// How many earlier places of the pair stay in memory, because another thread may look at what [`RECENT`] has shown it.
    kept: u32,
    /// Its array is freed, and its slot given back.
    is_over: Flag,
}

/// The most earlier places of a pair that stay in memory.
const MOST_KEPT: u32 = 8;

impl AsRef<SetName> for KnownSet {
    #[inline(always)]
    fn as_ref(&self) -> &SetName {
        &self.name
    }
}

impl KnownSet {
    fn new(name: SetName, door: Option<Door>, team: TeamState) -> Self {
        Self { name, door, team, kept: 0, is_over: Flag::new(false) }
    }

    /// Takes the caller in, if the place is still the same.
    #[inline(always)]
    pub(crate) fn enter(&self) -> bool {
        match &self.door {
            Some(door) => door.enter(|_| door.is_there()),
            None => !self.is_over.load(Relaxed),
        }
    }

    #[inline(always)]
    pub(crate) fn leave(&self) {
        if let Some(door) = &self.door {
            door.leave();
        }
    }

    /// Whether calls find it in [`RECENT`]. Where the PE's threads call at once, that shows it to threads which look for another set.
    /// So a pair whose place changes its owner often is found by its key alone, under the lock.
    fn is_shown(&self) -> bool {
        self.kept < MOST_KEPT || self.door.as_ref().is_some_and(|door| door.alone)
    }

    /// A member that has not taken a broadcast which the caller has posted or taken.
    fn behind(&self) -> Option<u32> {
        let taken = |member: u32| number_of(self.team.place(member).words.0.taken.load(Acquire));
        let mine = if self.door.as_ref()?.is_there() { taken(self.team.my) } else { 0 };
        (0..self.team.size).find(|&member| taken(member) < mine)
    }

    /// Whether it has the same place, made at the same time.
    pub(crate) fn is_same(&self, other: &KnownSet) -> bool {
        self.door == other.door
    }
}

/// The known sets. [`RECENT`] points to those that it has been shown, which stay in memory until the next life or are forgotten there. A set
/// whose array is freed goes, too, and no call is in it or looks for it then.
static KNOWN: Mutex<Option<HashMap<Key, Box<KnownSet>>>> = Mutex::new(None);

/// Some of the known sets.
static RECENT: Recent<KnownSet> = Recent::new();

/// The set of this name, if it has met lately.
#[inline(always)]
fn recent(name: &SetName) -> Option<&'static KnownSet> {
    // SAFETY: `RECENT` has boxes of `KNOWN`, each of which is dropped between lives, or after `RECENT` has forgotten it.
    unsafe { RECENT.find(name) }
}

/// The set of the pair, as it has last met.
fn known(key: &Key) -> Option<&'static KnownSet> {
    let map = KNOWN.lock();
    let known = core::ptr::from_ref(&**map.as_ref()?.get(key)?);
    // SAFETY: boxes in `KNOWN` are dropped between lives, by the pair's next call, of which there is one at a time, or when the pair's array
    // is freed, when there is none.
    Some(unsafe { &*known })
}

/// Remembers a set, unless it is known with this place. An earlier place of the pair stays in memory if another thread may be looking at
/// it. No other thread looks at one that was never shown: only one thread at a time is in a collective of a set.
fn remember(key: &Key, mut found: KnownSet) -> &'static KnownSet {
    if let Some(known) = known(key).filter(|known| known.is_same(&found)) {
        return known;
    }
    let mut map = KNOWN.lock();
    let map = map.get_or_insert_default();
    if let Some(before) = map.remove(key) {
        found.kept = before.kept;
        if before.door.as_ref().is_some_and(|door| door.alone) {
            RECENT.forget(&before);
        } else if before.is_shown() {
            found.kept += 1;
            let _ = Box::leak(before);
        }
    }
    let found = core::ptr::from_ref(&**map.entry(*key).insert_entry(Box::new(found)).get());
    // SAFETY: boxes in `KNOWN` are dropped between lives, by the pair's next call, or when its array is freed, and the map has this one.
    unsafe { &*found }
}

/// The node's PEs, and the caller's window.
static PES: Setting = Setting::new(0);
static ME: Setting = Setting::new(0);

/// How many places a PE keeps on a node of so many PEs.
fn count_of(pes: usize) -> usize {
    (SETS_BYTES / (size_of::<SetPlace>() + pes * size_of::<Seat>())).min(place::MOST)
}

/// Begins a life without places.
pub(crate) fn begin(pes: u32, me: u32) {
    PES.store(pes, Relaxed);
    ME.store(me, Relaxed);
    end();
    #[cfg(not(loom))]
    temporary_meeting::begin();
    *KNOWN.lock() = None;
}

/// Ends a life, or leaves it to the parent of this process: no set has met. Only stores to atomics.
pub(crate) fn end() {
    RECENT.clear();
}

/// Ends the job if a member of a set has missed a posted broadcast, or two have been the roots of one, which nobody has noticed if the set
/// has not met again. All PEs have made their last collective of a set.
pub(crate) fn demand_all_taken(call: &'static str) {
    let error = |known: &KnownSet| {
        let (team, set) = (&known.team, in_words(known.name));
        let Some(door) = &known.door else {
            return missed_broadcasts::between_nodes(call, team, &set);
        };
        if let Some(other) = known.behind() {
            let (other, me) = (team.world(other), team.world(team.my));
            let error = Error::new(format!("{call}: PE {other} has not made a broadcast that PE {me} has made"))
                .because(format!("the broadcast is one of {set}"))
                .fix("let all members of the set make the call with the same pSync array");
            return Some(error);
        }
        let has_posted = team.posted() != 0 && door.is_there();
        let roots = if has_posted { missed_broadcasts::two_roots(team) } else { None }?;
        Some(missed_broadcasts::two_roots_of(call, roots.map(|root| team.world(root)), &set))
    };
    let found = KNOWN.lock().iter().flat_map(HashMap::values).find_map(|known| error(known));
    if let Some(error) = found {
        errors::fail(&error);
    }
}

fn in_words(SetName { start, log_stride, size, .. }: SetName) -> String {
    format!("the active set with PE_start {start}, logPE_stride {log_stride} and PE_size {size}")
}

/// Where the members of a set are while they run a collective.
enum MeetingPlace {
    /// In the place of the set, or in its slot.
    Known(&'static KnownSet),
    /// In a slot that is leased for one meeting.
    #[cfg(not(loom))]
    Temporary(Box<TemporaryMeeting>),
}

impl MeetingPlace {
    #[inline(always)]
    fn team(&self) -> &TeamState {
        match self {
            Self::Known(known) => &known.team,
            #[cfg(not(loom))]
            Self::Temporary(meeting) => &meeting.team,
        }
    }

    #[inline(always)]
    fn end(self) {
        match self {
            Self::Known(known) => known.leave(),
            #[cfg(not(loom))]
            Self::Temporary(meeting) => meeting.leave(),
        }
    }
}

/// Runs `collective` with the members of the active set.
#[inline(always)]
pub(crate) fn with(call: &'static str, name: SetName, collective: impl FnOnce(&TeamState)) {
    let stay = match recent(&name).filter(|known| known.enter()) {
        Some(known) => MeetingPlace::Known(known),
        None => find(call, name),
    };
    collective(stay.team());
    stay.end();
}

/// Runs `collective` with PEs that are about to be a team: those whose numbers in `parent` are `part`.
pub(crate) fn with_part<R>(
    call: &'static str,
    parent: &TeamState,
    part: &Triplet,
    members: Members,
    my: u32,
    collective: impl FnOnce(&TeamState) -> R,
) -> R {
    let key = Key::of_part(parent.slot_or_zero(), part, &members);
    let stay = meet(call, None, &key, members, my);
    let result = collective(stay.team());
    stay.end();
    result
}

/// Where a set meets if it has not met lately.
#[cold]
#[inline(never)]
fn find(call: &'static str, name: SetName) -> MeetingPlace {
    let (key, my) = identify(call, &name);
    let members = Members::Triplet { start: key.start, stride: key.stride as i32 };
    let stay = meet(call, Some(name), &key, members, my);
    if let MeetingPlace::Known(known) = &stay
        && known.is_shown()
    {
        RECENT.keep(known);
    }
    stay
}

/// Takes the caller to where the members meet: those of a set, which has a name, or of a part of a team.
fn meet(call: &'static str, name: Option<SetName>, key: &Key, members: Members, my: u32) -> MeetingPlace {
    // Where the pair has met before, nobody looks at each member for its node.
    if let Some(known) = known(key).filter(|known| known.enter()) {
        return MeetingPlace::Known(known);
    }
    #[cfg(not(loom))]
    if members.span(key.size).is_some() {
        let meeting = TemporaryMeeting::enter(call, key, members.clone(), my);
        let lease = name.and_then(|name| Some((name, leasing::meet_as_set(call, &meeting.team, key.array)?)));
        let Some((name, lease)) = lease else { return MeetingPlace::Temporary(meeting) };
        meeting.leave();
        let team = TeamState::new(members, key.size, my, lease.slot.into(), lease.base);
        team.ring.follows_barriers.store(threads::one_calls_at_a_time(), Relaxed);
        return MeetingPlace::Known(remember(key, KnownSet::new(name, None, team)));
    }
    let places = Places::of(key, &members);
    let reason = Reason { call, address: places.base, needs: Needs::Anyone };
    let index = wait::until(reason, None, || places.search(key));
    let found = places.known(index, name.unwrap_or_default(), members, key.size, my);
    MeetingPlace::Known(remember(key, found))
}

/// Checks the arguments; says which set it is and the caller's number in it.
fn identify(call: &'static str, name: &SetName) -> (Key, u32) {
    let SetName { start, log_stride, size, array } = *name;
    let Some((me, pes)) = job::identity().filter(|_| state::is_open()) else { errors::not_initialised(call) };
    let pes = i64::from(pes);
    if size < 1 || i64::from(size) > pes {
        errors::bad_argument(call, "PE_size", size.into(), &format!("1 to {pes}"));
    }
    if !(0..31).contains(&log_stride) {
        errors::bad_argument(call, "logPE_stride", log_stride.into(), "0 to 30");
    }
    if !(0..pes).contains(&start.into()) {
        errors::bad_argument(call, "PE_start", start.into(), &format!("0 to {}", pes - 1));
    }
    let last = i64::from(start) + ((i64::from(size) - 1) << log_stride);
    if last >= pes {
        let (step, noun) = (1_i64 << log_stride, if log_stride == 0 { "PE" } else { "PEs" });
        let values = format!("PE_start {start}, logPE_stride {log_stride} (steps of {step} {noun}) and PE_size {size}");
        errors::do_not_fit(call, "logPE_stride", &values, last, pes);
    }
    let distance = i64::from(me) - i64::from(start);
    let my = distance >> log_stride;
    if distance < 0 || my << log_stride != distance || my >= i64::from(size) {
        let member = |i: i32| (i64::from(start) + (i64::from(i) << log_stride)).to_string();
        let members: Vec<String> = (0..size.min(3)).map(member).collect();
        let members = match &members[..] {
            [one] => format!("PE {one} alone"),
            [one, other] => format!("the PEs {one} and {other}"),
            [one, other, last] if size == 3 => format!("the PEs {one}, {other} and {last}"),
            first => format!("the PEs {} and so on", first.join(", ")),
        };
        errors::fail(
            &Error::new(format!("{call}: PE {me} is not in the active set, which has {members}"))
                .because(format!("PE_start is {start}, logPE_stride {log_stride} and PE_size {size}"))
                .fix("let the members alone make the call, or correct the set"),
        );
    }
    let array = FAST.name(array, 4).unwrap_or_else(|| errors::not_symmetric(call, "pSync", array, 4));
    (Key { start: start as u32, stride: 1 << log_stride, size: size as u32, array }, my as u32)
}

impl Places {
    /// Those of the PE that keeps the set's place.
    #[inline]
    fn of(key: &Key, members: &Members) -> Self {
        let (pes, me) = (PES.load(Relaxed), ME.load(Relaxed));
        let count = count_of(pes as usize) as u32;
        let window = key.keeper(pes, count, |member| job::window_on_node(members.world(member)));
        let each = size_of::<SetPlace>() + pes as usize * size_of::<Seat>();
        let keeper = ControlBlock::of(window);
        let (lock, clock, base) = (&keeper.sets_lock, &keeper.sets_clock, SET_PLACES.address(window, 0));
        Self { lock, clock, base, each, pes, count, me, alone: threads::one_calls_at_a_time() }
    }

    /// A place in which the caller, member `my`, is.
    pub(crate) fn known(&self, index: u32, name: SetName, members: Members, size: u32, my: u32) -> KnownSet {
        let slots = core::ptr::from_ref(&self.seat(index, 0).slot) as usize;
        let mut team = TeamState::at(members, size, my, slots, size_of::<Seat>() as isize, 0);
        // A posted broadcast keeps its place until all members have taken it, and a member may first come to sets that are yet to find a
        // place. So half of the places have no posted broadcasts.
        team.posts = index < self.count.div_ceil(2);
        KnownSet::new(name, Some(self.door(index)), team)
    }
}

#[cfg(test)]
mod tests;
