//! The collectives of teams. `name` is that of the routine, for messages.

use core::ffi::{c_int, c_long, c_void};

use oxshmem_reduce::{And, Max, Min, Operand, Or, Prod, Sum, Xor};

use crate::calls::team::live;
use crate::collectives::call::Call;
use crate::collectives::{self, BlockTargets, Blocks};
use crate::teams::team::TeamHandle;
use crate::transfers::length::bytes;

macro_rules! data {
    ($($what:literal $name:ident($($argument:ident: $type:ty),*) => $engine:ident($dest:ident, $source:ident, $($pass:expr),*) moves $moved:expr;)*) => {$(
        #[doc = $what]
        ///
        /// # Safety
        /// All members call, one thread of each, with the same sizes; both sides are symmetric and have the elements,
        /// and do not overlap. The team has not been destroyed.
        pub unsafe fn $name<T>(name: &'static str, team: TeamHandle, $dest: *mut T, $source: *const T, $($argument: $type),*) -> c_int {
            let call = Call::new(live(name, team), name);
            let _recorded = call.record($moved);
            // SAFETY: the caller keeps the standard's promises, which are those of the engine.
            unsafe { collectives::$engine(call, $dest.cast(), $source.cast(), $($pass),*) };
            0
        }
    )*};
}

data! {
    "Copies the root's elements to all members." broadcast(nelems: usize, root: c_int)
        => broadcast(dest, source, bytes::<T>(nelems), root.into(), true) moves bytes::<T>(nelems);
    "Concatenates blocks of different sizes." collect(nelems: usize)
        => collect(dest, source, bytes::<T>(nelems), usize::MAX) moves bytes::<T>(nelems);
    "Concatenates blocks of one size." fcollect(nelems: usize)
        => fcollect(dest, source, bytes::<T>(nelems)) moves bytes::<T>(nelems);
    "Exchanges blocks between all members." alltoall(nelems: usize)
        => alltoall(dest, source, bytes::<T>(nelems)) moves bytes::<T>(nelems);
    "Exchanges strided blocks between all members." alltoalls(dst: isize, sst: isize, nelems: usize)
        => alltoalls(dest, source, (dst, sst), size_of::<T>(), nelems) moves bytes::<T>(nelems);
}

macro_rules! reductions {
    ($($name:ident $op:ident)*) => {$(
        #[doc = concat!("Reduction by ", stringify!($op), ".")]
        ///
        /// # Safety
        /// All members call, one thread of each; both sides are symmetric and have the elements, and are the same or
        /// apart. The team has not been destroyed.
        pub unsafe fn $name<T: Operand<$op>>(name: &'static str, team: TeamHandle, dest: *mut T, source: *const T, nreduce: usize) -> c_int {
            let call = Call::new(live(name, team), name);
            let record = call.record_late(bytes::<T>(nreduce));
            // SAFETY: the caller keeps the standard's promises, which are those of the engine.
            unsafe { collectives::reduce::<$op, T>(call.with_late_record(&record), dest, source, nreduce) };
            0
        }
    )*};
}

reductions!(and_reduce And or_reduce Or xor_reduce Xor max_reduce Max min_reduce Min sum_reduce Sum prod_reduce Prod);

/// Sum over this member and all before it.
///
/// # Safety
/// All members call, one thread of each; `dest` and `source` are symmetric and have `nelems` elements, and are the
/// same or apart. The team has not been destroyed.
pub unsafe fn sum_inscan<T: Operand<Sum>>(
    name: &'static str,
    team: TeamHandle,
    dest: *mut T,
    source: *const T,
    nelems: usize,
) -> c_int {
    // SAFETY: all members call with such arrays, and the team lives: the caller promises that of this call.
    unsafe { scan(name, team, dest, source, nelems, true) }
}

/// Sum over all members before this one.
///
/// # Safety
/// See [`sum_inscan`].
pub unsafe fn sum_exscan<T: Operand<Sum>>(
    name: &'static str,
    team: TeamHandle,
    dest: *mut T,
    source: *const T,
    nelems: usize,
) -> c_int {
    // SAFETY: all members call with such arrays, and the team lives: the caller promises that of this call.
    unsafe { scan(name, team, dest, source, nelems, false) }
}

/// Sum over the members before this one, and over this one if it is `inclusive`.
///
/// # Safety
/// See [`sum_inscan`].
unsafe fn scan<T: Operand<Sum>>(
    name: &'static str,
    team: TeamHandle,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    inclusive: bool,
) -> c_int {
    let call = Call::new(live(name, team), name);
    let _recorded = call.record(bytes::<T>(nelems));
    // SAFETY: the arrays are symmetric, have `nelems` elements and are the same or apart, and all members call: the caller's
    // promises.
    unsafe { collectives::scan(call, dest, source, nelems, inclusive) };
    0
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
    team: TeamHandle,
    _sync: *mut c_long,
) {
    let into = BlockTargets::Places { target: target.cast(), offsets: target_offsets, sizes: target_sizes };
    let call = Call::new(live(name, team), name);
    let _recorded = call.record(0);
    // SAFETY: the caller promises what the extension asks: symmetric arrays with an element for each member, and room for
    // everything that arrives.
    unsafe { collectives::alltoallv(call, Blocks { source: source.cast(), offsets, sizes }, into) }
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
    team: TeamHandle,
    _sync: *mut c_long,
) {
    let into = BlockTargets::Packed { target: target.cast(), room, total };
    let call = Call::new(live(name, team), name);
    let _recorded = call.record(0);
    // SAFETY: the caller promises what the extension asks: symmetric arrays with an element for each member, and room for
    // everything that arrives.
    unsafe { collectives::alltoallv(call, Blocks { source: source.cast(), offsets, sizes }, into) }
}
