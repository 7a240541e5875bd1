//! Signals, and puts that end with one.
//!
//! The update of the signal releases the data that was stored before it by the same call (SIG-2).

use core::ffi::c_int;

use crate::calls::amo::{self, Atomic};
use crate::calls::{p2p, rma};
use crate::diagnose;
use crate::fast::Via;

/// `SHMEM_SIGNAL_SET` and `SHMEM_SIGNAL_ADD` of the header.
const SET: c_int = 0;
const ADD: c_int = 1;

/// Copies `nelems` elements to `pe`, then updates a signal there.
///
/// # Safety
/// As for `rma::put`, and `sig_addr` is a symmetric signal object.
#[inline(always)]
pub unsafe fn put_signal<V: Via, T>(
    via: V,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    sig_addr: *mut u64,
    signal: u64,
    sig_op: c_int,
    pe: c_int,
) {
    // SAFETY: the caller's promises.
    unsafe {
        rma::put(via, dest, source, nelems, pe);
        match sig_op {
            SET => signal_set(via, sig_addr, signal, pe),
            ADD => signal_add(via, sig_addr, signal, pe),
            _ => diagnose::bad_argument(via.call(), "sig_op", sig_op.into(), "SHMEM_SIGNAL_SET and SHMEM_SIGNAL_ADD"),
        }
    }
}

/// [`put_signal`] that may return before the source can be reused.
///
/// # Safety
/// As for [`put_signal`]; the source stays untouched until the next quiet.
#[inline(always)]
pub unsafe fn put_signal_nbi<V: Via, T>(
    via: V,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    sig_addr: *mut u64,
    signal: u64,
    sig_op: c_int,
    pe: c_int,
) {
    // SAFETY: the promise of this call is stronger than the one passed on.
    unsafe { put_signal(via, dest, source, nelems, sig_addr, signal, sig_op, pe) }
}

/// Sets a signal.
///
/// # Safety
/// `sig_addr` is a symmetric signal object. So below.
#[inline(always)]
pub unsafe fn signal_set<V: Via>(via: V, sig_addr: *mut u64, signal: u64, pe: c_int) {
    // SAFETY: the caller's promise. So below.
    unsafe { amo::set(via, sig_addr, signal, pe) }
}

/// Adds to a signal.
///
/// # Safety
/// See [`signal_set`].
#[inline(always)]
pub unsafe fn signal_add<V: Via>(via: V, sig_addr: *mut u64, signal: u64, pe: c_int) {
    // SAFETY: as above.
    unsafe { amo::add(via, sig_addr, signal, pe) }
}

/// Reads a signal of the caller.
///
/// # Safety
/// See [`signal_set`].
#[inline(always)]
pub unsafe fn signal_fetch(sig_addr: *const u64) -> u64 {
    // SAFETY: as above; the object is the caller's own.
    unsafe { u64::load(sig_addr.cast_mut()) }
}

/// Waits for a signal of the caller, and says which value ended the wait.
///
/// # Safety
/// See [`signal_set`].
#[inline(always)]
pub unsafe fn signal_wait_until(sig_addr: *mut u64, cmp: c_int, value: u64) -> u64 {
    // SAFETY: as above.
    unsafe { p2p::until("shmem_signal_wait_until", sig_addr, cmp, value) }
}
