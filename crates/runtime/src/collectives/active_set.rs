//! Active sets: the deprecated collectives name their members by a triplet, with no call that made a team of them.
//!
//! Members meet at a *place* that belongs to the pair (set, pSync array), so that overlapping sets with different arrays
//! do not meet (ACT-3). Places are kept by the set's first PE, in its control window. The first member that calls makes
//! the place; nothing is sent, nothing is agreed on, and the user's pSync is not touched (ACT-2).
//!
//! A place is given to another pair when there are no more, the oldest first, but only while nobody is inside: a PE marks
//! itself as inside, then looks whether the place is still of its pair; who takes a place over closes it, then looks at
//! the marks. Each PE has a mark of its own, so entering is a matter between the PE and its own cache. Everybody who is
//! not first to leave a collective finds the place intact, because all collectives end only after all members have entered.
//!
//! Sets that span nodes have no such places: see [`across_nodes`], and [`rendezvous`] for how they meet first.

#[cfg(not(loom))]
mod across_nodes;
mod key;
#[cfg(not(loom))]
mod rendezvous;

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32 as Setting};
use std::collections::HashMap;

use oxshmem_schedule::team::Triplet;
use parking_lot::Mutex;

use crate::diagnosis::errors;
use crate::memory::control::{self, ControlBlock, SETS_BYTES, Slot};
use crate::start::job;
use crate::start::state;
use crate::sync::{Apart, AtomicU32, AtomicU64, fence, fence_after_update};
use crate::teams::members::Members;
use crate::teams::team::TeamState;
use crate::transfers::direct::FAST;
use crate::wait::{self, Needs, Reason};

pub(crate) use key::Key;
#[cfg(not(loom))]
use rendezvous::Rendezvous;

/// The head of a place. A seat for each PE of the node follows.
#[cfg_attr(not(loom), repr(C, align(4096)))]
#[cfg_attr(loom, repr(C, align(128)))]
pub(crate) struct Place {
    /// One while the place changes hands.
    closed: AtomicU32,
    /// When it was made, by the clock of the PE that keeps it.
    made: AtomicU32,
    /// The pair; `size` zero: nobody's. Written under the keeper's lock while closed, read by who has marked itself.
    triplet: AtomicU64,
    size: AtomicU64,
    array: AtomicU64,
}

/// What a place has for seat number i: the slot of member i, and the mark of the PE in window i.
///
/// Seats are a page apart, because processors prefetch lines that follow each other, and a line that is fetched too
/// early is taken away from the one who is about to write it.
#[cfg_attr(not(loom), repr(C, align(4096)))]
#[cfg_attr(loom, repr(C, align(128)))]
pub(crate) struct Seat {
    pub(crate) slot: Slot,
    /// How many threads of the PE are inside.
    pub(crate) mark: Apart<AtomicU32>,
}

impl Place {
    /// Nobody's.
    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        let [triplet, size, array] = [0; 3].map(AtomicU64::new);
        let [closed, made] = [0; 2].map(AtomicU32::new);
        Self { closed, made, triplet, size, array }
    }

    pub(crate) fn is_of(&self, key: &Key) -> bool {
        self.size.load(Relaxed) == u64::from(key.size)
            && self.triplet.load(Relaxed) == key.triplet()
            && self.array.load(Relaxed) == key.array
    }
}

/// How a call names a set. A part of a team has no such name.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Name {
    start: i32,
    log_stride: i32,
    size: i32,
    array: usize,
}

/// A place that this process has found.
pub(crate) struct Known {
    name: Name,
    pub(crate) door: Door,
    /// Which place it is, and when it was made: afterwards it is another one.
    index: u32,
    made: u32,
    /// The members, who count their meetings from the making of the place. Only one thread at a time is in a collective of
    /// a set.
    pub(crate) team: TeamState,
}

impl Known {
    /// Takes the caller in, if it is the same place still.
    #[inline(always)]
    pub(crate) fn enter(&self) -> bool {
        self.door.enter(|_| self.is_there())
    }

    #[inline(always)]
    pub(crate) fn is_there(&self) -> bool {
        self.door.place.made.load(Relaxed) == self.made
    }

    /// Takes the caller out.
    #[inline(always)]
    pub(crate) fn leave(&self) {
        self.door.leave();
    }

    /// Whether it is the same place, made at the same time.
    pub(crate) fn is_same(&self, other: &Known) -> bool {
        (self.index, self.made) == (other.index, other.made)
    }
}

/// The known places. They stay in memory until the next life, so that [`RECENT`] may point to them.
static KNOWN: Mutex<Option<HashMap<Key, Box<Known>>>> = Mutex::new(None);

/// Some of the known places, found without a lock by the name of the set.
static RECENT: [AtomicPtr<Known>; 64] = [const { AtomicPtr::new(core::ptr::null_mut()) }; 64];

/// Where the place of this set would be. Arrays that follow each other in memory have entries of their own.
#[inline(always)]
fn entry(name: &Name) -> &'static AtomicPtr<Known> {
    let mixed = name.array >> 6 ^ name.array >> 12 ^ name.start as usize ^ (name.size as usize) << 3;
    &RECENT[mixed % RECENT.len()]
}

/// The place where this set has last met.
#[inline(always)]
fn recent(name: &Name) -> Option<&'static Known> {
    // SAFETY: `RECENT` points to boxes in `KNOWN`, which are dropped between lives only.
    let known = unsafe { entry(name).load(Acquire).as_ref() };
    known.filter(|known| known.name == *name)
}

/// The place that this process has last found for the pair.
fn known(key: &Key) -> Option<&'static Known> {
    let map = KNOWN.lock();
    let known = core::ptr::from_ref(&**map.as_ref()?.get(key)?);
    // SAFETY: boxes in `KNOWN` are dropped between lives only.
    Some(unsafe { &*known })
}

/// Remembers a place, unless it is known. What was known of the pair before stays in memory if another thread may be looking
/// at it.
fn remember(key: &Key, found: Known) -> &'static Known {
    if let Some(known) = known(key).filter(|known| known.is_same(&found)) {
        return known;
    }
    let found = Box::new(found);
    let it = core::ptr::from_ref(&*found);
    let mut map = KNOWN.lock();
    if let Some(before) = map.get_or_insert_default().insert(*key, found) {
        match before.door.alone {
            true => {
                let own = core::ptr::from_ref(&*before).cast_mut();
                // Another set may have the entry.
                let _ = entry(&before.name).compare_exchange(own, core::ptr::null_mut(), Relaxed, Relaxed);
            }
            false => drop(Box::leak(before)),
        }
    }
    // SAFETY: as in `known`.
    unsafe { &*it }
}

/// The node's PEs, the caller's window, and how many places a PE keeps.
static PES: Setting = Setting::new(0);
static ME: Setting = Setting::new(0);
static COUNT: Setting = Setting::new(0);
static ALONE: AtomicBool = AtomicBool::new(false);

/// Begins a life without places; `alone`: the PE's calls come one at a time.
pub(crate) fn begin(pes: u32, me: u32, alone: bool) {
    PES.store(pes, Relaxed);
    ME.store(me, Relaxed);
    ALONE.store(alone, Relaxed);
    let each = size_of::<Place>() + pes as usize * size_of::<Seat>();
    COUNT.store((SETS_BYTES / each).min(256) as u32, Relaxed);
    end();
    #[cfg(not(loom))]
    {
        across_nodes::begin();
        rendezvous::begin();
    }
    *KNOWN.lock() = None;
}

/// Ends a life: no set has met.
pub(crate) fn end() {
    RECENT.iter().for_each(|known| known.store(core::ptr::null_mut(), Relaxed));
}

/// Where the members of a set are while they run a collective.
enum Stay {
    /// In a place of the node.
    Place(&'static Known),
    /// In the slot of a set that spans nodes.
    Slot(&'static TeamState),
    /// In a slot that is lent.
    #[cfg(not(loom))]
    Rendezvous(Box<Rendezvous>),
}

impl Stay {
    #[inline(always)]
    fn team(&self) -> &TeamState {
        match self {
            Self::Place(known) => &known.team,
            Self::Slot(team) => team,
            #[cfg(not(loom))]
            Self::Rendezvous(meeting) => &meeting.team,
        }
    }

    #[inline(always)]
    fn end(self) {
        match self {
            Self::Place(known) => known.leave(),
            Self::Slot(_) => {}
            #[cfg(not(loom))]
            Self::Rendezvous(meeting) => meeting.leave(),
        }
    }
}

/// Runs `collective` with the members of the active set.
#[inline(always)]
pub(crate) fn with(
    call: &'static str,
    start: i32,
    log_stride: i32,
    size: i32,
    array: usize,
    collective: impl FnOnce(&TeamState),
) {
    let name = Name { start, log_stride, size, array };
    let stay = match recent(&name).filter(|known| known.enter()) {
        Some(known) => Stay::Place(known),
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
    let key = Key::of_part(parent.identity(), part, &members);
    #[cfg(not(loom))]
    let stay = match members.span(key.size) {
        Some(_) => Stay::Rendezvous(Rendezvous::enter(call, &key, members, my)),
        None => Stay::Place(meet(call, Name::default(), &key, members, my)),
    };
    #[cfg(loom)]
    let stay = Stay::Place(meet(call, Name::default(), &key, members, my));
    let result = collective(stay.team());
    stay.end();
    result
}

/// Where a set meets that has not met lately.
#[cold]
#[inline(never)]
fn find(call: &'static str, name: Name) -> Stay {
    let (key, my) = identify(call, &name);
    let members = Members::Triplet { start: key.start, stride: key.stride as i32 };
    #[cfg(not(loom))]
    if members.span(key.size).is_some() {
        return match across_nodes::team(call, &key, members, my) {
            Ok(team) => Stay::Slot(team),
            Err(meeting) => Stay::Rendezvous(meeting),
        };
    }
    let known = meet(call, name, &key, members, my);
    entry(&name).store(core::ptr::from_ref(known).cast_mut(), Release);
    Stay::Place(known)
}

/// Takes the caller into the place of the node where the members meet.
fn meet(call: &'static str, name: Name, key: &Key, members: Members, my: u32) -> &'static Known {
    known(key).filter(|known| known.enter()).unwrap_or_else(|| {
        let places = Places::of(key);
        let reason = Reason { call, address: places.base, needs: Needs::Anyone };
        let index = wait::until(reason, None, || places.search(key));
        remember(key, places.known(index, name, members, key.size, my))
    })
}

/// Checks the arguments; says which set it is and the caller's number in it.
fn identify(call: &'static str, name: &Name) -> (Key, u32) {
    let Name { start, log_stride, size, array } = *name;
    let Some((me, pes)) = job::identity().filter(|_| state::is_open()) else { errors::not_initialised(call) };
    let pes = i64::from(pes);
    if size < 1 || i64::from(size) > pes {
        errors::bad_argument(call, "PE_size", size.into(), &format!("1 to {pes}"));
    }
    if !(0..31).contains(&log_stride) {
        errors::bad_argument(call, "logPE_stride", log_stride.into(), "0 to 30");
    }
    let last = i64::from(start) + ((i64::from(size) - 1) << log_stride);
    if start < 0 || last >= pes {
        let most = pes - 1 - ((i64::from(size) - 1) << log_stride);
        errors::bad_argument(call, "PE_start", start.into(), &format!("0 to {most} with this stride and size"));
    }
    let distance = i64::from(me) - i64::from(start);
    let my = distance >> log_stride;
    if distance < 0 || my << log_stride != distance || my >= i64::from(size) {
        errors::bad_argument(
            call,
            "PE_start",
            start.into(),
            &format!("those of sets with the caller, PE {me}, in them"),
        );
    }
    let array = FAST.name(array, 4).unwrap_or_else(|| errors::not_symmetric(call, array, 8));
    (Key { start: start as u32, stride: 1 << log_stride, size: size as u32, array }, my as u32)
}

/// How a PE goes into a place and out of it.
pub(crate) struct Door {
    pub(crate) place: &'static Place,
    /// The PE's own.
    pub(crate) mark: &'static AtomicU32,
    /// Whether the calls of the PE's threads come one at a time.
    alone: bool,
}

impl Door {
    /// Takes the caller in if the place is the right one.
    #[inline(always)]
    fn enter(&self, is_right: impl FnOnce(&Place) -> bool) -> bool {
        self.mark.fetch_add(1, SeqCst);
        // Who closes the place stores, fences and looks at the marks; we mark, fence and look whether it is closed. One of
        // the two sees the other. Acquire: who closed it before is seen with what he wrote.
        fence_after_update();
        if self.place.closed.load(Acquire) == 0 && is_right(self.place) {
            return true;
        }
        self.leave();
        false
    }

    /// Takes the caller out.
    #[inline(always)]
    fn leave(&self) {
        match self.alone {
            // Nobody else writes this mark. A read-modify-write would wait until other PEs have given up the lines that
            // were written last.
            true => self.mark.store(self.mark.load(Relaxed) - 1, Release),
            false => drop(self.mark.fetch_sub(1, Release)),
        }
    }
}

/// The places that one PE keeps, as one PE of the node sees them.
pub(crate) struct Places {
    /// One while a PE looks for a place.
    pub(crate) lock: &'static AtomicU32,
    /// Counts the places made, so that the oldest can be found.
    pub(crate) clock: &'static AtomicU32,
    /// Where the first place is; how many bytes a place has; for how many PEs it has marks and slots; and how many there
    /// are.
    pub(crate) base: usize,
    pub(crate) each: usize,
    pub(crate) pes: u32,
    pub(crate) count: u32,
    /// The caller's window.
    pub(crate) me: u32,
    /// Whether the calls of the caller's threads come one at a time.
    pub(crate) alone: bool,
}

impl Places {
    /// Those of the set's first PE.
    #[inline]
    fn of(key: &Key) -> Self {
        let window = key.start - job::first_of_node();
        let (pes, me, count) = (PES.load(Relaxed), ME.load(Relaxed), COUNT.load(Relaxed));
        let each = size_of::<Place>() + pes as usize * size_of::<Seat>();
        let keeper = ControlBlock::of(window);
        let (lock, clock, base) = (&keeper.sets_lock, &keeper.sets_clock, control::sets(window));
        Self { lock, clock, base, each, pes, count, me, alone: ALONE.load(Relaxed) }
    }

    pub(crate) fn place(&self, index: u32) -> &'static Place {
        // SAFETY: `index` is below `count`, so the place is inside the keeper's mapped window; all fields are atomics.
        unsafe { &*((self.base + index as usize * self.each) as *const Place) }
    }

    fn seat(&self, index: u32, number: u32) -> &'static Seat {
        let first = core::ptr::from_ref(self.place(index)).wrapping_add(1).cast::<Seat>();
        // SAFETY: a place is followed by a seat for each of the node's PEs.
        unsafe { &*first.add(number as usize) }
    }

    /// The mark of the PE in window `window`.
    pub(crate) fn mark(&self, index: u32, window: u32) -> &'static AtomicU32 {
        &self.seat(index, window).mark.0
    }

    /// A place in which the caller, member `my`, is.
    pub(crate) fn known(&self, index: u32, name: Name, members: Members, size: u32, my: u32) -> Known {
        let slots = core::ptr::from_ref(&self.seat(index, 0).slot) as usize;
        let team = TeamState::at(members, size, my, slots, size_of::<Seat>() as isize, 0);
        Known { name, door: self.door(index), index, made: self.place(index).made.load(Relaxed), team }
    }

    fn door(&self, index: u32) -> Door {
        Door { place: self.place(index), mark: self.mark(index, self.me), alone: self.alone }
    }

    /// Looks for the place of `key`, or makes it, under the keeper's lock. `None`: the lock or all places are taken.
    pub(crate) fn search(&self, key: &Key) -> Option<u32> {
        self.lock.compare_exchange(0, 1, Acquire, Relaxed).ok()?;
        let mut found = (0..self.count)
            .find(|&index| self.place(index).is_of(key) && self.door(index).enter(|place| place.is_of(key)));
        if found.is_none() {
            found = self.make(key);
        }
        self.lock.store(0, Release);
        found
    }

    /// Closes a place in which nobody is. The caller has the lock.
    fn close(&self, index: u32) -> bool {
        let place = self.place(index);
        place.closed.store(1, SeqCst);
        fence(SeqCst);
        // Acquire: what was done inside is over before the slots are cleared.
        let empty = (0..self.pes).all(|window| self.mark(index, window).load(Acquire) == 0);
        if !empty {
            place.closed.store(0, Release);
        }
        empty
    }

    fn make(&self, key: &Key) -> Option<u32> {
        let age = |index: &u32| {
            let place = self.place(*index);
            (place.size.load(Relaxed) > 0, place.made.load(Relaxed))
        };
        let mut candidates: Vec<u32> = (0..self.count).collect();
        candidates.sort_by_key(age);
        let index = candidates.into_iter().find(|&index| self.close(index))?;
        let place = self.place(index);
        (0..self.pes).for_each(|member| self.seat(index, member).slot.clear());
        place.triplet.store(key.triplet(), Relaxed);
        place.size.store(key.size.into(), Relaxed);
        place.array.store(key.array, Relaxed);
        place.made.store(self.clock.fetch_add(1, Relaxed), Relaxed);
        self.mark(index, self.me).fetch_add(1, Relaxed);
        place.closed.store(0, Release);
        Some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_team_meet_apart_from_each_other_and_from_those_of_other_teams() {
        let mut keys = HashMap::new();
        for parent in [0, 1, 4095] {
            for (start, stride, size) in [(0, 1, 3), (2, 1, 3), (0, 2, 3), (0, 1, 2), (40000, 1, 3), (65536, 1, 3)] {
                let members = Members::Triplet { start: 0, stride: stride as i32 };
                let key = Key::of_part(parent, &Triplet { start, stride, size }, &members);
                let other = keys.insert(key, (parent, start, stride, size));
                assert_eq!(other, None, "meets the part {:?}", (parent, start, stride, size));
            }
        }
    }

    #[test]
    fn a_parent_whose_number_had_another_owner_has_parts_of_its_own() {
        let part = Triplet { start: 0, stride: 1, size: 3 };
        let keys: Vec<Key> = [
            Members::Triplet { start: 0, stride: 1 },
            Members::Triplet { start: 0, stride: 2 },
            Members::Triplet { start: 1, stride: 1 },
            Members::List(Box::new([0, 1, 3])),
            Members::List(Box::new([0, 3, 4])),
        ]
        .iter()
        .map(|members| Key::of_part(7, &part, members))
        .collect();
        for (i, key) in keys.iter().enumerate() {
            assert!(!keys[..i].contains(key), "{i}");
        }
    }
}
