//! Atomics, and waits for them.

use core::any::TypeId;
use core::ffi::c_int;

use oxshmem_runtime::{InWorld, Via};

use super::{context_of, detector, is_told, site};
use crate::{AtomicInteger, AtomicValue};

/// The effects of an atomic, in the bits of the detector.
const UPDATES: c_int = 1;
const NONBLOCKING: c_int = 2;
const FLOATING: c_int = 4;

fn floating<T: AtomicValue>() -> c_int {
    let of = TypeId::of::<T>();
    if of == TypeId::of::<f32>() || of == TypeId::of::<f64>() { FLOATING } else { 0 }
}

pub(crate) mod amo {
    use oxshmem_runtime::calls::{amo as calls, init};

    use super::*;

    #[track_caller]
    fn update<T: AtomicValue>(via: impl Via, dest: *const T, pe: c_int) {
        if is_told() {
            let (context, call) = (context_of(via), detector::number(via.call()));
            detector::race_update(context, dest as usize, size_of::<T>(), pe, floating::<T>(), site(), call);
        }
    }

    #[track_caller]
    fn begin_fetch<T: AtomicValue>(via: impl Via, place: *const T, pe: c_int, does: c_int) {
        if is_told() {
            let (context, call) = (context_of(via), detector::number(via.call()));
            detector::race_fetch(context, place as usize, size_of::<T>(), pe, does | floating::<T>(), site(), call);
        }
    }

    fn end_fetch<T: AtomicValue>(via: impl Via, place: *const T, pe: c_int) {
        if is_told() {
            detector::race_fetched(context_of(via), place as usize, size_of::<T>(), pe);
        }
    }

    #[track_caller]
    fn begin_fetch_nbi<T: AtomicValue>(via: impl Via, result: *mut T, place: *const T, pe: c_int, does: c_int) {
        begin_fetch(via, place, pe, does | NONBLOCKING);
        if is_told() {
            let (context, call) = (context_of(via), detector::number(via.call()));
            detector::race_fill(context, result as usize, size_of::<T>(), site(), call);
        }
    }

    macro_rules! updates {
        ($($name:ident[$bound:ident]($($argument:ident)?);)*) => {$(
            #[track_caller]
            pub(crate) unsafe fn $name<V: Via, T: $bound>(via: V, dest: *mut T, $($argument: T,)? pe: c_int) {
                update(via, dest, pe);
                // SAFETY: the caller keeps the promises of the runtime's call of this name.
                unsafe { calls::$name(via, dest, $($argument,)? pe) }
            }
        )*};
    }

    updates! {
        set[AtomicValue](value);
        inc[AtomicInteger]();
        add[AtomicInteger](value);
        and[AtomicInteger](value);
        or[AtomicInteger](value);
        xor[AtomicInteger](value);
    }

    macro_rules! fetches {
        ($($name:ident $nbi:ident[$bound:ident]($($argument:ident),*);)*) => {$(
            #[track_caller]
            pub(crate) unsafe fn $name<V: Via, T: $bound>(via: V, dest: *mut T, $($argument: T,)* pe: c_int) -> T {
                begin_fetch(via, dest, pe, UPDATES);
                // SAFETY: the caller keeps the promises of the runtime's call of this name.
                let old = unsafe { calls::$name(via, dest, $($argument,)* pe) };
                end_fetch(via, dest, pe);
                old
            }

            #[track_caller]
            pub(crate) unsafe fn $nbi<V: Via, T: $bound>(
                via: V, result: *mut T, dest: *mut T, $($argument: T,)* pe: c_int,
            ) {
                begin_fetch_nbi(via, result, dest, pe, UPDATES);
                // SAFETY: the caller keeps the promises of the runtime's call of this name.
                unsafe { calls::$nbi(via, result, dest, $($argument,)* pe) }
            }
        )*};
    }

    fetches! {
        swap swap_nbi[AtomicValue](value);
        compare_swap compare_swap_nbi[AtomicInteger](cond, value);
        fetch_inc fetch_inc_nbi[AtomicInteger]();
        fetch_add fetch_add_nbi[AtomicInteger](value);
        fetch_and fetch_and_nbi[AtomicInteger](value);
        fetch_or fetch_or_nbi[AtomicInteger](value);
        fetch_xor fetch_xor_nbi[AtomicInteger](value);
    }

    #[track_caller]
    pub(crate) unsafe fn fetch<V: Via, T: AtomicValue>(via: V, source: *const T, pe: c_int) -> T {
        begin_fetch(via, source, pe, 0);
        // SAFETY: the caller keeps the promises of the runtime's call of this name.
        let value = unsafe { calls::fetch(via, source, pe) };
        end_fetch(via, source, pe);
        value
    }

    #[track_caller]
    pub(crate) unsafe fn fetch_nbi<V: Via, T: AtomicValue>(via: V, result: *mut T, source: *const T, pe: c_int) {
        begin_fetch_nbi(via, result, source, pe, 0);
        // SAFETY: the caller keeps the promises of the runtime's call of this name.
        unsafe { calls::fetch_nbi(via, result, source, pe) }
    }

    #[track_caller]
    pub(crate) unsafe fn store<T: AtomicValue>(call: &'static str, own: *mut T, value: T) {
        update(InWorld(call), own, init::my_pe());
        // SAFETY: the caller keeps the promises of the runtime's call of this name.
        unsafe { calls::store(call, own, value) }
    }
}

pub(crate) mod p2p {
    use oxshmem_runtime::calls::p2p as calls;

    use super::*;
    use crate::told::seen;

    pub(crate) unsafe fn wait_until<T: AtomicValue>(ivar: *mut T, cmp: c_int, value: T) {
        // SAFETY: the caller keeps the promises of the runtime's call of this name.
        unsafe { calls::wait_until(ivar, cmp, value) }
        seen(ivar as usize, size_of::<T>());
    }

    pub(crate) unsafe fn test<T: AtomicValue>(ivar: *mut T, cmp: c_int, value: T) -> c_int {
        // SAFETY: the caller keeps the promises of the runtime's call of this name.
        let holds = unsafe { calls::test(ivar, cmp, value) };
        // Also a test that fails has seen the value.
        seen(ivar as usize, size_of::<T>());
        holds
    }

    /// # Safety
    /// `status` is null or has `nelems` elements.
    unsafe fn seen_all<T: AtomicValue>(ivars: *mut T, nelems: usize, status: *const c_int) {
        if is_told() {
            // SAFETY: the caller promises the elements of `status`.
            unsafe { detector::race_wait_all(ivars as usize, nelems, status, size_of::<T>()) }
        }
    }

    /// # Safety
    /// There are `count` elements at `indices`.
    unsafe fn seen_some<T: AtomicValue>(ivars: *mut T, indices: *const usize, count: usize) {
        if is_told() {
            // SAFETY: the caller promises the indices.
            unsafe { detector::race_wait_some(ivars as usize, indices, count, size_of::<T>()) }
        }
    }

    /// The calls about many variables: with one value, and with one for each.
    macro_rules! sets {
        ($($wait_all:ident $wait_any:ident $wait_some:ident $test_all:ident $test_any:ident $test_some:ident $value:ty;)*) => {$(
            pub(crate) unsafe fn $wait_all<T: AtomicValue>(
                ivars: *mut T, nelems: usize, status: *const c_int, cmp: c_int, value: $value,
            ) {
                // SAFETY: the caller keeps the promises of the runtime's call of this name.
                unsafe { calls::$wait_all(ivars, nelems, status, cmp, value) }
                // SAFETY: the caller promises the runtime's call the elements of `status`.
                unsafe { seen_all(ivars, nelems, status) }
            }

            pub(crate) unsafe fn $test_all<T: AtomicValue>(
                ivars: *mut T, nelems: usize, status: *const c_int, cmp: c_int, value: $value,
            ) -> c_int {
                // SAFETY: the caller keeps the promises of the runtime's call of this name.
                let hold = unsafe { calls::$test_all(ivars, nelems, status, cmp, value) };
                // Of several variables a test that fails does not say which one differs.
                if hold != 0 || nelems == 1 {
                    // SAFETY: the caller promises the runtime's call the elements of `status`.
                    unsafe { seen_all(ivars, nelems, status) }
                }
                hold
            }

            sets! { @any $wait_any $value }
            sets! { @any $test_any $value }
            sets! { @some $wait_some $value }
            sets! { @some $test_some $value }
        )*};
        (@any $name:ident $value:ty) => {
            pub(crate) unsafe fn $name<T: AtomicValue>(
                ivars: *mut T, nelems: usize, status: *const c_int, cmp: c_int, value: $value,
            ) -> usize {
                // SAFETY: the caller keeps the promises of the runtime's call of this name.
                let found = unsafe { calls::$name(ivars, nelems, status, cmp, value) };
                if found == usize::MAX {
                    // The call has seen the values of all variables that are not left out.
                    // SAFETY: the caller promises the runtime's call the elements of `status`.
                    unsafe { seen_all(ivars, nelems, status) }
                } else {
                    // SAFETY: one index is there.
                    unsafe { seen_some(ivars, &raw const found, 1) }
                }
                found
            }
        };
        (@some $name:ident $value:ty) => {
            pub(crate) unsafe fn $name<T: AtomicValue>(
                ivars: *mut T, nelems: usize, indices: *mut usize, status: *const c_int, cmp: c_int, value: $value,
            ) -> usize {
                // SAFETY: the caller keeps the promises of the runtime's call of this name.
                let count = unsafe { calls::$name(ivars, nelems, indices, status, cmp, value) };
                if count == 0 {
                    // The call has seen the values of all variables that are not left out.
                    // SAFETY: the caller promises the runtime's call the elements of `status`.
                    unsafe { seen_all(ivars, nelems, status) }
                } else {
                    // SAFETY: the call has written so many indices.
                    unsafe { seen_some(ivars, indices, count) }
                }
                count
            }
        };
    }

    sets! {
        wait_until_all wait_until_any wait_until_some test_all test_any test_some T;
        wait_until_all_vector wait_until_any_vector wait_until_some_vector test_all_vector test_any_vector test_some_vector
            *const T;
    }
}
