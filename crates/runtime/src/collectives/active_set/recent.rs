//! Active sets that have met lately, found without a lock by how calls name them.

use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// How a call names a set. A part of a team has no such name.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SetName {
    pub(crate) start: i32,
    pub(crate) log_stride: i32,
    pub(crate) size: i32,
    /// The address of the pSync array.
    pub(crate) array: usize,
}

/// A set that calls find by its name.
pub(super) trait CalledBy {
    fn name(&self) -> &SetName;
}

/// Pointers by name; a later one may take the entry of an earlier one.
pub(super) struct Recent<T>([AtomicPtr<T>; 64]);

impl<T: CalledBy> Recent<T> {
    pub(super) const fn new() -> Self {
        Self([const { AtomicPtr::new(core::ptr::null_mut()) }; 64])
    }

    /// Where it would be. Arrays that follow each other in memory have entries of their own.
    #[inline(always)]
    fn entry(&self, name: &SetName) -> &AtomicPtr<T> {
        let mixed = name.array >> 6 ^ name.array >> 12 ^ name.start as usize ^ (name.size as usize) << 3;
        &self.0[mixed % self.0.len()]
    }

    /// The one of this name, if it is there.
    ///
    /// # Safety
    /// Each set that was [kept](Self::keep) lives until it is [forgotten](Self::forget) or [all are](Self::clear), and for `'a`.
    #[inline(always)]
    pub(super) unsafe fn find<'a>(&self, name: &SetName) -> Option<&'a T> {
        // SAFETY: it lives, by the caller's promise.
        let found = unsafe { self.entry(name).load(Acquire).as_ref() };
        found.filter(|found| found.name() == name)
    }

    pub(super) fn keep(&self, it: &T) {
        self.entry(it.name()).store(core::ptr::from_ref(it).cast_mut(), Release);
    }

    pub(super) fn forget(&self, it: &T) {
        let own = core::ptr::from_ref(it).cast_mut();
        // Another one may have the entry.
        let _ = self.entry(it.name()).compare_exchange(own, core::ptr::null_mut(), Relaxed, Relaxed);
    }

    pub(super) fn clear(&self) {
        self.0.iter().for_each(|entry| entry.store(core::ptr::null_mut(), Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Set(SetName);

    impl CalledBy for Set {
        fn name(&self) -> &SetName {
            &self.0
        }
    }

    #[test]
    fn a_name_finds_what_was_kept_last_in_its_entry() {
        let name = |size| SetName { start: 2, log_stride: 1, size, array: 0x7000 };
        // 64 entries: the sizes 8 and 16 share one.
        let (recent, first, other) = (Recent::new(), Set(name(8)), Set(name(16)));
        let found = |size| {
            // SAFETY: the sets outlive the table.
            let found: Option<&Set> = unsafe { recent.find(&name(size)) };
            found.map(core::ptr::from_ref)
        };
        assert_eq!(found(8), None);
        recent.keep(&first);
        assert_eq!((found(8), found(16)), (Some(&raw const first), None));
        recent.keep(&other);
        recent.forget(&first);
        assert_eq!((found(8), found(16)), (None, Some(&raw const other)), "the other set's entry was forgotten");
        recent.forget(&other);
        assert_eq!(found(16), None);
        recent.keep(&first);
        recent.clear();
        assert_eq!(found(8), None);
    }
}
