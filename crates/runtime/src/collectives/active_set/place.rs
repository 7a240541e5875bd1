//! A place of an active set, in the window of the PE that keeps it: its door, its seats, and how it changes hands.

use core::cmp::Reverse;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::collections::BinaryHeap;

use oxshmem_base::planted;

use super::key::Key;
use crate::collectives::signature::number_of;
use crate::memory::control::seat::Seat;
use crate::sync::{Apart, AtomicU32, AtomicU64, fence, fence_after_update};
#[cfg(not(loom))]
use crate::teams::cache_levels;

/// The most places that a PE keeps.
#[cfg(not(loom))]
pub(super) const MOST: usize = 256;
/// The places of a model.
#[cfg(loom)]
pub(super) const MOST: usize = 1;

/// The part of a place that a search reads: a digest of its pair, never zero, and when it was made. Zero: no pair has had it.
#[derive(Clone, Copy)]
struct IndexEntry(u64);

impl IndexEntry {
    fn new(key: &Key, made: u32) -> Self {
        Self(Self::digest(key) << 32 | u64::from(made))
    }

    fn digest(key: &Key) -> u64 {
        key.name(0) >> 32 | 1
    }

    /// Those of places without a pair come first.
    fn age(self) -> u64 {
        u64::from(self.0 > 0) << 32 | self.0 & u64::from(u32::MAX)
    }
}

/// The head of a place. A seat for each PE of the node follows.
#[cfg_attr(not(loom), repr(C, align(4096)))]
#[cfg_attr(loom, repr(C, align(128)))]
pub(crate) struct SetPlace {
    /// One while the place changes hands.
    closed: AtomicU32,
    /// When it was made, by the clock of the PE that keeps it.
    made: AtomicU32,
    /// The pair; `size` zero: none. Written under the keeper's lock while closed, read by PEs that have marked themselves.
    triplet: AtomicU64,
    size: AtomicU64,
    array: AtomicU64,
    /// The entries of all places of the PE that keeps them, under its lock, in the first place's page: heads lie pages apart, and a look at
    /// each of them takes microseconds.
    index: Apart<[AtomicU64; MOST]>,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<SetPlace>() == 4096);

impl SetPlace {
    /// A place without a pair.
    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        let [triplet, size, array] = [0; 3].map(AtomicU64::new);
        let [closed, made] = [0; 2].map(AtomicU32::new);
        Self { closed, made, triplet, size, array, index: Apart([0; MOST].map(AtomicU64::new)) }
    }

    pub(super) fn belong_to(&self, key: &Key) {
        self.triplet.store(key.triplet(), Relaxed);
        self.size.store(key.size.into(), Relaxed);
        self.array.store(key.array, Relaxed);
    }

    pub(crate) fn is_of(&self, key: &Key) -> bool {
        self.size.load(Relaxed) == u64::from(key.size)
            && self.triplet.load(Relaxed) == key.triplet()
            && self.array.load(Relaxed) == key.array
    }
}

/// How a PE goes into a place and out of it.
pub(crate) struct Door {
    place: &'static SetPlace,
    /// When the place was made: afterwards it is another one.
    made: u32,
    /// The PE's own.
    pub(crate) mark: &'static AtomicU32,
    /// Whether the calls of the PE's threads come one at a time.
    pub(super) alone: bool,
}

impl PartialEq for Door {
    /// Whether both are of one place, made at one time.
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self.place, other.place) && self.made == other.made
    }
}

impl Door {
    /// Whether the place is still the same.
    #[inline(always)]
    pub(crate) fn is_there(&self) -> bool {
        self.place.made.load(Relaxed) == self.made
    }

    /// Takes the caller in if the place is the right one.
    #[inline(always)]
    pub(super) fn enter(&self, is_right: impl FnOnce(&SetPlace) -> bool) -> bool {
        self.mark.fetch_add(1, SeqCst);
        // A PE that closes the place stores, fences and looks at the marks; we mark, fence and look whether it is closed.
        // One of the two sees the other. Acquire: with an earlier closing everything is seen that was written before it.
        fence_after_update();
        if self.place.closed.load(Acquire) == 0 && is_right(self.place) {
            return true;
        }
        self.leave();
        false
    }

    #[inline(always)]
    pub(super) fn leave(&self) {
        if self.alone {
            // Only this PE writes the mark. A read-modify-write would wait until other PEs have given up the lines that were
            // written last.
            self.mark.store(self.mark.load(Relaxed) - 1, Release);
        } else {
            self.mark.fetch_sub(1, Release);
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
    pub(crate) fn place(&self, index: u32) -> &'static SetPlace {
        // SAFETY: `index` is below `count`, so the place is inside the keeper's mapped window; all fields are atomics.
        unsafe { &*((self.base + index as usize * self.each) as *const SetPlace) }
    }

    pub(super) fn seat(&self, index: u32, number: u32) -> &'static Seat {
        let first = core::ptr::from_ref(self.place(index)).wrapping_add(1).cast::<Seat>();
        // SAFETY: a place is followed by a seat for each of the node's PEs.
        unsafe { &*first.add(number as usize) }
    }

    /// The mark of the PE in window `window`.
    pub(crate) fn mark(&self, index: u32, window: u32) -> &'static AtomicU32 {
        &self.seat(index, window).mark.0
    }

    pub(super) fn door(&self, index: u32) -> Door {
        let place = self.place(index);
        Door { place, made: place.made.load(Relaxed), mark: self.mark(index, self.me), alone: self.alone }
    }

    /// The index, in the order of the places.
    fn entries(&self) -> impl Iterator<Item = (u32, IndexEntry)> {
        (0..self.count).zip(&self.place(0).index.0).map(|(index, entry)| (index, IndexEntry(entry.load(Relaxed))))
    }

    /// Looks for the place of `key`, or makes it, under the keeper's lock. `None`: the lock or all places are taken.
    pub(crate) fn search(&self, key: &Key) -> Option<u32> {
        self.lock.compare_exchange(0, 1, Acquire, Relaxed).ok()?;
        let digest = IndexEntry::digest(key);
        let mut found = self
            .entries()
            .filter(|(_, entry)| entry.0 >> 32 == digest)
            .map(|(index, _)| index)
            .find(|&index| self.place(index).is_of(key) && self.door(index).enter(|place| place.is_of(key)));
        if found.is_none() {
            found = self.make(key);
        }
        self.lock.store(0, Release);
        found
    }

    /// Closes a place in which no PE is, and no broadcast that a member is yet to take. The caller has the lock.
    fn close(&self, index: u32) -> bool {
        let place = self.place(index);
        place.closed.store(1, SeqCst);
        fence(SeqCst);
        // Acquire: what was done inside is over before the slots are cleared.
        let is_empty = (0..self.pes).all(|window| self.mark(index, window).load(Acquire) == 0);
        let is_free = is_empty && planted!("place-with-a-posted-broadcast", self.is_taken(index), true);
        if !is_free {
            place.closed.store(0, Release);
        }
        is_free
    }

    /// Whether all members have taken all broadcasts: the root of one has counted it as taken, too.
    fn is_taken(&self, index: u32) -> bool {
        let taken = |member: u32| number_of(self.seat(index, member).slot.words.0.taken.load(Acquire));
        let size = self.place(index).size.load(Relaxed) as u32;
        (1..size).all(|member| taken(member) == taken(0))
    }

    fn make(&self, key: &Key) -> Option<u32> {
        let by_age = || self.entries().map(|(index, entry)| (entry.age(), index));
        // Most times the oldest is free, and the order of the others is not worked out.
        let (_, oldest) = by_age().min()?;
        let index = if self.close(oldest) {
            oldest
        } else {
            let mut others: BinaryHeap<_> = by_age().filter(|&(_, index)| index != oldest).map(Reverse).collect();
            core::iter::from_fn(|| others.pop()).map(|Reverse((_, index))| index).find(|&index| self.close(index))?
        };
        let place = self.place(index);
        for member in 0..self.pes {
            let seat = self.seat(index, member);
            // The ring of a member that has taken no broadcast is untouched, and takes no memory.
            if seat.slot.words.0.taken.load(Relaxed) > 0 {
                seat.eager.forget();
            }
            seat.slot.clear();
        }
        // Untouched lines take no memory, and stay untouched if no set uses them.
        #[cfg(not(loom))]
        if cache_levels::is_possible() {
            (0..self.pes).for_each(|member| self.seat(index, member).lines.clear());
        }
        place.belong_to(key);
        let made = self.clock.fetch_add(1, Relaxed);
        place.made.store(made, Relaxed);
        self.place(0).index.0[index as usize].store(IndexEntry::new(key, made).0, Relaxed);
        self.mark(index, self.me).fetch_add(1, Relaxed);
        place.closed.store(0, Release);
        Some(index)
    }
}
