//! Where the node's control windows and the objects in them lie.

use core::marker::PhantomData;
use core::sync::atomic::Ordering::Relaxed;

use super::{BASE, LEN, SHIFT, own};

/// The address of window `window`, which is one of the node's. Builds with assertions check that while the windows are open.
#[inline(always)]
pub(super) fn window_at(window: u32) -> usize {
    debug_assert!(
        LEN.load(Relaxed) == 0 || (window as usize) < LEN.load(Relaxed) >> SHIFT,
        "there is no window {window}"
    );
    BASE.load(Relaxed) + ((window as usize) << SHIFT)
}

/// Something that begins a page.
#[repr(C, align(4096))]
pub(crate) struct PageOf<T>(pub(crate) T);

/// The objects of one kind in each window, one behind the other: one of the parts that the head of `control` draws.
pub(crate) struct WindowArray<T> {
    /// Where the first one begins, in bytes of the window.
    begin: usize,
    count: usize,
    kind: PhantomData<fn() -> T>,
}

impl<T: 'static> WindowArray<T> {
    /// `count` objects that follow each other from byte `begin` on.
    pub(super) const fn new(begin: usize, count: usize) -> Self {
        Self { begin, count, kind: PhantomData }
    }

    /// `count` objects of the next kind, behind these.
    pub(super) const fn then<U: 'static>(&self, count: usize) -> WindowArray<U> {
        WindowArray::new(self.end().next_multiple_of(align_of::<U>()), count)
    }

    pub(super) const fn end(&self) -> usize {
        self.begin + self.count * size_of::<T>()
    }

    /// Where object `index`, below `count`, begins in each window. Builds with assertions check the number.
    #[inline(always)]
    fn offset(&self, index: u32) -> usize {
        debug_assert!((index as usize) < self.count, "there is no object {index} among {}", self.count);
        self.begin + index as usize * size_of::<T>()
    }

    /// The address of object `index`, below `count`, in a window of the node.
    #[inline(always)]
    pub(crate) fn address(&self, window: u32, index: u32) -> usize {
        window_at(window) + self.offset(index)
    }

    /// Has the kernel provide the pages of object `index` of this PE's window.
    pub(crate) fn populate(&self, index: u32) {
        oxshmem_os::memory::populate(own() + self.offset(index), size_of::<T>());
    }

    /// Object `index`, below `count`, in a window of the node.
    #[inline(always)]
    pub(crate) fn get(&self, window: u32, index: u32) -> &'static T {
        // SAFETY: the address is that of an object in the mapped control arena, aligned by construction, because callers pass windows
        // of the node and numbers below `count`. The objects of all kinds have atomics and cells only.
        unsafe { &*(self.address(window, index) as *const T) }
    }
}
