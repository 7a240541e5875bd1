//! The shadow of eight bytes: the last accesses to them.

use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

use crate::access::{Access, AccessKind, Conflict};

/// A half has so many accesses, and a cell twice as many.
const HALF: usize = 2;
const SLOTS: usize = 2 * HALF;
/// The slot whose place has the flags: not the first one, which the shim fills.
const FLAGGED: usize = 1;
/// A PE changes the cell.
const LOCKED: u64 = 1 << 63;
/// The back half remembers something, too.
const MORE: u64 = 1 << 62;
const FLAGS: u64 = LOCKED | MORE;

/// One access: what decides about order, and what reports name.
#[repr(C)]
#[derive(Debug, Default)]
struct CellSlot {
    key: AtomicU64,
    place: AtomicU64,
}

/// Half of a cell. All zero when it remembers nothing.
#[repr(C, align(32))]
#[derive(Debug, Default)]
pub struct CellHalf {
    slots: [CellSlot; HALF],
}

/// The shadow of a part of memory: the halves of all cells.
///
/// Most cells remember a load and a store of one strand. Their fronts lie together, and their backs are not touched.
#[derive(Clone, Copy, Debug)]
pub struct ShadowPart<'m> {
    fronts: &'m [CellHalf],
    backs: &'m [CellHalf],
}

impl<'m> ShadowPart<'m> {
    /// The cells with these halves.
    pub fn new(fronts: &'m [CellHalf], backs: &'m [CellHalf]) -> ShadowPart<'m> {
        assert_eq!(fronts.len(), backs.len(), "each cell has both halves");
        ShadowPart { fronts, backs }
    }

    /// The front halves of all cells.
    pub fn fronts(&self) -> &'m [CellHalf] {
        self.fronts
    }

    /// How many cells there are.
    pub(crate) fn count(&self) -> usize {
        self.fronts.len()
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<ShadowCell<'m>> {
        Some(ShadowCell { front: self.fronts.get(index)?, back: self.backs.get(index)? })
    }
}

/// The last accesses to eight bytes.
///
/// A PE that holds the lock, a bit of a place, reads and writes the rest; taking it acquires and giving it back
/// releases. Without the lock a key is looked up, and `renew` and the shim remember what is simple.
#[derive(Clone, Copy, Debug)]
pub struct ShadowCell<'m> {
    front: &'m CellHalf,
    back: &'m CellHalf,
}

/// A cell whose lock the caller has.
struct HeldCell<'m> {
    cell: ShadowCell<'m>,
    /// Whether the back half remembers something.
    more: bool,
}

/// Gives the lock back.
impl Drop for HeldCell<'_> {
    fn drop(&mut self) {
        let (over, place) = (if self.more { LOCKED } else { FLAGS }, self.cell.flags());
        // A store suffices: while the bit is set others only set it again, and `renew` changes no place that has it.
        place.store(place.load(Relaxed) & !over, Release);
    }
}

impl HeldCell<'_> {
    /// The slots that may remember something, the first one last.
    fn slots(&self) -> impl Iterator<Item = usize> + use<> {
        (0..slots_in_use(self.more)).rev()
    }

    fn put(&mut self, slot: usize, access: &Access) {
        if slot >= HALF && !self.more {
            let flags = self.cell.flags();
            flags.store(flags.load(Relaxed) | MORE, Release);
            self.more = true;
        }
        let CellSlot { key, place } = self.cell.at(slot);
        // No other PE changes the flags meanwhile: a PE that wants the lock sets a bit that is already set.
        let flags = if slot == FLAGGED { place.load(Relaxed) & FLAGS } else { 0 };
        // A reader that misses the forgotten accesses because of this store sees what was done before they were forgotten.
        place.store(access.place() | flags, Release);
        key.store(access.key(), Relaxed);
    }

    /// The slots of the back half are looked at as long as they remember something.
    fn settle(&mut self) {
        self.more = self.more && self.cell.back.slots.iter().any(|slot| slot.key.load(Relaxed) != 0);
    }
}

#[inline]
fn slots_in_use(more: bool) -> usize {
    if more { SLOTS } else { HALF }
}

impl<'m> ShadowCell<'m> {
    #[inline]
    fn at(&self, slot: usize) -> &'m CellSlot {
        if slot < HALF { &self.front.slots[slot] } else { &self.back.slots[slot - HALF] }
    }

    /// The place with the flags.
    #[inline]
    fn flags(&self) -> &'m AtomicU64 {
        &self.front.slots[FLAGGED].place
    }

    /// The slots that may remember something, for a caller without the lock.
    #[inline]
    fn slots(&self) -> impl Iterator<Item = &'m CellSlot> + use<'m> {
        let (cell, more) = (*self, self.flags().load(Relaxed) & MORE != 0);
        (0..slots_in_use(more)).map(move |slot| cell.at(slot))
    }

    fn lock(&self) -> HeldCell<'m> {
        loop {
            let before = self.flags().fetch_or(LOCKED, Acquire);
            if before & LOCKED == 0 {
                return HeldCell { cell: *self, more: before & MORE != 0 };
            }
            std::thread::yield_now();
        }
    }

    #[inline]
    fn access(&self, slot: usize) -> Option<Access> {
        let CellSlot { key, place } = self.at(slot);
        // The shim puts an access into an empty cell without the lock: it writes the place before the key.
        match key.load(Acquire) {
            0 => None,
            key => Access::of(key, place.load(Relaxed) & !FLAGS),
        }
    }

    /// Remembers an access of the program if that is simple: the same strand alone has accessed these bytes, and so once before.
    /// Another strand that comes at the very same time may be missed. Returns whether the access is remembered.
    ///
    /// The shim does the same where the place stays what it is. An access to all eight bytes it also puts into the first slot of an
    /// empty cell, and renews it by a store. So it may put its words over those of a strand that touches some of these bytes at the
    /// very same time: both may be missed, and `Access::of` keeps the place of the one from the name of the other. An access to some
    /// bytes overwrites nothing: strands that store to others are in no race, and a wait for their values learns from the cell.
    ///
    /// A store of the key releases even if only its time changes. A strand that fetches the word, or awaits another value of it, takes
    /// the access out before its value has come, and learns from the clock of the access's strand.
    #[inline]
    pub(crate) fn renew(&self, new: &Access) -> bool {
        let (key, place) = (new.key(), new.place());
        let mut before = None;
        for slot in self.slots() {
            let old = slot.key.load(Relaxed);
            if old == key {
                return true;
            }
            if old != 0 && !Access::are_alike(old, key) && !Access::has_come(old, key) {
                return false;
            }
            if old as u32 == key as u32 {
                before = Some((slot, old));
            }
        }
        let Some((slot, old)) = before else { return false };
        let there = slot.place.load(Relaxed);
        // Flags are not touched: this fails if a PE takes the lock in between.
        self.flags().load(Relaxed) & LOCKED == 0
            && there & LOCKED == 0
            && (there & !FLAGS == place
                || slot.place.compare_exchange(there, place | there & FLAGS, Relaxed, Relaxed).is_ok())
            && slot.key.compare_exchange(old, key, Release, Relaxed).is_ok()
    }

    /// Whether the access with this key is remembered.
    #[inline]
    pub(crate) fn holds(&self, key: u64) -> bool {
        self.slots().any(|slot| slot.key.load(Relaxed) == key)
    }

    /// Remembers an access and returns an earlier one that clashes with it and is not `ordered` before it.
    pub(crate) fn record(&self, new: Access, ordered: impl Fn(&Access) -> bool) -> Option<Conflict> {
        if self.holds(new.key()) {
            return None;
        }
        let mut held = self.lock();
        let (mut conflict, mut free, mut known) = (None, (!held.more).then_some(HALF), false);
        for slot in held.slots() {
            let Some(old) = self.access(slot) else {
                free = Some(slot);
                continue;
            };
            let both = old.mask & new.mask;
            let before = ordered(&old);
            if both != 0 && old.kind.clashes(new.kind) && !before && conflict.is_none() {
                conflict = Some(Conflict { earlier: old, later: new, mask: both });
            }
            let same = old.by == new.by && old.column == new.column;
            known |= same && old.time == new.time && old.kind.covers(new.kind) && both == new.mask;
            // An access that this one covers and follows need not be remembered: an access that clashes with it clashes with this one.
            if (before || same) && new.kind.covers(old.kind) && both == old.mask {
                self.at(slot).key.store(0, Relaxed);
                free = Some(slot);
            }
        }
        if !known {
            held.put(free.unwrap_or_else(|| self.victim(&new)), &new);
        }
        held.settle();
        conflict
    }

    /// The slot of an access that is forgotten: a read if there is one, and a write that only the cell knows if there is nothing else.
    fn victim(&self, new: &Access) -> usize {
        let turns = (0..SLOTS).map(|turn| (new.by.pe + new.time as usize + turn) % SLOTS);
        let worth = |slot: &usize| match self.access(*slot) {
            Some(old) if old.publishes_nothing() => 2,
            Some(old) if old.kind.clashes(AccessKind::Read) => 1,
            _ => 0,
        };
        turns.min_by_key(worth).expect("there are slots")
    }

    fn is_bare(&self) -> bool {
        let is_bare = |half: &CellHalf| half.slots.iter().all(|slot| slot.key.load(Acquire) == 0);
        is_bare(self.front) && self.flags().load(Acquire) & MORE == 0
    }

    /// Forgets the accesses for which `seen` holds. A strand that finds them gone also sees what `seen` has done before.
    pub(crate) fn forget(&self, mut seen: impl FnMut(&Access) -> bool) {
        if self.is_bare() {
            return;
        }
        let mut held = self.lock();
        for slot in held.slots() {
            if self.access(slot).is_some_and(|old| seen(&old)) {
                self.at(slot).key.store(0, Release);
            }
        }
        held.settle();
    }

    /// Remembers other accesses in the place of those for which there are any. The first slot becomes free for the program if the second
    /// one is.
    pub(crate) fn replace(&self, other: impl Fn(&Access) -> Option<Access>) {
        if self.is_bare() {
            return;
        }
        let mut held = self.lock();
        for slot in held.slots() {
            if let Some(new) = self.access(slot).and_then(|old| other(&old)) {
                let moves = slot == 0 && self.access(FLAGGED).is_none();
                held.put(if moves { FLAGGED } else { slot }, &new);
                if moves {
                    self.at(0).key.store(0, Relaxed);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Site;
    use crate::clock::{Column, StrandName};

    fn write(pe: usize, mask: u8) -> Access {
        let (by, site) = (StrandName { pe, strand: 0 }, Site { pc: 64 + pe as u64, call: 1 });
        Access { by, time: 5, column: Column::Program, kind: AccessKind::Write, mask, site }
    }

    fn remembered(cell: &ShadowCell<'_>) -> Vec<Access> {
        let more = cell.flags().load(Relaxed) & MORE != 0;
        (0..slots_in_use(more)).filter_map(|slot| cell.access(slot)).collect()
    }

    #[test]
    fn a_cell_has_four_accesses_and_its_back_is_empty_as_long_as_two_suffice() {
        let (front, back) = ([CellHalf::default()], [CellHalf::default()]);
        let cell = ShadowPart::new(&front, &back).get(0).expect("the only one");
        let is_bare = || back[0].slots.iter().all(|slot| slot.key.load(Relaxed) == 0);
        let all = [write(0, 1), write(1, 2), write(2, 4), write(3, 8)];
        for (at, access) in all.into_iter().enumerate() {
            assert_eq!(cell.record(access, |_| false), None);
            assert_eq!((remembered(&cell), is_bare()), (all[..=at].to_vec(), at < 2));
        }
        let conflict = cell.record(write(4, 0x88), |_| false).expect("the last one of the back half");
        assert_eq!((conflict.earlier, conflict.mask), (all[3], 8));
        cell.forget(|old| old.by.pe > 0);
        assert_eq!(cell.flags().load(Relaxed) & FLAGS, 0);
        assert!(is_bare() && remembered(&cell).len() <= 1);
    }

    #[test]
    fn an_access_that_covers_all_others_leaves_one() {
        let (front, back) = ([CellHalf::default()], [CellHalf::default()]);
        let cell = ShadowPart::new(&front, &back).get(0).expect("the only one");
        for pe in 0..4 {
            assert_eq!(cell.record(write(pe, 1 << pe), |_| true), None);
        }
        assert_eq!(cell.record(write(5, 0xff), |_| true), None);
        assert_eq!(remembered(&cell), [write(5, 0xff)]);
        assert_eq!(cell.flags().load(Relaxed) & FLAGS, 0);
        assert!(cell.renew(&Access { time: 6, ..write(5, 0xff) }));
        assert_eq!(remembered(&cell), [Access { time: 6, ..write(5, 0xff) }]);
        assert!(!cell.renew(&write(5, 1)) && ShadowPart::new(&front, &back).get(1).is_none());
    }

    #[test]
    fn key_and_place_of_two_strands_are_no_access() {
        let (front, back) = ([CellHalf::default()], [CellHalf::default()]);
        let cell = ShadowPart::new(&front, &back).get(0).expect("the only one");
        assert_eq!(cell.record(write(0, 1), |_| false), None);
        cell.at(0).key.store(write(1, 1).key(), Relaxed);
        assert!(remembered(&cell).is_empty());
        assert_eq!(cell.record(write(2, 1), |_| false), None);
        assert_eq!(remembered(&cell), [write(2, 1)]);
    }

    /// The shim reads and makes keys and places: `shim/instrumentation.c`.
    #[test]
    fn the_parts_of_a_cell_are_where_the_shim_looks_for_them() {
        let (by, site) = (StrandName { pe: 3, strand: 2 }, Site { pc: 0x1234, call: 1 });
        let store = Access { by, time: 5, column: Column::Program, kind: AccessKind::Write, mask: 0x0f, site };
        assert_eq!(store.key(), 5 << 32 | 2 << 26 | 3 << 18 | 1 << 8 | 0x0f);
        assert_eq!(Access { kind: AccessKind::Read, ..store }.key(), 5 << 32 | 2 << 26 | 3 << 18 | 0x0f);
        let heard = Access { column: Column::Heard, ..store };
        assert_eq!(heard.key(), store.key() | 6 << 15);
        assert!(Access::has_come(heard.key(), store.key()) && !Access::has_come(store.key(), store.key()));
        assert_eq!(store.place(), 0x13 << 56 | 1 << 40 | 0x1234);
        let part = [CellHalf::default(), CellHalf::default()];
        let address = |word: &AtomicU64| std::ptr::from_ref(word) as usize - part.as_ptr() as usize;
        let words = part[1].slots.each_ref().map(|slot| [address(&slot.key), address(&slot.place)]);
        assert_eq!(words, [[32, 40], [48, 56]]);
    }
}
