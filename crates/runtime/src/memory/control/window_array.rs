//! Where the node's control windows and the objects in them lie.

use core::marker::PhantomData;
use core::sync::atomic::Ordering::Relaxed;

use super::{BASE, LEN, SHIFT};

/// The address of window `window`, which is one of the node's. Builds with assertions check that while the windows are open.
#[inline(always)]
pub(super) fn window_at(window: u32) -> usize {
    debug_assert!(
        LEN.load(Relaxed) == 0 || (window as usize) < LEN.load(Relaxed) >> SHIFT,
        "there is no window {window}"
    );
    BASE.load(Relaxed) + ((window as usize) << SHIFT)
}

/// The objects of one kind in each window: one of the parts that the head of `control` draws.
pub(super) struct WindowArray<T> {
    /// Where the first one begins, in bytes of the window.
    begin: usize,
    /// How many bytes lie from the beginning of one to that of the next.
    apart: usize,
    count: usize,
    kind: PhantomData<fn() -> T>,
}

impl<T: 'static> WindowArray<T> {
    /// `count` objects that follow each other from byte `begin` on.
    #[inline(always)]
    pub(super) const fn new(begin: usize, count: usize) -> Self {
        Self::with_gaps(begin, size_of::<T>(), count)
    }

    /// The same, where the next one begins `apart` bytes behind the beginning of each.
    #[inline(always)]
    pub(super) const fn with_gaps(begin: usize, apart: usize, count: usize) -> Self {
        Self { begin, apart, count, kind: PhantomData }
    }

    /// Where object `index`, below `count`, begins in each window. Builds with assertions check the number.
    #[inline(always)]
    pub(super) fn offset(&self, index: usize) -> usize {
        debug_assert!(index < self.count, "there is no object {index} among {}", self.count);
        self.begin + index * self.apart
    }

    /// The address of object `index`, below `count`, in a window of the node.
    #[inline(always)]
    pub(super) fn address(&self, window: u32, index: usize) -> usize {
        window_at(window) + self.offset(index)
    }

    /// Object `index`, below `count`, in a window of the node.
    #[inline(always)]
    pub(super) fn get(&self, window: u32, index: usize) -> &'static T {
        // SAFETY: the address is that of an object in the mapped control arena, aligned by construction, because callers pass windows
        // of the node and numbers below `count`. The objects of all kinds have atomics and cells only.
        unsafe { &*(self.address(window, index) as *const T) }
    }
}
