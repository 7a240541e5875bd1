//! The deprecated collectives over active sets.
//!
//! `name` is that of the routine, for messages. `pWrk` and `pSync` are not touched. The address of `pSync` tells apart sets that overlap.

use core::ffi::{c_int, c_long, c_void};

use oxshmem_reduce::{And, Max, Min, Operand, Operator, Or, Prod, Sum, Xor};

use crate::calls::order;
use crate::collectives::active_set::{SetName, with};
use crate::collectives::call::Call;
use crate::collectives::{self, BlockTargets, Blocks};
use crate::diagnosis::errors;
use crate::transfers::length::bytes;

/// Completes the default context's operations, then waits for the set.
///
/// # Safety
/// All PEs of the set call, one thread of each, with the same set; `sync` is a symmetric array, which only tells
/// overlapping sets apart.
pub unsafe fn barrier(name: &'static str, start: c_int, log_stride: c_int, size: c_int, sync: *mut c_long) {
    // SAFETY: the default context is never destroyed.
    unsafe { order::quiet(crate::InWorld(name)) };
    with(name, SetName { start, log_stride, size, array: sync as usize }, |team| synchronise(Call::new(team, name)));
}

/// Waits for the set.
///
/// # Safety
/// See [`barrier`].
pub unsafe fn sync(name: &'static str, start: c_int, log_stride: c_int, size: c_int, sync: *mut c_long) {
    with(name, SetName { start, log_stride, size, array: sync as usize }, |team| synchronise(Call::new(team, name)));
}

fn synchronise(call: Call<'_>) {
    let record = call.record_late(0);
    collectives::barrier::meet(call.with_late_record(&record));
}

/// Collectives that move elements. A row has the routine's own arguments, which of them counts the elements, and what the engine of the
/// same name gets behind the arrays.
macro_rules! data {
    ($(
        $(#[$what:meta])*
        $name:ident($($argument:ident: $type:ty),*) moves $nelems:ident, passes $($pass:expr),*;
    )*) => {$(
        $(#[$what])*
        ///
        /// # Safety
        /// See [`barrier`]; `dest` and `source` are symmetric on all PEs of the set and have the elements.
        pub unsafe fn $name<T>(
            name: &'static str, dest: *mut T, source: *const T, $($argument: $type,)*
            start: c_int, log_stride: c_int, size: c_int, sync: *mut c_long,
        ) {
            with(name, SetName { start, log_stride, size, array: sync as usize }, |team| {
                let call = Call::new(team, name);
                let _recorded = call.record(bytes::<T>($nelems));
                // SAFETY: the caller keeps the standard's promises, which are those of the engine.
                unsafe { collectives::$name(call, dest.cast(), source.cast(), $($pass),*) };
            });
        }
    )*};
}

data! {
    /// Copies the root's elements to the other members; the root is a number inside the set (BC-1).
    broadcast(nelems: usize, root: c_int) moves nelems, passes bytes::<T>(nelems), root.into(), false;
    /// Concatenates blocks of different sizes.
    collect(nelems: usize) moves nelems, passes bytes::<T>(nelems), usize::MAX;
    /// Concatenates blocks of one size.
    fcollect(nelems: usize) moves nelems, passes bytes::<T>(nelems);
    /// Exchanges blocks between all members.
    alltoall(nelems: usize) moves nelems, passes bytes::<T>(nelems);
    /// Exchanges strided blocks between all members.
    alltoalls(dst: isize, sst: isize, nelems: usize) moves nelems, passes (dst, sst), size_of::<T>(), nelems;
}

macro_rules! reductions {
    ($($name:ident $op:ident)*) => {$(
        #[doc = concat!("Reduction by ", stringify!($op), " over the set.")]
        ///
        /// # Safety
        /// See [`barrier`]; `dest` and `source` are symmetric, have the elements, and are the same or apart.
        pub unsafe fn $name<T: Operand<$op>>(
            name: &'static str, dest: *mut T, source: *const T, nreduce: c_int,
            start: c_int, log_stride: c_int, size: c_int, _work: *mut T, sync: *mut c_long,
        ) {
            let Ok(n) = usize::try_from(nreduce) else {
                errors::bad_argument(name, "nreduce", nreduce.into(), "0 and more")
            };
            let set = SetName { start, log_stride, size, array: sync as usize };
            // SAFETY: the caller makes the promises that this call asks for.
            unsafe { reduce::<$op, T>(name, dest, source, n, set) }
        }
    )*};
}

reductions!(
    and_to_all And or_to_all Or xor_to_all Xor max_to_all Max min_to_all Min sum_to_all Sum prod_to_all Prod
);

/// Reduction of `n` elements over a set.
///
/// # Safety
/// See [`barrier`]; `dest` and `source` are symmetric, have the elements, and are the same or apart.
#[inline(always)]
pub(super) unsafe fn reduce<O: Operator, T: Operand<O>>(
    name: &'static str,
    dest: *mut T,
    source: *const T,
    n: usize,
    set: SetName,
) {
    with(name, set, |team| {
        let call = Call::new(team, name);
        let record = call.record_late(bytes::<T>(n));
        // SAFETY: the caller keeps the standard's promises, which are those of the engine.
        unsafe { collectives::reduce::<O, T>(call.with_late_record(&record), dest, source, n) };
    });
}

/// Exchanges blocks of different sizes; each goes to its own place of the target.
///
/// # Safety
/// As the extension asks.
pub unsafe fn alltoallv(
    name: &'static str,
    target: *mut c_void,
    target_offsets: *mut usize,
    target_sizes: *mut usize,
    source: *const c_void,
    offsets: *mut usize,
    sizes: *mut usize,
    start: c_int,
    log_stride: c_int,
    size: c_int,
    sync: *mut c_long,
) {
    let into = BlockTargets::Places { target: target.cast(), offsets: target_offsets, sizes: target_sizes };
    with(name, SetName { start, log_stride, size, array: sync as usize }, |team| {
        let call = Call::new(team, name);
        let _recorded = call.record(0);
        // SAFETY: the caller promises what the extension asks: symmetric arrays with an element for each member, and room
        // for everything that arrives.
        unsafe { collectives::alltoallv(call, Blocks { source: source.cast(), offsets, sizes }, into) }
    });
}

/// Exchanges blocks of different sizes; the target gets them one behind the other.
///
/// # Safety
/// As the extension asks.
pub unsafe fn alltoallv_packed(
    name: &'static str,
    target: *mut c_void,
    room: usize,
    total: *mut usize,
    source: *const c_void,
    offsets: *mut usize,
    sizes: *mut usize,
    start: c_int,
    log_stride: c_int,
    size: c_int,
    sync: *mut c_long,
) {
    let into = BlockTargets::Packed { target: target.cast(), room, total };
    with(name, SetName { start, log_stride, size, array: sync as usize }, |team| {
        let call = Call::new(team, name);
        let _recorded = call.record(0);
        // SAFETY: the caller promises what the extension asks: symmetric arrays with an element for each member, and room
        // for everything that arrives.
        unsafe { collectives::alltoallv(call, Blocks { source: source.cast(), offsets, sizes }, into) }
    });
}
