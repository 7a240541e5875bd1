//! Atomic memory operations.
//!
//! On the node they are the processor's own. All PEs of a job use one domain (see ARCHITECTURE.md), so an update is
//! atomic against every other PE's, the owner's included. Updates release and fetches acquire, which costs nothing
//! on x86 and lets programs hand over data by compare-and-swap on every machine.

use core::ffi::c_int;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Release};

use crate::far;
use crate::fast::{Via, near_object};

/// A type that the atomic calls know: what they do to one object of it.
///
/// # Safety
/// Implementations touch nothing but the object, and only with one atomic access.
pub unsafe trait Atomic: Copy {
    /// Reads. # Safety: `at` is valid and aligned for the whole trait.
    unsafe fn load(at: *mut Self) -> Self;
    /// Writes. # Safety: as `load`.
    unsafe fn store(at: *mut Self, value: Self);
    /// Replaces, and says what was there. # Safety: as `load`.
    unsafe fn swap(at: *mut Self, value: Self) -> Self;
}

/// An [`Atomic`] that can be compared and counted with.
///
/// # Safety
/// As for [`Atomic`].
pub unsafe trait AtomicInteger: Atomic {
    /// The number one.
    const ONE: Self;
    /// Adds, wrapping; says what was there. # Safety: as [`Atomic::load`], also below.
    unsafe fn fetch_add(at: *mut Self, value: Self) -> Self;
    /// Stores `value` if `cond` is there; says what was there.
    unsafe fn compare_swap(at: *mut Self, cond: Self, value: Self) -> Self;
    /// Bitwise and; says what was there.
    unsafe fn fetch_and(at: *mut Self, value: Self) -> Self;
    /// Bitwise or; says what was there.
    unsafe fn fetch_or(at: *mut Self, value: Self) -> Self;
    /// Bitwise exclusive or; says what was there.
    unsafe fn fetch_xor(at: *mut Self, value: Self) -> Self;
}

macro_rules! atomic_integer {
    ($($int:ty => $atomic:ident),*) => {$(
        // SAFETY: each method is one access of the standard library's atomic on the object that the caller vouches for.
        unsafe impl Atomic for $int {
            #[inline(always)]
            unsafe fn load(at: *mut Self) -> Self {
                // SAFETY: valid and aligned by the caller's promise.
                unsafe { core::sync::atomic::$atomic::from_ptr(at) }.load(Acquire)
            }
            #[inline(always)]
            unsafe fn store(at: *mut Self, value: Self) {
                // SAFETY: as above.
                unsafe { core::sync::atomic::$atomic::from_ptr(at) }.store(value, Release)
            }
            #[inline(always)]
            unsafe fn swap(at: *mut Self, value: Self) -> Self {
                // SAFETY: as above.
                unsafe { core::sync::atomic::$atomic::from_ptr(at) }.swap(value, AcqRel)
            }
        }
        // SAFETY: as above.
        unsafe impl AtomicInteger for $int {
            const ONE: Self = 1;
            #[inline(always)]
            unsafe fn fetch_add(at: *mut Self, value: Self) -> Self {
                // SAFETY: as above.
                unsafe { core::sync::atomic::$atomic::from_ptr(at) }.fetch_add(value, AcqRel)
            }
            #[inline(always)]
            unsafe fn compare_swap(at: *mut Self, cond: Self, value: Self) -> Self {
                // SAFETY: as above.
                let object = unsafe { core::sync::atomic::$atomic::from_ptr(at) };
                object.compare_exchange(cond, value, AcqRel, Acquire).unwrap_or_else(|there| there)
            }
            #[inline(always)]
            unsafe fn fetch_and(at: *mut Self, value: Self) -> Self {
                // SAFETY: as above.
                unsafe { core::sync::atomic::$atomic::from_ptr(at) }.fetch_and(value, AcqRel)
            }
            #[inline(always)]
            unsafe fn fetch_or(at: *mut Self, value: Self) -> Self {
                // SAFETY: as above.
                unsafe { core::sync::atomic::$atomic::from_ptr(at) }.fetch_or(value, AcqRel)
            }
            #[inline(always)]
            unsafe fn fetch_xor(at: *mut Self, value: Self) -> Self {
                // SAFETY: as above.
                unsafe { core::sync::atomic::$atomic::from_ptr(at) }.fetch_xor(value, AcqRel)
            }
        }
    )*};
}

atomic_integer!(
    i8 => AtomicI8, u8 => AtomicU8, i16 => AtomicI16, u16 => AtomicU16, i32 => AtomicI32, u32 => AtomicU32,
    i64 => AtomicI64, u64 => AtomicU64, isize => AtomicIsize, usize => AtomicUsize
);

macro_rules! atomic_float {
    ($($float:ty => $bits:ty),*) => {$(
        // SAFETY: the integer of the same size does the access; bits are moved unchanged (AMO-6).
        unsafe impl Atomic for $float {
            #[inline(always)]
            unsafe fn load(at: *mut Self) -> Self {
                // SAFETY: same size and alignment as the integer.
                <$float>::from_bits(unsafe { <$bits>::load(at.cast()) })
            }
            #[inline(always)]
            unsafe fn store(at: *mut Self, value: Self) {
                // SAFETY: as above.
                unsafe { <$bits>::store(at.cast(), value.to_bits()) }
            }
            #[inline(always)]
            unsafe fn swap(at: *mut Self, value: Self) -> Self {
                // SAFETY: as above.
                <$float>::from_bits(unsafe { <$bits>::swap(at.cast(), value.to_bits()) })
            }
        }
    )*};
}

atomic_float!(f32 => u32, f64 => u64);

/// The object itself, wherever it is on the node. Misaligned objects miss: they have no atomics.
#[inline(always)]
fn object<V: Via, T>(via: V, address: *const T, pe: c_int) -> *mut T {
    if address as usize & (size_of::<T>() - 1) == 0
        && let Some(there) = near_object(address, via.world(pe))
    {
        return there;
    }
    far::object(via.call(), via.context(), address, pe)
}

/// Reads.
///
/// # Safety
/// As the standard asks of the atomic calls: `source` is a symmetric object that only atomics of its type touch.
#[inline(always)]
pub unsafe fn fetch<V: Via, T: Atomic>(via: V, source: *const T, pe: c_int) -> T {
    // SAFETY: `object` returns a mapped, aligned object; the caller keeps the standard's rules for it. So below.
    unsafe { T::load(object(via, source, pe)) }
}

/// Writes.
///
/// # Safety
/// As for [`fetch`].
#[inline(always)]
pub unsafe fn set<V: Via, T: Atomic>(via: V, dest: *mut T, value: T, pe: c_int) {
    // SAFETY: as in `fetch`.
    unsafe { T::store(object(via, dest, pe), value) }
}

/// Replaces.
///
/// # Safety
/// As for [`fetch`].
#[inline(always)]
pub unsafe fn swap<V: Via, T: Atomic>(via: V, dest: *mut T, value: T, pe: c_int) -> T {
    // SAFETY: as in `fetch`.
    unsafe { T::swap(object(via, dest, pe), value) }
}

/// Stores `value` if `cond` is there.
///
/// # Safety
/// As for [`fetch`].
#[inline(always)]
pub unsafe fn compare_swap<V: Via, T: AtomicInteger>(via: V, dest: *mut T, cond: T, value: T, pe: c_int) -> T {
    // SAFETY: as in `fetch`.
    unsafe { T::compare_swap(object(via, dest, pe), cond, value) }
}

/// Adds one and says what was there.
///
/// # Safety
/// As for [`fetch`].
#[inline(always)]
pub unsafe fn fetch_inc<V: Via, T: AtomicInteger>(via: V, dest: *mut T, pe: c_int) -> T {
    // SAFETY: as in `fetch`.
    unsafe { T::fetch_add(object(via, dest, pe), T::ONE) }
}

/// Adds one.
///
/// # Safety
/// As for [`fetch`].
#[inline(always)]
pub unsafe fn inc<V: Via, T: AtomicInteger>(via: V, dest: *mut T, pe: c_int) {
    // SAFETY: as in `fetch`.
    unsafe { T::fetch_add(object(via, dest, pe), T::ONE) };
}

macro_rules! operation {
    ($($fetching:ident $plain:ident $nbi:ident: $what:literal),*) => {$(
        #[doc = concat!($what, " and says what was there.")]
        ///
        /// # Safety
        /// As for [`fetch`].
        #[inline(always)]
        pub unsafe fn $fetching<V: Via, T: AtomicInteger>(via: V, dest: *mut T, value: T, pe: c_int) -> T {
            // SAFETY: as in `fetch`.
            unsafe { T::$fetching(object(via, dest, pe), value) }
        }
        #[doc = concat!($what, ".")]
        ///
        /// # Safety
        /// As for [`fetch`].
        #[inline(always)]
        pub unsafe fn $plain<V: Via, T: AtomicInteger>(via: V, dest: *mut T, value: T, pe: c_int) {
            // SAFETY: as in `fetch`.
            unsafe { T::$fetching(object(via, dest, pe), value) };
        }
        #[doc = concat!($what, "; what was there is in `result` after the next quiet.")]
        ///
        /// # Safety
        /// As for [`fetch`]; `result` is writable until the next quiet.
        #[inline(always)]
        pub unsafe fn $nbi<V: Via, T: AtomicInteger>(via: V, result: *mut T, dest: *mut T, value: T, pe: c_int) {
            // SAFETY: as in `fetch`, and the caller vouches for `result`.
            unsafe { result.write_unaligned(T::$fetching(object(via, dest, pe), value)) }
        }
    )*};
}

operation!(
    fetch_add add fetch_add_nbi: "Adds",
    fetch_and and fetch_and_nbi: "Bitwise and",
    fetch_or or fetch_or_nbi: "Bitwise or",
    fetch_xor xor fetch_xor_nbi: "Bitwise exclusive or"
);

/// Reads; the value is in `result` after the next quiet.
///
/// # Safety
/// As for [`fetch`]; `result` is writable until the next quiet. So below.
#[inline(always)]
pub unsafe fn fetch_nbi<V: Via, T: Atomic>(via: V, result: *mut T, source: *const T, pe: c_int) {
    // SAFETY: as in `fetch`, and the caller vouches for `result`. So below.
    unsafe { result.write_unaligned(fetch(via, source, pe)) }
}

/// Replaces; what was there is in `result` after the next quiet.
///
/// # Safety
/// As for [`fetch_nbi`].
#[inline(always)]
pub unsafe fn swap_nbi<V: Via, T: Atomic>(via: V, result: *mut T, dest: *mut T, value: T, pe: c_int) {
    // SAFETY: as in `fetch_nbi`.
    unsafe { result.write_unaligned(swap(via, dest, value, pe)) }
}

/// Stores `value` if `cond` is there; what was there is in `result` after the next quiet.
///
/// # Safety
/// As for [`fetch_nbi`].
#[inline(always)]
pub unsafe fn compare_swap_nbi<V: Via, T: AtomicInteger>(
    via: V,
    result: *mut T,
    dest: *mut T,
    cond: T,
    value: T,
    pe: c_int,
) {
    // SAFETY: as in `fetch_nbi`.
    unsafe { result.write_unaligned(compare_swap(via, dest, cond, value, pe)) }
}

/// Adds one; what was there is in `result` after the next quiet.
///
/// # Safety
/// As for [`fetch_nbi`].
#[inline(always)]
pub unsafe fn fetch_inc_nbi<V: Via, T: AtomicInteger>(via: V, result: *mut T, dest: *mut T, pe: c_int) {
    // SAFETY: as in `fetch_nbi`.
    unsafe { result.write_unaligned(fetch_inc(via, dest, pe)) }
}
