//! Signals, and puts that end with one.
//!
//! The update of the signal releases the data that was stored before it by the same call (SIG-2).

use core::ffi::c_int;

use oxshmem_transport::SignalUpdate;

use crate::calls::amo::{self, AmoType};
use crate::calls::{p2p, rma};
use crate::diagnosis::errors;
use crate::memory::control::ControlBlock;
use crate::memory::direct::{atomic_window, may_have_window, window};
use crate::network;
use crate::teams::via::Via;
use crate::transfers::indirect::updates;
use crate::transfers::length;

/// `SHMEM_SIGNAL_SET` and `SHMEM_SIGNAL_ADD` of the header.
const SET: c_int = 0;
pub(super) const ADD: c_int = 1;

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
    // SAFETY: the caller promises a symmetric destination and a source of `nelems` elements, and that `sig_addr` is a
    // symmetric signal.
    unsafe { transfer(via, dest, source, nelems, sig_addr, signal, sig_op, false, pe) }
}

/// Both forms: on the node a put and then the signal; elsewhere, and where the network does atomics, one operation of the
/// network.
///
/// # Safety
/// As for [`put_signal`]; if `nbi`, the source stays untouched until the next quiet.
#[inline(always)]
unsafe fn transfer<V: Via, T>(
    via: V,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    sig_addr: *mut u64,
    signal: u64,
    sig_op: c_int,
    nbi: bool,
    pe: c_int,
) {
    // SAFETY: the caller promises a symmetric destination and a source of `nelems` elements, which stays untouched until
    // the next quiet if `nbi`, and that `sig_addr` is a symmetric signal.
    unsafe {
        if atomic_window(via.world(pe)).is_none() {
            let n = length::bytes::<T>(nelems);
            let (call, context) = (via.call(), via.context());
            let update = signal_update(call, sig_op, signal);
            return updates::put_signal(call, context, dest.cast(), source.cast(), n, sig_addr, update, nbi, pe);
        }
        rma::put(via, dest, source, nelems, pe);
        match signal_update(via.call(), sig_op, signal) {
            SignalUpdate::Set(value) => signal_set(via, sig_addr, value, pe),
            SignalUpdate::Add(value) => signal_add(via, sig_addr, value, pe),
        }
    }
}

/// The update that `sig_op` asks for.
#[inline(always)]
fn signal_update(call: &'static str, sig_op: c_int, signal: u64) -> SignalUpdate {
    match sig_op {
        SET => SignalUpdate::Set(signal),
        ADD => SignalUpdate::Add(signal),
        _ => unknown(call, sig_op),
    }
}

#[cold]
fn unknown(call: &'static str, sig_op: c_int) -> ! {
    errors::bad_argument(call, "sig_op", sig_op.into(), "SHMEM_SIGNAL_SET and SHMEM_SIGNAL_ADD")
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
    // SAFETY: the caller promises a symmetric destination, a source of `nelems` elements that stays untouched until the
    // next quiet, and that `sig_addr` is a symmetric signal.
    unsafe { transfer(via, dest, source, nelems, sig_addr, signal, sig_op, true, pe) }
}

/// Sets a signal.
///
/// # Safety
/// `sig_addr` is a symmetric signal object. The functions below ask the same.
#[inline(always)]
pub unsafe fn signal_set<V: Via>(via: V, sig_addr: *mut u64, signal: u64, pe: c_int) {
    // SAFETY: the caller promises that `sig_addr` is a symmetric signal.
    unsafe { amo::set(via, sig_addr, signal, pe) }
    nudge(via, pe);
}

/// The target may sleep until a signal comes: wakes it.
#[inline(always)]
fn nudge<V: Via>(via: V, pe: c_int) {
    let world = via.world(pe);
    match window(world) {
        Some(window) => ControlBlock::of(window).bell().nudge(),
        // Nothing is known of windows, or the arithmetic gives no number.
        None if may_have_window(world) || world == u32::MAX => updates::nudge(via.call(), via.context(), pe),
        None => {}
    }
}

/// Adds to a signal.
///
/// # Safety
/// See [`signal_set`].
#[inline(always)]
pub unsafe fn signal_add<V: Via>(via: V, sig_addr: *mut u64, signal: u64, pe: c_int) {
    // SAFETY: the caller promises that `sig_addr` is a symmetric signal.
    unsafe { amo::add(via, sig_addr, signal, pe) }
    nudge(via, pe);
}

/// Reads a signal of the caller. It is a load, whichever device does atomics: it changes nothing, and sees what a wait
/// would see.
///
/// # Safety
/// See [`signal_set`].
#[inline(always)]
pub unsafe fn signal_fetch(sig_addr: *const u64) -> u64 {
    network::before_access(sig_addr as usize, false);
    // SAFETY: the caller promises that `sig_addr` is a symmetric signal of its own.
    unsafe { u64::load(sig_addr.cast_mut()) }
}

/// Waits for a signal of the caller, and says which value ended the wait.
///
/// # Safety
/// See [`signal_set`].
#[inline(always)]
pub unsafe fn signal_wait_until(sig_addr: *mut u64, cmp: c_int, value: u64) -> u64 {
    // SAFETY: the caller promises that `sig_addr` is a symmetric signal of its own.
    unsafe { p2p::until("shmem_signal_wait_until", sig_addr, cmp, value) }
}
