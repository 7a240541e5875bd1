//! Atomic memory operations.
//!
//! On the node they are the processor's own, unless the network does those of the whole job: all PEs use one domain (see
//! ARCHITECTURE.md), so an update is atomic against every other PE's, the owner's included. Updates release and fetches
//! acquire, which costs nothing on x86 and lets programs hand over data by compare-and-swap on every machine.

use core::ffi::c_int;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use oxshmem_transport::Amo;

use crate::far;
use crate::fast::{Via, World, near_atomic};
use crate::life;
use crate::network;

/// A type that the atomic calls know: what they do to one object of it.
///
/// # Safety
/// Implementations touch nothing but the object, and only with one atomic access.
pub unsafe trait Atomic: Copy {
    /// The object's bits, in the low bytes.
    fn bits(self) -> u64;
    /// The value with these bits in the low bytes.
    fn of_bits(bits: u64) -> Self;
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
    /// Adds, wrapping; says what was there. # Safety: as [`Atomic::load`].
    unsafe fn fetch_add(at: *mut Self, value: Self) -> Self;
    /// Stores `value` if `cond` is there; says what was there. # Safety: as [`Atomic::load`].
    unsafe fn compare_swap(at: *mut Self, cond: Self, value: Self) -> Self;
    /// Bitwise and; says what was there. # Safety: as [`Atomic::load`].
    unsafe fn fetch_and(at: *mut Self, value: Self) -> Self;
    /// Bitwise or; says what was there. # Safety: as [`Atomic::load`].
    unsafe fn fetch_or(at: *mut Self, value: Self) -> Self;
    /// Bitwise exclusive or; says what was there. # Safety: as [`Atomic::load`].
    unsafe fn fetch_xor(at: *mut Self, value: Self) -> Self;
}

macro_rules! atomic_integer {
    ($($int:ty => $atomic:ident),*) => {$(
        // SAFETY: each method is one access of the standard library's atomic on the object that the caller vouches for.
        unsafe impl Atomic for $int {
            #[inline(always)]
            fn bits(self) -> u64 {
                self as u64
            }
            #[inline(always)]
            fn of_bits(bits: u64) -> Self {
                bits as Self
            }
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
            fn bits(self) -> u64 {
                self.to_bits().into()
            }
            #[inline(always)]
            fn of_bits(bits: u64) -> Self {
                Self::from_bits(bits as $bits)
            }
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

/// The object itself, if it is on the node and the processor does atomics. Misaligned objects miss: they have no atomics.
#[inline(always)]
fn object<V: Via, T>(via: V, address: *const T, pe: c_int) -> Option<*mut T> {
    if address as usize & (size_of::<T>() - 1) != 0 {
        return None;
    }
    near_atomic(address, via.world(pe))
}

/// Reads.
///
/// # Safety
/// As the standard asks of the atomic calls: `source` is a symmetric object that only atomics of its type touch.
#[inline(always)]
pub unsafe fn fetch<V: Via, T: Atomic>(via: V, source: *const T, pe: c_int) -> T {
    match object(via, source, pe) {
        // SAFETY: `object` returns a mapped, aligned object; the caller keeps the standard's rules for it. So below.
        Some(there) => unsafe { T::load(there) },
        // SAFETY: passed on. So below.
        None => unsafe { far::amo(via.call(), via.context(), source, Amo::Fetch, true, pe) },
    }
}

/// Writes.
///
/// # Safety
/// As for [`fetch`].
#[inline(always)]
pub unsafe fn set<V: Via, T: Atomic>(via: V, dest: *mut T, value: T, pe: c_int) {
    match object(via, dest, pe) {
        // SAFETY: as in `fetch`.
        Some(there) => unsafe { T::store(there, value) },
        None => {
            // SAFETY: as in `fetch`.
            unsafe { far::amo(via.call(), via.context(), dest, Amo::Swap(value.bits()), false, pe) };
        }
    }
}

/// Writes the caller's own copy, which its next load sees.
///
/// # Safety
/// As for [`fetch`].
#[inline(always)]
pub unsafe fn store<T: Atomic>(call: &'static str, own: *mut T, value: T) {
    // SAFETY: as in `fetch`.
    unsafe {
        if network::does_atomics() {
            swap(World(call), own, value, life::MY_PE.load(Relaxed));
        } else {
            T::store(own, value);
        }
    }
}

/// Replaces.
///
/// # Safety
/// As for [`fetch`].
#[inline(always)]
pub unsafe fn swap<V: Via, T: Atomic>(via: V, dest: *mut T, value: T, pe: c_int) -> T {
    match object(via, dest, pe) {
        // SAFETY: as in `fetch`.
        Some(there) => unsafe { T::swap(there, value) },
        // SAFETY: as in `fetch`.
        None => unsafe { far::amo(via.call(), via.context(), dest, Amo::Swap(value.bits()), true, pe) },
    }
}

/// Stores `value` if `cond` is there.
///
/// # Safety
/// As for [`fetch`].
#[inline(always)]
pub unsafe fn compare_swap<V: Via, T: AtomicInteger>(via: V, dest: *mut T, cond: T, value: T, pe: c_int) -> T {
    match object(via, dest, pe) {
        // SAFETY: as in `fetch`.
        Some(there) => unsafe { T::compare_swap(there, cond, value) },
        None => {
            let amo = Amo::CompareSwap { cond: cond.bits(), value: value.bits() };
            // SAFETY: as in `fetch`.
            unsafe { far::amo(via.call(), via.context(), dest, amo, true, pe) }
        }
    }
}

/// Adds one and says what was there.
///
/// # Safety
/// As for [`fetch`].
#[inline(always)]
pub unsafe fn fetch_inc<V: Via, T: AtomicInteger>(via: V, dest: *mut T, pe: c_int) -> T {
    // SAFETY: passed on.
    unsafe { fetch_add(via, dest, T::ONE, pe) }
}

/// Adds one.
///
/// # Safety
/// As for [`fetch`].
#[inline(always)]
pub unsafe fn inc<V: Via, T: AtomicInteger>(via: V, dest: *mut T, pe: c_int) {
    // SAFETY: passed on.
    unsafe { add(via, dest, T::ONE, pe) }
}

macro_rules! operation {
    ($($fetching:ident $plain:ident $nbi:ident $amo:ident: $what:literal),*) => {$(
        #[doc = concat!($what, " and says what was there.")]
        ///
        /// # Safety
        /// As for [`fetch`].
        #[inline(always)]
        pub unsafe fn $fetching<V: Via, T: AtomicInteger>(via: V, dest: *mut T, value: T, pe: c_int) -> T {
            match object(via, dest, pe) {
                // SAFETY: as in `fetch`.
                Some(there) => unsafe { T::$fetching(there, value) },
                // SAFETY: as in `fetch`.
                None => unsafe { far::amo(via.call(), via.context(), dest, Amo::$amo(value.bits()), true, pe) },
            }
        }
        #[doc = concat!($what, ".")]
        ///
        /// # Safety
        /// As for [`fetch`].
        #[inline(always)]
        pub unsafe fn $plain<V: Via, T: AtomicInteger>(via: V, dest: *mut T, value: T, pe: c_int) {
            // SAFETY: as in `fetch`.
            unsafe {
                match object(via, dest, pe) {
                    Some(there) => T::$fetching(there, value),
                    None => far::amo(via.call(), via.context(), dest, Amo::$amo(value.bits()), false, pe),
                };
            }
        }
        #[doc = concat!($what, "; what was there is in `result` after the next quiet.")]
        ///
        /// # Safety
        /// As for [`fetch`]; `result` is writable until the next quiet.
        #[inline(always)]
        pub unsafe fn $nbi<V: Via, T: AtomicInteger>(via: V, result: *mut T, dest: *mut T, value: T, pe: c_int) {
            // SAFETY: as in `fetch`, and the caller vouches for `result`.
            unsafe { result.write_unaligned($fetching(via, dest, value, pe)) }
        }
    )*};
}

operation!(
    fetch_add add fetch_add_nbi Add: "Adds",
    fetch_and and fetch_and_nbi And: "Bitwise and",
    fetch_or or fetch_or_nbi Or: "Bitwise or",
    fetch_xor xor fetch_xor_nbi Xor: "Bitwise exclusive or"
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
