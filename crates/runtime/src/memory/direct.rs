//! The data path's only state: where the node's windows are, and how an address and a PE number become a pointer.
//!
//! A peer's copy of an object lies at the same offset of the peer's window, and windows lie a power of two apart, so
//! finding it takes two compares, a multiplication and two additions. Everything that does not fit that pattern misses, and the caller
//! goes to [`crate::transfers::indirect`], which knows why.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

use oxshmem_transport::Region;

/// An extent of the caller's symmetric memory whose copies on the node are found by arithmetic.
#[repr(C)]
pub(crate) struct Extent {
    /// Where the caller's own copy starts.
    start: AtomicUsize,
    /// How much of it is in use; zero while there is none. Grows when the heap commits pages.
    len: AtomicUsize,
    /// The displacement from an own address to the same object in window 0.
    bias: AtomicUsize,
    /// Windows are this far apart: a power of two, but a multiplication costs less than a shift by a variable.
    stride: AtomicUsize,
}

impl Extent {
    const fn none() -> Self {
        Self {
            start: AtomicUsize::new(0),
            len: AtomicUsize::new(0),
            bias: AtomicUsize::new(0),
            stride: AtomicUsize::new(0),
        }
    }

    /// Opens the extent: own memory at `start`, the same offset of window 0 at `window_0`, windows `1 << shift` apart.
    pub(crate) fn open(&self, start: usize, len: usize, window_0: usize, shift: u32) {
        self.start.store(start, Relaxed);
        self.bias.store(window_0.wrapping_sub(start), Relaxed);
        self.stride.store(1 << shift, Relaxed);
        self.len.store(len, Relaxed);
    }

    /// Lets the extent reach as far as `len` bytes.
    pub(crate) fn grow(&self, len: usize) {
        self.len.store(len, Relaxed);
    }

    /// Closes the extent: every address misses from now on.
    pub(crate) fn close(&self) {
        self.len.store(0, Relaxed);
    }

    /// Whether all of `bytes` bytes at `address` lie inside.
    #[inline(always)]
    pub(crate) fn holds(&self, address: usize, bytes: usize) -> bool {
        self.offset(address, bytes).is_some()
    }

    /// How far behind the start `bytes` bytes at `address` begin, if all of them lie inside.
    #[inline(always)]
    fn offset(&self, address: usize, bytes: usize) -> Option<u64> {
        let offset = address.wrapping_sub(self.start.load(Relaxed));
        let len = self.len.load(Relaxed);
        if offset < len && bytes <= len - offset { Some(offset as u64) } else { None }
    }

    /// Whether the byte at `address` lies inside.
    #[inline(always)]
    fn holds_byte(&self, address: usize) -> bool {
        address.wrapping_sub(self.start.load(Relaxed)) < self.len.load(Relaxed)
    }

    /// The copy of `address` in window `window`.
    #[inline(always)]
    pub(crate) fn in_window(&self, address: usize, window: u32) -> usize {
        let distance = (window as usize).wrapping_mul(self.stride.load(Relaxed));
        address.wrapping_add(self.bias.load(Relaxed)).wrapping_add(distance)
    }

    /// Whether `address` lies in the copy of one of the first `windows` windows, the caller's among them.
    pub(crate) fn is_in_some_window(&self, address: usize, windows: u32) -> bool {
        let (start, stride) = (self.start.load(Relaxed), self.stride.load(Relaxed));
        let window_0 = start.wrapping_add(self.bias.load(Relaxed));
        self.holds(address, 1) || address.wrapping_sub(window_0) < stride.saturating_mul(windows as usize)
    }

    /// Start and length of the caller's own copy.
    pub(crate) fn own(&self) -> (usize, usize) {
        (self.start.load(Relaxed), self.len.load(Relaxed))
    }
}

/// The table of the data path. All fields are written at init, at finalize and when the heap grows.
///
/// The two counts of windows are stored last, with release, and loaded first, with acquire: a thread that finds a window finds
/// all else that init has written, also if it has met the initialising thread nowhere else and uses a static variable. A call that
/// finds none goes to `indirect`, which acquires the team and the life in the same way. All other fields are read relaxed. Growth of
/// the heap needs no order: a thread that has the address of a new object has been ordered after the call that made it.
#[repr(C, align(128))]
pub(crate) struct Fast {
    /// World number of the PE in window 0.
    first: AtomicU32,
    /// How many PEs, from `first` on, have windows; publishes the table. Zero before init, after the last finalize, and when
    /// every call is to be checked: then everything misses.
    windows: AtomicU32,
    /// The same for atomics: zero also where the network does them, so that all of them miss, those on the node too.
    atomic_windows: AtomicU32,
    /// Handles from this address on are believed: all but the null handle, or none before init, after the last finalize, and
    /// when every call is to be checked. So one compare tells null handles and those to be looked up from the others.
    handles: AtomicUsize,
    /// Whether a fence or quiet has more to do than the processor's: there is a network, or handles are to be checked.
    /// Stored with release and loaded with acquire, as the counts of windows.
    orders: AtomicBool,
    /// Whether PEs take turns. Then no window is open, and what finds memory of the node all the same is a step.
    turns: AtomicBool,
    pub(crate) heap: Extent,
    pub(crate) statics: Extent,
}

/// The one table.
pub(crate) static FAST: Fast = Fast::closed();

impl Fast {
    /// Marks names of static objects.
    const STATIC: u64 = 1 << 63;

    /// A table in which everything misses.
    const fn closed() -> Self {
        Self {
            first: AtomicU32::new(0),
            windows: AtomicU32::new(0),
            atomic_windows: AtomicU32::new(0),
            handles: AtomicUsize::new(usize::MAX),
            orders: AtomicBool::new(false),
            turns: AtomicBool::new(false),
            heap: Extent::none(),
            statics: Extent::none(),
        }
    }

    /// Whether the caller's `bytes` bytes at `address`, one at least, are symmetric and need no further look. No address is while
    /// every call is to be checked.
    #[inline(always)]
    pub(crate) fn believes_array(&self, address: usize, bytes: usize) -> bool {
        self.windows.load(Acquire) > 0 && (self.heap.holds(address, bytes) || self.statics.holds(address, bytes))
    }

    /// The name of the caller's `bytes` bytes at `address` on all PEs alike; `None` if they are not symmetric.
    pub(crate) fn name(&self, address: usize, bytes: usize) -> Option<u64> {
        let offset = |extent: &Extent| (address - extent.own().0) as u64;
        if self.heap.holds(address, bytes) {
            Some(offset(&self.heap))
        } else if self.statics.holds(address, bytes) {
            Some(offset(&self.statics) | Self::STATIC)
        } else {
            None
        }
    }

    /// The name of the byte at `address`, to be compared with those of other PEs. What is not symmetric has a name that no symmetric
    /// byte has.
    pub(crate) fn compared_name(&self, address: usize) -> u64 {
        let (extent, mark) = if self.heap.holds(address, 1) { (&self.heap, 0) } else { (&self.statics, Self::STATIC) };
        address.wrapping_sub(extent.own().0) as u64 | mark
    }

    /// Where the caller has what has this name.
    pub(crate) fn named(&self, name: u64) -> usize {
        let extent = if name & Self::STATIC == 0 { &self.heap } else { &self.statics };
        extent.own().0.wrapping_add((name & !Self::STATIC) as usize)
    }

    /// Lets world numbers `first .. first + windows` hit, also with atomics if those are the processor's.
    pub(crate) fn open(&self, first: u32, windows: u32, atomics: bool) {
        self.first.store(first, Relaxed);
        self.windows.store(windows, Release);
        self.atomic_windows.store(if atomics { windows } else { 0 }, Release);
    }

    /// Lets handles be believed.
    pub(crate) fn believe_handles(&self) {
        self.handles.store(1, Relaxed);
    }

    /// Whether a handle may be read without a look into the list of those that are alive.
    #[inline(always)]
    pub(crate) fn believes(&self, handle: usize) -> bool {
        handle >= self.handles.load(Relaxed)
    }

    /// Lets a fence and a quiet look for more than the processor's stores.
    pub(crate) fn order_more(&self) {
        self.orders.store(true, Release);
    }

    /// Whether a fence or a quiet has more to look for than the processor's stores.
    #[inline(always)]
    pub(crate) fn orders_more(&self) -> bool {
        self.orders.load(Acquire)
    }

    /// Lets calls on memory of the node be steps.
    pub(crate) fn take_turns(&self) {
        self.turns.store(true, Relaxed);
    }

    /// Whether a call on memory of the node is a step.
    #[inline(always)]
    pub(crate) fn takes_turns(&self) -> bool {
        self.turns.load(Relaxed)
    }

    /// Where `bytes` bytes of the caller's lie that are symmetric and need no further look: their region, and the offset in it.
    #[inline(always)]
    pub(crate) fn place(&self, address: usize, bytes: usize) -> Option<(Region, u64)> {
        if self.windows.load(Acquire) == 0 {
            return None;
        }
        match self.heap.offset(address, bytes) {
            Some(offset) => Some((Region::Heap, offset)),
            None => self.statics.offset(address, bytes).map(|offset| (Region::Statics, offset)),
        }
    }

    /// Lets everything miss.
    pub(crate) fn close(&self) {
        self.handles.store(usize::MAX, Relaxed);
        self.orders.store(false, Relaxed);
        self.turns.store(false, Relaxed);
        self.windows.store(0, Relaxed);
        self.atomic_windows.store(0, Relaxed);
        self.heap.close();
        self.statics.close();
    }
}

/// The window of world number `pe`, if it has one.
#[inline(always)]
pub(crate) fn window(pe: u32) -> Option<u32> {
    let windows = FAST.windows.load(Acquire);
    let window = pe.wrapping_sub(FAST.first.load(Relaxed));
    if window < windows { Some(window) } else { missed() }
}

/// Whether world number `pe` has a window, or nothing is known of windows here.
#[inline(always)]
pub(crate) fn may_have_window(pe: u32) -> bool {
    let windows = FAST.windows.load(Acquire);
    // With no windows the difference is the largest number, so every PE passes.
    pe.wrapping_sub(FAST.first.load(Relaxed)) <= windows.wrapping_sub(1)
}

/// Returns `None`. It is cold, so the compiler moves the paths that lead here away from those that hit.
#[cold]
#[inline]
fn missed<T>() -> Option<T> {
    None
}

/// The window of world number `pe`, if it has one in which the processor does atomics.
#[inline(always)]
pub(crate) fn atomic_window(pe: u32) -> Option<u32> {
    let windows = FAST.atomic_windows.load(Acquire);
    let window = pe.wrapping_sub(FAST.first.load(Relaxed));
    if window < windows { Some(window) } else { missed() }
}

/// Where `bytes` bytes at the caller's symmetric `address` lie on world number `pe`, if they can be reached by load
/// and store and the arithmetic finds them.
#[inline(always)]
pub(crate) fn near<T>(address: *const T, bytes: usize, pe: u32) -> Option<*mut T> {
    let window = window(pe)?;
    let at = address as usize;
    if FAST.heap.holds(at, bytes) {
        return Some(FAST.heap.in_window(at, window) as *mut T);
    }
    if FAST.statics.holds(at, bytes) {
        return Some(FAST.statics.in_window(at, window) as *mut T);
    }
    missed()
}

/// [`near`] for one object of a few bytes. Only its first byte is looked at: extents end with a page, so an aligned
/// object that begins inside ends inside, and of a misaligned one at most some bytes of the next mapped page are meant.
#[inline(always)]
pub(crate) fn near_object<T>(address: *const T, pe: u32) -> Option<*mut T> {
    object_in(window(pe)?, address)
}

/// [`near_object`] for an atomic.
#[inline(always)]
pub(crate) fn near_atomic<T>(address: *const T, pe: u32) -> Option<*mut T> {
    object_in(atomic_window(pe)?, address)
}

/// The copy in a window of an object of a few bytes.
#[inline(always)]
fn object_in<T>(window: u32, address: *const T) -> Option<*mut T> {
    const { assert!(size_of::<T>() <= 16) };
    let at = address as usize;
    if FAST.heap.holds_byte(at) {
        return Some(FAST.heap.in_window(at, window) as *mut T);
    }
    if FAST.statics.holds_byte(at) {
        return Some(FAST.statics.in_window(at, window) as *mut T);
    }
    missed()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Own memory in window 2 of windows that begin at 0x1000_0000, 1 MiB apart.
    fn extent() -> Extent {
        let extent = Extent::none();
        extent.open(0x1020_0000, 0x3000, 0x1000_0000, 20);
        extent
    }

    #[test]
    fn an_extent_holds_what_lies_inside_completely() {
        let extent = extent();
        let (start, end) = (0x1020_0000, 0x1020_3000);
        assert!(extent.holds(start, 0x3000) && extent.holds(end - 1, 1) && extent.holds(start + 8, 0));
        assert!(!extent.holds(start - 1, 1) && !extent.holds(end, 0) && !extent.holds(end - 1, 2));
        assert!(!extent.holds(0, 1) && !extent.holds(usize::MAX, 1));
        // A length that wraps around the address space.
        assert!(!extent.holds(start + 8, usize::MAX) && !extent.holds(start, usize::MAX - start + 1));
    }

    #[test]
    fn an_extent_grows_and_closes() {
        let extent = extent();
        assert!(!extent.holds(0x1020_3000, 8));
        extent.grow(0x4000);
        assert!(extent.holds(0x1020_3000, 8));
        extent.close();
        assert!(!extent.holds(0x1020_0000, 1) && !Extent::none().holds(0, 0));
    }

    #[test]
    fn copies_lie_at_the_same_offset_of_every_window() {
        let extent = extent();
        for window in [0, 1, 2, 9] {
            assert_eq!(extent.in_window(0x1020_0123, window), 0x1000_0123 + ((window as usize) << 20));
        }
        // Statics: the own copy lies outside the windows, above them or below.
        for start in [0x7f00_0000, 0x1000] {
            let statics = Extent::none();
            statics.open(start, 0x1000, 0x1000_0000, 16);
            assert_eq!(statics.in_window(start + 8, 3), 0x1003_0008);
        }
    }

    #[test]
    fn a_byte_has_one_name_and_what_is_not_symmetric_has_none_of_these() {
        let fast = Fast::closed();
        fast.heap.open(0x1000, 0x1000, 0x1000_0000, 16);
        fast.statics.open(0x8000, 0x1000, 0x2000_0000, 16);
        let (symmetric, other) = ([0x1000, 0x1fff, 0x8000, 0x8fff], [0, 0xfff, 0x2000, 0x7fff, 0x9000]);
        for at in symmetric {
            assert_eq!((fast.name(at, 1), fast.named(fast.compared_name(at))), (Some(fast.compared_name(at)), at));
        }
        assert!(other.iter().all(|&at| fast.name(at, 1).is_none()));
        let names: Vec<u64> = symmetric.iter().chain(&other).map(|&at| fast.compared_name(at)).collect();
        for (i, name) in names.iter().enumerate() {
            assert!(!names[..i].contains(name), "{names:x?}");
        }
    }

    #[test]
    fn no_null_handle_is_believed_and_none_while_they_are_checked() {
        let fast = Fast::closed();
        assert!([0, 1, 0x5555_0000].iter().all(|&handle| !fast.believes(handle)));
        fast.believe_handles();
        assert_eq!([0, 1, 0x5555_0000].map(|handle| fast.believes(handle)), [false, true, true]);
        fast.close();
        assert!(!fast.believes(0x5555_0000));
    }

    #[test]
    fn only_pe_numbers_with_a_window_hit() {
        // The one table, which no other test opens.
        assert_eq!(window(0), None);
        let hits = |window: fn(u32) -> Option<u32>| [-1, 0, 3, 4, 6, 7, i32::MIN].map(|pe| window(pe as u32));
        assert!(may_have_window(0) && may_have_window(u32::MAX));
        FAST.open(4, 3, true);
        assert_eq!([u32::MAX, 0, 3, 4, 6, 7].map(may_have_window), [false, false, false, true, true, false]);
        assert_eq!(hits(window), [None, None, None, Some(0), Some(2), None, None]);
        assert_eq!(hits(atomic_window), hits(window));
        FAST.open(4, 3, false);
        assert_eq!(hits(window), [None, None, None, Some(0), Some(2), None, None]);
        assert_eq!(hits(atomic_window), [None; 7]);
        FAST.close();
        assert_eq!(hits(window), [None; 7]);
    }
}
