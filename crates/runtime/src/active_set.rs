//! Active sets: the deprecated collectives name their members by a triplet, with no call that made a team of them.
//!
//! Members meet at a *place* that belongs to the pair (set, pSync array), so that overlapping sets with different arrays
//! do not meet (ACT-3). Places are kept by the set's first PE, in its control window. The first member that calls makes
//! the place; nothing is sent, nothing is agreed on, and the user's pSync is not touched (ACT-2).
//!
//! A place is given to another pair when there are no more, the longest unused first, but only while nobody is
//! inside: a member counts itself in, then looks whether the place is still of its pair. Everybody who is not first to
//! leave a collective finds it intact, because all collectives end only after all members have entered.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use oxshmem_schedule::team::Triplet;

use crate::control::{self, ControlBlock, SETS_BYTES, Slot};
use crate::diagnose;
use crate::fast::FAST;
use crate::life;
use crate::primitive::{AtomicU32, AtomicU64};
use crate::team::{Members, TeamState};
use crate::wait::{self, Needs, Reason};

/// The members, and what tells apart their meetings.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) start: u32,
    pub(crate) stride: u32,
    pub(crate) size: u32,
    /// Where the pSync array is in symmetric memory, the same on all members; or the part of a team.
    pub(crate) array: u64,
}

/// The head of a place. The members' slots follow.
#[repr(C, align(128))]
pub(crate) struct Place {
    /// Members inside a collective; [`CLOSED`] and more while the place changes hands.
    pub(crate) inside: AtomicU32,
    /// When it was last entered, by the clock of the PE that keeps it.
    used: AtomicU32,
    /// The pair; `size` zero: nobody's. Written under the keeper's lock while closed, read while counted in.
    triplet: AtomicU64,
    size: AtomicU64,
    array: AtomicU64,
}

const CLOSED: u32 = 1 << 30;

impl Place {
    /// Nobody's.
    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        let [triplet, size, array] = [0; 3].map(AtomicU64::new);
        Self { inside: AtomicU32::new(0), used: AtomicU32::new(0), triplet, size, array }
    }

    pub(crate) fn is_of(&self, key: &Key) -> bool {
        self.size.load(Relaxed) == u64::from(key.size)
            && self.triplet.load(Relaxed) == key.triplet()
            && self.array.load(Relaxed) == key.array
    }
}

impl Key {
    /// Of the part `part` of the team `parent`, with `first` as its lowest PE.
    fn of_part(parent: u64, part: &Triplet, first: u32) -> Self {
        /// Marks what is not the offset of an array.
        const MEETING: u64 = 1 << 62;
        let within = (part.start as u64) << 16 | parent;
        Self { start: first, stride: part.stride as u32, size: part.size, array: MEETING | within }
    }

    fn triplet(&self) -> u64 {
        u64::from(self.start) << 32 | u64::from(self.stride)
    }
}

/// Places that this process has found before.
static KNOWN: Mutex<Option<HashMap<Key, u32>>> = Mutex::new(None);

/// Forgets them, with the memory they are in.
pub(crate) fn forget() {
    *KNOWN.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// Runs `collective` with the members of the active set.
pub(crate) fn with(
    call: &'static str,
    start: i32,
    log_stride: i32,
    size: i32,
    array: usize,
    collective: impl FnOnce(&TeamState),
) {
    let (key, my) = identify(call, start, log_stride, size, array);
    meet(call, &key, Members::Triplet { start: key.start, stride: key.stride as i32 }, my, collective);
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
    meet(call, &Key::of_part(parent.identity(), part, members.world(0)), members, my, collective)
}

fn meet<R>(call: &'static str, key: &Key, members: Members, my: u32, collective: impl FnOnce(&TeamState) -> R) -> R {
    let places = Places::of(key);
    let index = places.enter(call, key);
    places.attend(index, members, key.size, my, collective)
}

/// Checks the arguments; says which set it is and the caller's number in it.
fn identify(call: &'static str, start: i32, log_stride: i32, size: i32, array: usize) -> (Key, u32) {
    let Some((me, pes)) = life::identity().filter(|_| life::is_open()) else { diagnose::not_initialised(call) };
    let pes = i64::from(pes);
    if size < 1 || i64::from(size) > pes {
        diagnose::bad_argument(call, "PE_size", size.into(), &format!("1 to {pes}"));
    }
    if !(0..31).contains(&log_stride) {
        diagnose::bad_argument(call, "logPE_stride", log_stride.into(), "0 to 30");
    }
    let last = i64::from(start) + ((i64::from(size) - 1) << log_stride);
    if start < 0 || last >= pes {
        let most = pes - 1 - ((i64::from(size) - 1) << log_stride);
        diagnose::bad_argument(call, "PE_start", start.into(), &format!("0 to {most} with this stride and size"));
    }
    let distance = i64::from(me) - i64::from(start);
    let my = distance >> log_stride;
    if distance < 0 || my << log_stride != distance || my >= i64::from(size) {
        diagnose::bad_argument(
            call,
            "PE_start",
            start.into(),
            &format!("those of sets with the caller, PE {me}, in them"),
        );
    }
    let array = if FAST.heap.holds(array, 4) {
        (array - FAST.heap.own().0) as u64
    } else if FAST.statics.holds(array, 4) {
        (array - FAST.statics.own().0) as u64 | 1 << 63
    } else {
        diagnose::not_symmetric(call, array, 8)
    };
    (Key { start: start as u32, stride: 1 << log_stride, size: size as u32, array }, my as u32)
}

/// The places that one PE keeps.
pub(crate) struct Places {
    /// One while a PE looks for a place.
    pub(crate) lock: &'static AtomicU32,
    /// Counts the uses, so that the longest unused place can be found.
    pub(crate) clock: &'static AtomicU32,
    /// Where the first place is; and how many bytes, and how many members' slots, a place has; and how many there are.
    pub(crate) base: usize,
    pub(crate) each: usize,
    pub(crate) slots: u32,
    pub(crate) count: u32,
}

impl Places {
    /// Those of the set's first PE.
    fn of(key: &Key) -> Self {
        let window = key.start - life::first_of_node();
        let slots = life::pes_on_node();
        let each = size_of::<Place>() + slots as usize * size_of::<Slot>();
        let count = (SETS_BYTES / each).min(256) as u32;
        let keeper = ControlBlock::of(window);
        Self { lock: &keeper.sets_lock, clock: &keeper.sets_clock, base: control::sets(window), each, slots, count }
    }

    pub(crate) fn place(&self, index: u32) -> &'static Place {
        // SAFETY: `index` is below `count`, so the place is inside the keeper's mapped window; all fields are atomics.
        unsafe { &*((self.base + index as usize * self.each) as *const Place) }
    }

    /// Member 0's slot of a place; the others' follow.
    fn slots(&self, index: u32) -> *const Slot {
        core::ptr::from_ref(self.place(index)).wrapping_add(1).cast()
    }

    /// Runs `collective` at a place where the caller, member `my`, is counted in, and counts it out.
    pub(crate) fn attend<R>(
        &self,
        index: u32,
        members: Members,
        size: u32,
        my: u32,
        collective: impl FnOnce(&TeamState) -> R,
    ) -> R {
        let team = TeamState::at(members, size, my, self.slots(index) as usize, size_of::<Slot>() as isize, 0);
        let counts = &team.place(my).words.0.counts;
        let team = team.after(counts[0].load(Relaxed), counts[1].load(Relaxed));
        let result = collective(&team);
        let (exchanges, announcements) = team.counts();
        counts[0].store(exchanges, Relaxed);
        counts[1].store(announcements, Relaxed);
        self.place(index).inside.fetch_sub(1, Release);
        result
    }

    /// Counts the caller in at the place of `key`, which is made if it does not exist.
    fn enter(&self, call: &'static str, key: &Key) -> u32 {
        let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(|map| map.get(key).copied());
        if let Some(index) = known.filter(|&index| self.enter_known(index, key)) {
            return index;
        }
        let reason = Reason { call, address: self.base, needs: Needs::Anyone };
        let index = wait::until(reason, None, || self.search(key));
        KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().insert(*key, index);
        index
    }

    /// Counts the caller in if the place is of `key`.
    pub(crate) fn enter_known(&self, index: u32, key: &Key) -> bool {
        let place = self.place(index);
        // SeqCst and Acquire: whoever closed the place before is seen with what he wrote, whoever closes it later sees us.
        let open = place.inside.fetch_add(1, SeqCst) < CLOSED;
        if open && place.is_of(key) {
            place.used.store(self.clock.fetch_add(1, Relaxed), Relaxed);
            return true;
        }
        place.inside.fetch_sub(1, Release);
        false
    }

    /// Looks for the place of `key`, or makes it, under the keeper's lock. `None`: the lock or all places are taken.
    pub(crate) fn search(&self, key: &Key) -> Option<u32> {
        self.lock.compare_exchange(0, 1, Acquire, Relaxed).ok()?;
        let mut found = (0..self.count).find(|&index| self.place(index).is_of(key) && self.enter_known(index, key));
        if found.is_none() {
            found = self.make(key);
        }
        self.lock.store(0, Release);
        found
    }

    fn make(&self, key: &Key) -> Option<u32> {
        let age = |index: &u32| {
            let place = self.place(*index);
            let free = place.size.load(Relaxed) == 0;
            (!free, place.used.load(Relaxed))
        };
        let mut candidates: Vec<u32> = (0..self.count).collect();
        candidates.sort_by_key(age);
        let close = |index: &u32| self.place(*index).inside.compare_exchange(0, CLOSED, SeqCst, Relaxed).is_ok();
        let index = candidates.into_iter().find(close)?;
        let place = self.place(index);
        for member in 0..self.slots as usize {
            // SAFETY: a place is followed by this many slots.
            unsafe { &*self.slots(index).add(member) }.clear();
        }
        place.triplet.store(key.triplet(), Relaxed);
        place.size.store(key.size.into(), Relaxed);
        place.array.store(key.array, Relaxed);
        place.used.store(self.clock.fetch_add(1, Relaxed), Relaxed);
        // Opens the place with the caller inside; others may have counted in and not yet out.
        place.inside.fetch_sub(CLOSED - 1, SeqCst);
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
                let key = Key::of_part(parent, &Triplet { start, stride, size }, 0);
                let other = keys.insert(key, (parent, start, stride, size));
                assert_eq!(other, None, "meets the part {:?}", (parent, start, stride, size));
            }
        }
    }
}
