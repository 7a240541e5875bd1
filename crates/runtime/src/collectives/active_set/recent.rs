//! Active sets that have met lately, found without a lock by how calls name them.

use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// How a call names a set. A part of a team has no such name.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SetName {
    pub(crate) start: i32,
    pub(crate) log_stride: i32,
    pub(crate) size: i32,
    /// The address of the pSync array.
    pub(crate) array: usize,
}

/// Pairs of entries.
const PAIRS: usize = 128;

/// Pointers by name. Two names share a pair of entries: the row and the column of a PE in a grid may, whose calls take turns. A third one
/// takes the entry of the one that was kept first.
pub(super) struct Recent<T>([[AtomicPtr<T>; 2]; PAIRS]);

impl<T: AsRef<SetName>> Recent<T> {
    pub(super) const fn new() -> Self {
        Self([const { [const { AtomicPtr::new(core::ptr::null_mut()) }; 2] }; PAIRS])
    }

    /// Where it would be. Arrays that follow each other in memory have entries of their own.
    #[inline(always)]
    fn entries(&self, name: &SetName) -> &[AtomicPtr<T>; 2] {
        const RATIO: u64 = 0x9E37_79B9_7F4A_7C15;
        let set = (name.start as u64) << 32 ^ (name.size as u64) << 5 ^ name.log_stride as u64;
        let mixed = (set.wrapping_mul(RATIO) >> (u64::BITS - PAIRS.ilog2())) as usize;
        &self.0[(mixed ^ name.array >> 6 ^ name.array >> 12) % PAIRS]
    }

    /// The one of this name, if it is there.
    ///
    /// # Safety
    /// Each set that was [kept](Self::keep) lives until it is [forgotten](Self::forget) or [all are](Self::clear), and for `'a`.
    #[inline(always)]
    pub(super) unsafe fn find<'a>(&self, name: &SetName) -> Option<&'a T> {
        let of_name = |entry: &AtomicPtr<T>| {
            // SAFETY: it lives, by the caller's promise.
            let found: Option<&'a T> = unsafe { entry.load(Acquire).as_ref() };
            found.filter(|found| found.as_ref() == name)
        };
        let [latest, before] = self.entries(name);
        of_name(latest).or_else(|| of_name(before))
    }

    /// The one that had the first entry keeps the second one. Threads that keep at once may lose one of theirs, which is then found
    /// under a lock.
    pub(super) fn keep(&self, it: &T) {
        let (own, [latest, before]) = (core::ptr::from_ref(it).cast_mut(), self.entries(it.as_ref()));
        let last = latest.swap(own, AcqRel);
        if last != own {
            before.store(last, Release);
        }
    }

    pub(super) fn forget(&self, it: &T) {
        let own = core::ptr::from_ref(it).cast_mut();
        for entry in self.entries(it.as_ref()) {
            // Another one may have the entry.
            let _ = entry.compare_exchange(own, core::ptr::null_mut(), Relaxed, Relaxed);
        }
    }

    pub(super) fn clear(&self) {
        self.0.iter().flatten().for_each(|entry| entry.store(core::ptr::null_mut(), Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    struct Set(SetName);

    impl AsRef<SetName> for Set {
        fn as_ref(&self) -> &SetName {
            &self.0
        }
    }

    fn named(size: i32) -> SetName {
        SetName { start: 2, log_stride: 1, size, array: 0x7000 }
    }

    /// Sets that share their entries.
    fn that_meet(recent: &Recent<Set>) -> [Set; 3] {
        let is_there = |size: &i32| core::ptr::eq(recent.entries(&named(*size)), recent.entries(&named(8)));
        let mut sizes = (8..).filter(is_there);
        [(); 3].map(|()| Set(named(sizes.next().expect("there are more names than entries"))))
    }

    #[test]
    fn two_sets_that_share_entries_are_both_found_and_a_third_one_takes_the_place_of_the_first() {
        let recent = Recent::new();
        let sets = that_meet(&recent);
        let found = || {
            sets.each_ref().map(|set| {
                // SAFETY: the sets outlive the table.
                let found: Option<&Set> = unsafe { recent.find(&set.0) };
                assert!(found.is_none_or(|found| core::ptr::eq(found, set)));
                found.is_some()
            })
        };
        assert_eq!(found(), [false; 3]);
        for (kept, expected) in [
            (0, [true, false, false]),
            (0, [true, false, false]),
            (1, [true, true, false]),
            (0, [true, true, false]),
            (2, [true, false, true]),
        ] {
            recent.keep(&sets[kept]);
            assert_eq!(found(), expected);
        }
        recent.forget(&sets[1]);
        assert_eq!(found(), [true, false, true], "another set's entry was forgotten");
        recent.forget(&sets[0]);
        assert_eq!(found(), [false, false, true]);
        recent.keep(&sets[1]);
        recent.clear();
        assert_eq!(found(), [false; 3]);
    }

    #[test]
    fn arrays_that_follow_each_other_have_entries_of_their_own() {
        let recent = Recent::<Set>::new();
        let name = |i: usize| SetName { array: 0x7000 + 128 * i, ..named(8) };
        let entries: BTreeSet<_> = (0..64).map(|i| core::ptr::from_ref(recent.entries(&name(i)))).collect();
        assert_eq!(entries.len(), 64);
    }
}
