//! The calls of Fortran's interface that are not those of C. C's calls with names and arguments of Fortran are here. Each module has one
//! subject of Fortran alone.

mod heap;
mod sections;
mod teams;

use core::ffi::{c_char, c_int};

use oxshmem_reduce::Xor;

use crate::calls::amo::AmoType;
use crate::calls::init::lifetime;
use crate::calls::p2p::CmpOperator;
use crate::calls::{active_set, lock, order, p2p};
use crate::collectives::active_set::SetName;
use crate::collectives::signature::CallKind;
use crate::diagnosis::errors;
use crate::start::state::OtherCalls;

pub use heap::{shpalloc, shpclmove, shpdeallc};
pub use sections::{left_over, lie_together, lies_apart, no_number, too_short};
pub use teams::{team, team_destroy};

/// A count of elements, which Fortran passes as an INTEGER.
#[inline(always)]
pub fn count(call: &'static str, nelems: c_int) -> usize {
    match usize::try_from(nelems) {
        Ok(count) => count,
        Err(_) => errors::bad_argument(call, "nelems", nelems.into(), "0 and more"),
    }
}

/// The vendor string in a CHARACTER variable: cut, or padded with blanks.
///
/// # Safety
/// `name` has room for `room` characters.
pub unsafe fn info_get_name(name: *mut c_char, room: usize) {
    let length = crate::VENDOR.len().min(room);
    // SAFETY: both parts end within the promised room.
    unsafe {
        name.copy_from_nonoverlapping(crate::VENDOR.as_ptr().cast(), length);
        name.add(length).write_bytes(b' ', room - length);
    }
}

/// `init::finalize`. This function and those below it are C's with names that a program in Fortran knows.
///
/// # Safety
/// As for C's, here and below.
pub unsafe fn finalize() {
    lifetime::finalize("SHMEM_FINALIZE", OtherCalls::Done);
}

/// `order::barrier_all`.
#[inline(always)]
pub unsafe fn barrier_all() {
    order::barrier_all_named("SHMEM_BARRIER_ALL", CallKind::Barrier);
}

/// `p2p::wait`.
#[inline(always)]
pub unsafe fn wait<T: AmoType + PartialOrd>(call: &'static str, ivar: *mut T, value: T) {
    // SAFETY: the caller promises that `ivar` is a symmetric object of its own, which others change atomically.
    unsafe { p2p::until(call, ivar, CmpOperator::Ne as c_int, value) };
}

/// `p2p::wait_until`.
#[inline(always)]
pub unsafe fn wait_until<T: AmoType + PartialOrd>(call: &'static str, ivar: *mut T, cmp: c_int, value: T) {
    // SAFETY: the caller promises that `ivar` is a symmetric object, which others change atomically.
    unsafe { p2p::until(call, ivar, cmp, value) };
}

/// Takes a lock that is one default INTEGER.
///
/// # Safety
/// As the standard asks of a lock variable. The functions below ask the same.
pub unsafe fn set_lock(variable: *mut i32) {
    lock::set_any::<u16>("SHMEM_SET_LOCK", variable as usize);
}

/// Releases a lock that is one default INTEGER.
///
/// # Safety
/// See [`set_lock`].
pub unsafe fn clear_lock(variable: *mut i32) {
    lock::clear_any::<u16>("SHMEM_CLEAR_LOCK", variable as usize);
}

/// Takes a lock that is one default INTEGER if it is free; 1 if it is not.
///
/// # Safety
/// See [`set_lock`].
pub unsafe fn test_lock(variable: *mut i32) -> c_int {
    lock::test_any::<u16>("SHMEM_TEST_LOCK", variable as usize)
}

/// Exclusive or of complex numbers, which has a meaning for their bits only: they are words here.
///
/// # Safety
/// As for `active_set::xor_to_all`, of as many words as the complex numbers have.
pub unsafe fn complex_xor_to_all<C>(
    name: &'static str,
    dest: *mut C,
    source: *const C,
    nreduce: c_int,
    start: c_int,
    log_stride: c_int,
    size: c_int,
    _work: *mut C,
    sync: *mut core::ffi::c_long,
) {
    let Ok(n) = usize::try_from(nreduce) else { errors::bad_argument(name, "nreduce", nreduce.into(), "0 and more") };
    let words = n * (size_of::<C>() / size_of::<u32>());
    let set = SetName { start, log_stride, size, array: sync as usize };
    // SAFETY: the caller promises symmetric arrays of `nreduce` complex numbers, which are `words` words.
    unsafe { active_set::reduce::<Xor, u32>(name, dest.cast(), source.cast(), words, set) }
}
