//! Atomic memory operations.
//!
//! On the node they are the processor's own, unless the network does those of the whole job: all PEs use one domain
//! (`docs/src/internals/networks.md`), so an update is atomic against every other PE's, the owner's included. Updates release and fetches
//! acquire, which costs nothing on x86 and lets programs hand over data by compare-and-swap on every machine.

use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;

use oxshmem_transport::Amo;

use crate::diagnosis::errors;
use crate::memory::direct::near_atomic;
use crate::network;
use crate::start::job;
use crate::teams::via::{InWorld, Via};
use crate::transfers::atomic::execute;
pub use crate::transfers::atomic::{AmoInteger, AmoType};
use crate::transfers::indirect::updates;

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
pub unsafe fn fetch<V: Via, T: AmoType>(via: V, source: *const T, pe: c_int) -> T {
    match object(via, source, pe) {
        // SAFETY: `object` returns a mapped, aligned object; which only atomics of its type touch, as the caller promises.
        Some(there) => unsafe { T::load(there) },
        // SAFETY: the caller promises a symmetric object that only atomics of its type touch.
        None => unsafe { updates::amo::<V, T>(via.call(), via.given(), source, Amo::Fetch, true, pe) },
    }
}

/// Writes.
///
/// # Safety
/// As for [`fetch`].
#[inline(always)]
pub unsafe fn set<V: Via, T: AmoType>(via: V, dest: *mut T, value: T, pe: c_int) {
    match object(via, dest, pe) {
        // SAFETY: `object` returns a mapped, aligned object, which only atomics of its type touch, as the caller promises.
        Some(there) => unsafe { T::store(there, value) },
        None => {
            // SAFETY: the caller promises a symmetric object that only atomics of its type touch.
            unsafe { updates::amo::<V, T>(via.call(), via.given(), dest, Amo::Swap(value.bits()), false, pe) };
        }
    }
}

/// Writes the caller's own copy, which its next load sees.
///
/// # Safety
/// As for [`fetch`].
#[inline(always)]
pub unsafe fn store<T: AmoType>(call: &'static str, own: *mut T, value: T) {
    // SAFETY: the caller promises a symmetric object that only atomics of its type touch.
    unsafe {
        if network::does_atomics() {
            swap(InWorld(call), own, value, job::MY_PE.load(Relaxed));
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
pub unsafe fn swap<V: Via, T: AmoType>(via: V, dest: *mut T, value: T, pe: c_int) -> T {
    match object(via, dest, pe) {
        // SAFETY: `object` returns a mapped, aligned object, which only atomics of its type touch, as the caller promises.
        Some(there) => unsafe { T::swap(there, value) },
        // SAFETY: the caller promises a symmetric object that only atomics of its type touch.
        None => unsafe { updates::amo::<V, T>(via.call(), via.given(), dest, Amo::Swap(value.bits()), true, pe) },
    }
}

/// Stores `value` if the old value is `cond`.
///
/// # Safety
/// As for [`fetch`].
#[inline(always)]
pub unsafe fn compare_swap<V: Via, T: AmoInteger>(via: V, dest: *mut T, cond: T, value: T, pe: c_int) -> T {
    match object(via, dest, pe) {
        // SAFETY: `object` returns a mapped, aligned object, which only atomics of its type touch, as the caller promises.
        Some(there) => unsafe { T::compare_swap(there, cond, value) },
        None => {
            let amo = Amo::CompareSwap { cond: cond.bits(), value: value.bits() };
            // SAFETY: the caller promises a symmetric object that only atomics of its type touch.
            unsafe { updates::amo::<V, T>(via.call(), via.given(), dest, amo, true, pe) }
        }
    }
}

/// Adds one and returns the old value.
///
/// # Safety
/// As for [`fetch`].
#[inline(always)]
pub unsafe fn fetch_inc<V: Via, T: AmoInteger>(via: V, dest: *mut T, pe: c_int) -> T {
    // SAFETY: the caller promises a symmetric object that only atomics of its type touch.
    unsafe { fetch_add(via, dest, T::ONE, pe) }
}

/// Adds one.
///
/// # Safety
/// As for [`fetch`].
#[inline(always)]
pub unsafe fn inc<V: Via, T: AmoInteger>(via: V, dest: *mut T, pe: c_int) {
    // SAFETY: the caller promises a symmetric object that only atomics of its type touch.
    unsafe { add(via, dest, T::ONE, pe) }
}

macro_rules! operation {
    ($($fetching:ident $plain:ident $nbi:ident $amo:ident: $what:literal),*) => {$(
        #[doc = concat!($what, " and returns the old value.")]
        ///
        /// # Safety
        /// As for [`fetch`].
        #[inline(always)]
        pub unsafe fn $fetching<V: Via, T: AmoInteger>(via: V, dest: *mut T, value: T, pe: c_int) -> T {
            match object(via, dest, pe) {
                // SAFETY: `object` returns a mapped, aligned object, which only atomics of its type touch, as the caller
                // promises.
                Some(there) => unsafe { T::$fetching(there, value) },
                // SAFETY: the caller promises a symmetric object that only atomics of its type touch.
                None => unsafe {
                    updates::amo::<V, T>(via.call(), via.given(), dest, Amo::$amo(value.bits()), true, pe)
                },
            }
        }
        #[doc = concat!($what, ".")]
        ///
        /// # Safety
        /// As for [`fetch`].
        #[inline(always)]
        pub unsafe fn $plain<V: Via, T: AmoInteger>(via: V, dest: *mut T, value: T, pe: c_int) {
            // SAFETY: the caller promises a symmetric object that only atomics of its type touch.
            unsafe {
                match object(via, dest, pe) {
                    Some(there) => T::$fetching(there, value),
                    None => updates::amo::<V, T>(via.call(), via.given(), dest, Amo::$amo(value.bits()), false, pe),
                };
            }
        }
        #[doc = concat!($what, "; the old value is in `result` after the next quiet.")]
        ///
        /// # Safety
        /// As for [`fetch`]; `result` is writable until the next quiet.
        #[inline(always)]
        pub unsafe fn $nbi<V: Via, T: AmoInteger>(via: V, result: *mut T, dest: *mut T, value: T, pe: c_int) {
            // SAFETY: our caller has made the promises that this call asks for.
            unsafe { update_nbi(via, result, dest, Amo::$amo(value.bits()), pe) }
        }
    )*};
}

operation!(
    fetch_add add fetch_add_nbi Add: "Adds",
    fetch_and and fetch_and_nbi And: "Bitwise and",
    fetch_or or fetch_or_nbi Or: "Bitwise or",
    fetch_xor xor fetch_xor_nbi Xor: "Bitwise exclusive or"
);

/// A fetching atomic whose old value is in `result` after the next quiet. An object on the node is updated at once.
///
/// # Safety
/// As for [`fetch`]; `result` is writable until the next quiet.
#[inline(always)]
unsafe fn update_nbi<V: Via, T: AmoType>(via: V, result: *mut T, target: *const T, amo: Amo, pe: c_int) {
    if result.is_null() {
        errors::null(via.call(), "fetch");
    }
    match object(via, target, pe) {
        // SAFETY: `object` returns a mapped, aligned object, which only atomics of its type touch, as the caller promises; `result` is
        // writable.
        Some(there) => unsafe { result.write_unaligned(T::of_bits(execute(there as usize, size_of::<T>(), amo))) },
        // SAFETY: the caller promises a symmetric object that only atomics of its type touch, and a result that stays.
        None => unsafe { updates::amo_nbi::<V, T>(via.call(), via.given(), result, target, amo, pe) },
    }
}

/// Reads; the value is in `result` after the next quiet.
///
/// # Safety
/// As for [`fetch`]; `result` is writable until the next quiet. The functions below ask the same.
#[inline(always)]
pub unsafe fn fetch_nbi<V: Via, T: AmoType>(via: V, result: *mut T, source: *const T, pe: c_int) {
    // SAFETY: our caller has made the promises that this call asks for.
    unsafe { update_nbi(via, result, source, Amo::Fetch, pe) }
}

/// Replaces; the old value is in `result` after the next quiet.
///
/// # Safety
/// As for [`fetch_nbi`].
#[inline(always)]
pub unsafe fn swap_nbi<V: Via, T: AmoType>(via: V, result: *mut T, dest: *mut T, value: T, pe: c_int) {
    // SAFETY: our caller has made the promises that this call asks for.
    unsafe { update_nbi(via, result, dest, Amo::Swap(value.bits()), pe) }
}

/// Stores `value` if the old value is `cond`; the old value is in `result` after the next quiet.
///
/// # Safety
/// As for [`fetch_nbi`].
#[inline(always)]
pub unsafe fn compare_swap_nbi<V: Via, T: AmoInteger>(
    via: V,
    result: *mut T,
    dest: *mut T,
    cond: T,
    value: T,
    pe: c_int,
) {
    let amo = Amo::CompareSwap { cond: cond.bits(), value: value.bits() };
    // SAFETY: our caller has made the promises that this call asks for.
    unsafe { update_nbi(via, result, dest, amo, pe) }
}

/// Adds one; the old value is in `result` after the next quiet.
///
/// # Safety
/// As for [`fetch_nbi`].
#[inline(always)]
pub unsafe fn fetch_inc_nbi<V: Via, T: AmoInteger>(via: V, result: *mut T, dest: *mut T, pe: c_int) {
    // SAFETY: our caller has made the promises that this call asks for.
    unsafe { fetch_add_nbi(via, result, dest, T::ONE, pe) }
}
