//! The shadow of eight bytes: the last accesses to them.

use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

use crate::access::{Access, AccessKind, Conflict};

const SLOTS: usize = 4;
/// In the first place: a PE changes the cell.
const LOCKED: u64 = 1 << 63;

/// The last accesses to eight bytes. All zero when nobody has accessed them.
///
/// A PE that holds the lock, a bit of the first place, reads and writes the rest; taking it acquires and giving it back
/// releases. Only the question whether an access is there already reads keys without the lock.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct ShadowCell {
    keys: [AtomicU64; SLOTS],
    places: [AtomicU64; SLOTS],
}

/// Gives the lock back.
struct HeldCell<'c>(&'c ShadowCell);

impl Drop for HeldCell<'_> {
    fn drop(&mut self) {
        self.0.places[0].fetch_and(!LOCKED, Release);
    }
}

impl ShadowCell {
    fn lock(&self) -> HeldCell<'_> {
        while self.places[0].fetch_or(LOCKED, Acquire) & LOCKED != 0 {
            std::thread::yield_now();
        }
        HeldCell(self)
    }

    #[inline]
    fn slot(&self, slot: usize) -> Option<Access> {
        let key = self.keys[slot].load(Relaxed);
        (key != 0).then(|| Access::of(key, self.places[slot].load(Relaxed) & !LOCKED))
    }

    fn put(&self, slot: usize, access: &Access) {
        let lock = if slot == 0 { LOCKED } else { 0 };
        self.places[slot].store(access.place() | lock, Relaxed);
        self.keys[slot].store(access.key(), Relaxed);
    }

    /// Remembers an access of the program if that is simple: the same strand alone has accessed these bytes, and so once before.
    /// Another strand that comes at the very same time may be missed. The word that holds the access.
    #[inline]
    pub(crate) fn renew(&self, new: &Access) -> Option<&AtomicU64> {
        let (key, place) = (new.key(), new.place());
        let mut before = None;
        for (slot, word) in self.keys.iter().enumerate() {
            let old = word.load(Relaxed);
            if old == key {
                return Some(word);
            }
            if old != 0 && !Access::are_alike(old, key) {
                return None;
            }
            if old as u32 == key as u32 {
                before = Some((slot, old));
            }
        }
        let (slot, old) = before?;
        let there = self.places[slot].load(Relaxed);
        // The lock's bit is not touched: whoever takes the lock in between makes this fail.
        let is_renewed = (there == place
            || there & LOCKED == 0 && self.places[slot].compare_exchange(there, place, Relaxed, Relaxed).is_ok())
            && self.keys[slot].compare_exchange(old, key, Relaxed, Relaxed).is_ok();
        is_renewed.then(|| &self.keys[slot])
    }

    /// The word that holds this key as long as the access is remembered.
    pub(crate) fn holder(&self, key: u64) -> Option<&AtomicU64> {
        self.keys.iter().find(|slot| slot.load(Relaxed) == key)
    }

    /// Remembers an access and returns an earlier one that clashes with it and is not `ordered` before it.
    pub(crate) fn record(&self, new: Access, ordered: impl Fn(&Access) -> bool) -> Option<Conflict> {
        let key = new.key();
        if self.keys.iter().any(|slot| slot.load(Relaxed) == key) {
            return None;
        }
        let _held = self.lock();
        let (mut conflict, mut free, mut known) = (None, None, false);
        for slot in 0..SLOTS {
            let Some(old) = self.slot(slot) else {
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
            // An access that this one covers and follows need not be remembered: whoever clashes with it clashes with this one.
            if (before || same) && new.kind.covers(old.kind) && both == old.mask {
                self.keys[slot].store(0, Relaxed);
                free = Some(slot);
            }
        }
        if !known {
            self.put(free.unwrap_or_else(|| self.victim(&new)), &new);
        }
        conflict
    }

    /// The slot of an access that is forgotten: a read if there is one.
    fn victim(&self, new: &Access) -> usize {
        let turns = (0..SLOTS).map(|turn| (new.by.pe + new.time as usize + turn) % SLOTS);
        let is_read = |slot: &usize| self.slot(*slot).is_some_and(|old| !old.kind.clashes(AccessKind::Read));
        turns.clone().find(is_read).unwrap_or_else(|| turns.clone().next().expect("there are slots"))
    }

    /// Forgets the accesses for which `seen` holds. Whoever finds them gone finds what `seen` has done before.
    pub(crate) fn forget(&self, mut seen: impl FnMut(&Access) -> bool) {
        if self.keys.iter().all(|key| key.load(Acquire) == 0) {
            return;
        }
        let _held = self.lock();
        for slot in 0..SLOTS {
            if self.slot(slot).is_some_and(|old| seen(&old)) {
                self.keys[slot].store(0, Release);
            }
        }
    }
}
