//! Atomic operations.

use core::ffi::c_int;

use oxshmem_runtime::{InWorld, Via};
use oxshmem_transport::{Amo, Width};

use crate::AtomicValue;
use crate::threads::ThreadPe;

fn width<T>() -> Width {
    Width::try_from(size_of::<T>() as u8).expect("atomic numbers have 4 or 8 bytes")
}

fn ask<V: Via, T: AtomicValue>(here: &ThreadPe, via: V, address: *const T, amo: Amo, pe: c_int) -> T {
    here.turns().step(here.me);
    let to = here.remote(via, address.cast(), size_of::<T>(), pe);
    let mut old = 0_u64;
    // SAFETY: the object is inside a region and aligned; `old` stays until the operation is complete.
    here.ask(via, |lane| unsafe { lane.amo(to, width::<T>(), amo, (&raw mut old).cast()) });
    T::of_bits(old)
}

fn tell<V: Via, T: AtomicValue>(here: &ThreadPe, via: V, address: *const T, amo: Amo, pe: c_int) {
    here.turns().step(here.me);
    let to = here.remote(via, address.cast(), size_of::<T>(), pe);
    // SAFETY: `remote` has checked that the object is inside a region, and symmetric numbers are aligned; a null pointer says
    // that the caller does not want the old value.
    here.issue(via, |lane| unsafe { lane.amo(to, width::<T>(), amo, core::ptr::null_mut()) });
}

/// [`ask`] whose answer comes later.
///
/// # Safety
/// `result` stays valid until the next quiet.
unsafe fn ask_nbi<V: Via, T: AtomicValue>(
    here: &ThreadPe,
    via: V,
    result: *mut T,
    address: *const T,
    amo: Amo,
    pe: c_int,
) {
    here.turns().step(here.me);
    let to = here.remote(via, address.cast(), size_of::<T>(), pe);
    // SAFETY: `remote` has checked that the object is inside a region, and symmetric numbers are aligned; the caller promises
    // that `result` stays valid until the next quiet.
    here.issue(via, |lane| unsafe { lane.amo(to, width::<T>(), amo, result.cast()) });
}

pub(crate) unsafe fn store<T: AtomicValue>(here: &ThreadPe, call: &'static str, own: *mut T, value: T) {
    let _: T = ask(here, InWorld(call), own, Amo::Swap(value.bits()), here.me as c_int);
}

macro_rules! atomics_nbi {
    ($($name:ident($($argument:ident),*) $amo:expr;)*) => {$(
        pub(crate) unsafe fn $name<V: Via, T: AtomicValue>(
            here: &ThreadPe,
            via: V,
            result: *mut T,
            dest: *const T,
            $($argument: T,)*
            pe: c_int,
        ) {
            $(let $argument = $argument.bits();)*
            // SAFETY: the caller promises that `result` stays valid until the next quiet.
            unsafe { ask_nbi(here, via, result, dest, $amo, pe) }
        }
    )*};
}

atomics_nbi! {
    fetch_nbi() Amo::Fetch;
    swap_nbi(value) Amo::Swap(value);
    compare_swap_nbi(cond, value) Amo::CompareSwap { cond, value };
    fetch_inc_nbi() Amo::Add(1);
    fetch_add_nbi(value) Amo::Add(value);
    fetch_and_nbi(value) Amo::And(value);
    fetch_or_nbi(value) Amo::Or(value);
    fetch_xor_nbi(value) Amo::Xor(value);
}

macro_rules! atomics {
    ($($name:ident($($argument:ident),*) $how:ident $amo:expr $(=> $result:ty)?;)*) => {$(
        pub(crate) unsafe fn $name<V: Via, T: AtomicValue>(
            here: &ThreadPe,
            via: V,
            dest: *const T,
            $($argument: T,)*
            pe: c_int,
        ) $(-> $result)? {
            $(let $argument = $argument.bits();)*
            $how(here, via, dest, $amo, pe)
        }
    )*};
}

atomics! {
    fetch() ask Amo::Fetch => T;
    set(value) tell Amo::Swap(value);
    swap(value) ask Amo::Swap(value) => T;
    compare_swap(cond, value) ask Amo::CompareSwap { cond, value } => T;
    fetch_inc() ask Amo::Add(1) => T;
    inc() tell Amo::Add(1);
    fetch_add(value) ask Amo::Add(value) => T;
    add(value) tell Amo::Add(value);
    fetch_and(value) ask Amo::And(value) => T;
    and(value) tell Amo::And(value);
    fetch_or(value) ask Amo::Or(value) => T;
    or(value) tell Amo::Or(value);
    fetch_xor(value) ask Amo::Xor(value) => T;
    xor(value) tell Amo::Xor(value);
}
