//! Where transfers go that the arithmetic of [`crate::fast`] does not settle: teams that are not triplets, calls
//! that are to be checked, and the user's mistakes.

use core::ffi::c_int;
use core::ptr;

use crate::context::Context;
use crate::diagnose;
use crate::fast::FAST;
use crate::life;

/// Finds `bytes` bytes of the caller's symmetric `address` on the context's PE `pe`, or ends the job with the reason.
#[cold]
#[inline(never)]
fn locate(call: &'static str, context: Context, address: usize, bytes: usize, pe: c_int) -> usize {
    let size = diagnose::team_size(call, context);
    if pe as u32 >= size {
        diagnose::no_such_pe(call, pe, size);
    }
    let team = context.team().unwrap_or_else(|| diagnose::not_initialised(call));
    let window = team.window(pe as u32);
    let extent = if FAST.heap.holds(address, bytes) {
        life::check_block(call, address, bytes);
        &FAST.heap
    } else if FAST.statics.holds(address, bytes) {
        &FAST.statics
    } else {
        diagnose::not_symmetric(call, address, bytes)
    };
    extent.in_window(address, window)
}

/// Put of `n` bytes.
///
/// # Safety
/// `source` is readable for `n` bytes.
#[cold]
#[inline(never)]
pub(crate) unsafe fn put(call: &'static str, context: Context, dest: *mut u8, source: *const u8, n: usize, pe: c_int) {
    if n == 0 {
        return;
    }
    let there = locate(call, context, dest as usize, n, pe) as *mut u8;
    // SAFETY: `locate` found `n` mapped bytes; the caller vouches for the source.
    unsafe { ptr::copy(source, there, n) }
}

/// Get of `n` bytes.
///
/// # Safety
/// `dest` is writable for `n` bytes.
#[cold]
#[inline(never)]
pub(crate) unsafe fn get(call: &'static str, context: Context, dest: *mut u8, source: *const u8, n: usize, pe: c_int) {
    if n == 0 {
        return;
    }
    let there = locate(call, context, source as usize, n, pe) as *const u8;
    // SAFETY: `locate` found `n` mapped bytes; the caller vouches for the destination.
    unsafe { ptr::copy(there, dest, n) }
}

/// Put of one value.
#[cold]
#[inline(never)]
pub(crate) fn p<T>(call: &'static str, context: Context, dest: *mut T, value: T, pe: c_int) {
    let there = locate(call, context, dest as usize, size_of::<T>(), pe) as *mut T;
    // SAFETY: `locate` found the whole object in mapped memory.
    unsafe { there.write_unaligned(value) }
}

/// Get of one value.
#[cold]
#[inline(never)]
pub(crate) fn g<T: Copy>(call: &'static str, context: Context, source: *const T, pe: c_int) -> T {
    let there = locate(call, context, source as usize, size_of::<T>(), pe) as *const T;
    // SAFETY: as above; every bit pattern is a value of the types of the C calls.
    unsafe { there.read_unaligned() }
}

/// The object that an atomic is to touch.
#[cold]
#[inline(never)]
pub(crate) fn object<T>(call: &'static str, context: Context, address: *const T, pe: c_int) -> *mut T {
    if address as usize & (size_of::<T>() - 1) != 0 {
        diagnose::misaligned(call, address as usize, size_of::<T>());
    }
    locate(call, context, address as usize, size_of::<T>(), pe) as *mut T
}
