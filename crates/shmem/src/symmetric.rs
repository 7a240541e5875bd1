//! A place in symmetric memory: every PE has its own copy, and may read and write those of all PEs.

mod index;

use core::cell::UnsafeCell;
use core::fmt;
use core::mem::MaybeUninit;
use core::ops::{Bound, RangeBounds};
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

use crate::{Plain, Resident, backend};

/// A place for a `T`, or for a slice of them, in symmetric memory.
///
/// There is never a `&T` or `&mut T` to what lies in it, because other PEs may write it at any time: values are copied
/// in and out. What it offers depends on `T`:
/// [plain](Plain) data can be [put](Self::put) and [got](Self::get), an [`Atomic`](crate::Atomic) has the atomic
/// operations, a [`Signal`](crate::Signal) and a [`Lock`](crate::Lock) theirs.
///
/// # Races
///
/// An integer or a floating-point number of up to eight bytes is a word, and so is every other type of 1, 2, 4 or 8 bytes that
/// is aligned to its size. Neither `[u32; 2]` nor `Complex<f32>` is, which are aligned to four bytes.
/// `load`, `store`, `put` and `get` of a word are relaxed atomic accesses, from threads, PEs of the node and PEs of other
/// nodes alike: they may meet at any time, and each sees a whole value. They order nothing else; signals, atomics and
/// barriers do.
///
/// `load` and `store` of other values are one such access for each word of their alignment. `put` and `get` of other
/// values, and all transfers of slices, are bulk copies. Rust's memory model has no copy of many bytes that may race, so a
/// program orders a bulk transfer with every other use of the same elements, by a signal or a barrier say. Where it does
/// not, the transfer may be torn, but makes no invalid value: every pattern of bits is one ([`Resident`]).
///
/// # Where they come from
///
/// Places come from [`World::allocate`](crate::World::allocate) and [`symmetric!`](crate::symmetric). Slices of them
/// index as slices do: `a[3]` is the place of an element, `a[2..5]` of three.
///
/// ```
/// let world = oxshmem::World::init()?;
/// let numbers = world.allocate_slice(10, 7_u64)?;
/// numbers[3].store(8);
/// assert_eq!(numbers[2..5].to_vec(), [7, 8, 7]);
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[repr(transparent)]
pub struct Symmetric<T: ?Sized>(UnsafeCell<T>);

// SAFETY: the methods copy values in and out without making references to them. Words are copied by relaxed atomic accesses on
// both sides (`copy_words` here, `rma::p` and `rma::g` in the runtime); the program orders bulk transfers with other uses, as
// the type's documentation asks, and what a race tears is a value, by the promise of `Resident`.
unsafe impl<T: Resident> Sync for Symmetric<T> {}
// SAFETY: a slice is used by the methods of its elements and by bulk transfers, and both copy values in and out without
// references; `Resident` promises that torn values are values.
unsafe impl<T: Resident> Sync for Symmetric<[T]> {}

impl<T: ?Sized> fmt::Debug for Symmetric<T> {
    /// Where this PE's copy is; what it holds is in flux.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Symmetric({:p})", self.0.get())
    }
}

/// Static variables in symmetric memory, as many as you like in one macro.
///
/// ```
/// oxshmem::symmetric! {
///     static TOTAL: u64 = 0;
///     /// Everybody's share.
///     pub static SHARES: [f64; 8] = [0.0; 8];
/// }
/// let world = oxshmem::World::init()?;
/// TOTAL.put(5, world.my_pe());
/// assert_eq!((TOTAL.load(), SHARES.len()), (5, 8));
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[macro_export]
macro_rules! symmetric {
    ($($(#[$attribute:meta])* $visible:vis static $name:ident: $type:ty = $value:expr;)+) => {$(
        $(#[$attribute])*
        $visible static $name: $crate::Symmetric<$type> = {
            // A local, because a constant's name would hide one of the program's.
            let first: $type = $value;
            // SAFETY: this is the static variable.
            unsafe { $crate::Symmetric::in_static(first) }
        };
    )+};
}

impl<T: Resident> Symmetric<T> {
    /// For [`symmetric!`](crate::symmetric).
    ///
    /// # Safety
    /// It becomes a static variable, whole: in a part of one, say of an `enum`, a put could meet something else on
    /// another PE.
    #[doc(hidden)]
    pub const unsafe fn in_static(value: T) -> Self {
        const { assert!(align_of::<T>() <= 64, "symmetric memory is aligned to 64 bytes") };
        Self(UnsafeCell::new(value))
    }

    /// The address of this PE's copy, for calls of C.
    ///
    /// (Where the PEs are [threads](crate::test::threads), a static variable has copies, and this is not one of them.)
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let number = world.allocate(1_u32)?;
    /// assert!(number.as_ptr().is_aligned());
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    #[must_use]
    pub const fn as_ptr(&self) -> *mut T {
        self.0.get()
    }

    /// Where this PE's copy is.
    #[inline(always)]
    pub(crate) fn own(&self) -> *mut T {
        backend::own_copy(self.as_ptr())
    }

    /// As a slice of one.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// assert_eq!(world.allocate(1_u32)?.as_slice().len(), 1);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn as_slice(&self) -> &Symmetric<[T]> {
        // SAFETY: an object is an array of one.
        unsafe { Symmetric::of(self.own(), 1) }
    }
}

impl<T: Plain> Symmetric<T> {
    /// The value of this PE's copy.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// assert_eq!(world.allocate(2.5)?.load(), 2.5);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    #[must_use]
    #[cfg_attr(feature = "race", track_caller)]
    pub fn load(&self) -> T {
        backend::look();
        backend::detector::reads(self.as_ptr(), 1);
        self.read()
    }

    /// [`load`](Self::load) among others.
    #[inline(always)]
    fn read(&self) -> T {
        let mut value = MaybeUninit::<T>::uninit();
        // SAFETY: a place is valid and aligned; words of it are read as they are, and make a value by `Plain`.
        unsafe {
            copy_words::<T, true>(self.own(), value.as_mut_ptr());
            value.assume_init()
        }
    }

    /// Writes this PE's copy.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let number = world.allocate(1)?;
    /// number.store(2);
    /// assert_eq!(number.load(), 2);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    #[cfg_attr(feature = "race", track_caller)]
    pub fn store(&self, value: T) {
        backend::detector::writes(self.as_ptr(), 1);
        self.write(value);
    }

    /// [`store`](Self::store) among others.
    #[inline(always)]
    fn write(&self, value: T) {
        // SAFETY: a place is valid and aligned, and so is the local; only words are copied, and their bits are those of a
        // `T`.
        unsafe { copy_words::<T, false>(self.own(), (&raw const value).cast_mut()) }
    }
}

impl<T: Resident> Symmetric<[T]> {
    /// # Safety
    /// There are `len` elements at `start`, valid and shared for as long as the caller's reference says.
    #[inline(always)]
    pub(crate) unsafe fn of<'a>(start: *mut T, len: usize) -> &'a Self {
        let whole = ptr::slice_from_raw_parts_mut(start, len);
        // SAFETY: the caller promises `len` valid elements for the lifetime `'a`; a place has the layout of what lies in
        // it.
        unsafe { &*(whole as *const Self) }
    }

    /// The address of this PE's copy, for calls of C.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let numbers = world.allocate_slice(3, 1_u32)?;
    /// assert_eq!(numbers[1].as_ptr(), numbers.as_ptr().wrapping_add(1));
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    #[must_use]
    pub const fn as_ptr(&self) -> *mut T {
        self.0.get().cast()
    }

    /// How many elements.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// assert_eq!(world.allocate_slice(3, 1)?.len(), 3);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.get().len()
    }

    /// Whether there are none.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// assert!(world.allocate_slice(3, 1)?[3..].is_empty());
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The place of element `i`, or `None` beyond the end. `[i]` panics there, as on slices.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let numbers = world.allocate_slice(3, 1)?;
    /// assert!(numbers.at(2).is_some() && numbers.at(3).is_none());
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn at(&self, i: usize) -> Option<&Symmetric<T>> {
        // SAFETY: element `i` lies inside the slice.
        (i < self.len()).then(|| unsafe { &*self.as_ptr().add(i).cast_const().cast() })
    }

    /// A part of the slice, or `None` if it is not inside. `[range]` panics then, as on slices.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let numbers = world.allocate_slice(3, 1)?;
    /// assert!(numbers.part(1..).is_some_and(|part| part.len() == 2));
    /// assert!(numbers.part(2..4).is_none());
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn part(&self, range: impl RangeBounds<usize>) -> Option<&Self> {
        let begin = match range.start_bound() {
            Bound::Included(&begin) => begin,
            Bound::Excluded(&before) => before.checked_add(1)?,
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&last) => last.checked_add(1)?,
            Bound::Excluded(&end) => end,
            Bound::Unbounded => self.len(),
        };
        // SAFETY: the part lies inside the slice.
        (begin <= end && end <= self.len()).then(|| unsafe { Self::of(self.as_ptr().add(begin), end - begin) })
    }

    /// The places of the elements, in order.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let numbers = world.allocate_slice(3, 1)?;
    /// assert_eq!(numbers.iter().map(|number| number.load()).sum::<i32>(), 3);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Symmetric<T>> + DoubleEndedIterator {
        // SAFETY: `i` is less than the length, and the place of an element has the layout of the element.
        (0..self.len()).map(|i| unsafe { &*self.as_ptr().add(i).cast_const().cast() })
    }
}

impl<T: Plain> Symmetric<[T]> {
    /// Copies this PE's elements out.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// assert_eq!(world.allocate_slice(2, 9)?.to_vec(), [9, 9]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[must_use]
    #[cfg_attr(feature = "race", track_caller)]
    pub fn to_vec(&self) -> Vec<T> {
        backend::look();
        backend::detector::reads(self.as_ptr(), self.len());
        self.iter().map(|place| place.read()).collect()
    }

    /// Writes this PE's elements, one from each item, as far as both go. Returns how many.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let numbers = world.allocate_slice(3, 0)?;
    /// assert_eq!(numbers.store_all(1..), 3);
    /// assert_eq!(numbers.to_vec(), [1, 2, 3]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[cfg_attr(feature = "race", track_caller)]
    pub fn store_all(&self, values: impl IntoIterator<Item = T>) -> usize {
        let count = self.iter().zip(values).map(|(place, value)| place.write(value)).count();
        backend::detector::writes(self.as_ptr(), count);
        count
    }

    /// Writes one value to all of this PE's elements.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let numbers = world.allocate_slice(3, 0)?;
    /// numbers[1..].fill(4);
    /// assert_eq!(numbers.to_vec(), [0, 4, 4]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[cfg_attr(feature = "race", track_caller)]
    pub fn fill(&self, value: T) {
        backend::detector::writes(self.as_ptr(), self.len());
        self.iter().for_each(|place| place.write(value));
    }
}

/// Copies a value between a place and memory of the caller, in the largest words that fit size and alignment, each
/// read from or written to the place by one relaxed atomic access.
///
/// # Safety
/// `place` and `value` are valid for a `T`, and no other code uses `value`.
#[inline(always)]
unsafe fn copy_words<T, const OUT: bool>(place: *mut T, value: *mut T) {
    macro_rules! words {
        ($int:ty, $atomic:ty) => {
            for i in 0..size_of::<T>() / size_of::<$int>() {
                // SAFETY: word `i` lies inside the `T`s; the place's is aligned because the `T` is aligned to it.
                unsafe {
                    let word = <$atomic>::from_ptr(place.cast::<$int>().add(i));
                    let own = value.cast::<$int>().add(i);
                    if OUT {
                        own.write_unaligned(word.load(Relaxed));
                    } else {
                        word.store(own.read_unaligned(), Relaxed);
                    }
                }
            }
        };
    }
    match align_of::<T>() {
        1 => words!(u8, AtomicU8),
        2 => words!(u16, AtomicU16),
        4 => words!(u32, AtomicU32),
        _ => words!(u64, AtomicU64),
    }
}
