//! Signals, and puts that end with one.

use core::ffi::c_int;

use oxshmem_runtime::Via;
use oxshmem_runtime::calls::amo::AmoType;
use oxshmem_runtime::calls::p2p as look;
use oxshmem_transport::SignalUpdate;

use super::amo;
use crate::Plain;
use crate::threads::ThreadPe;

pub(crate) unsafe fn put_signal<V: Via, T: Plain>(
    here: &ThreadPe,
    via: V,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    sig_addr: *mut u64,
    signal: u64,
    sig_op: c_int,
    pe: c_int,
) {
    here.turns().step(here.me);
    let n = nelems * size_of::<T>();
    let update = if sig_op == 0 { SignalUpdate::Set(signal) } else { SignalUpdate::Add(signal) };
    let word = here.remote(via, sig_addr.cast(), 8, pe);
    let to = if n > 0 { here.remote(via, dest.cast(), n, pe) } else { word };
    // SAFETY: the source is readable. It may be reused on return, so a copy of it travels.
    let copy = unsafe { core::slice::from_raw_parts(source.cast::<u8>(), n) }.to_vec();
    here.issue_and_keep(via, |lane| {
        // SAFETY: both places are inside regions, and the copy is kept until the context's next quiet.
        unsafe { lane.put_signal(to, copy.as_ptr(), n, word, update) };
        copy
    });
}

pub(crate) unsafe fn put_signal_nbi<V: Via, T: Plain>(
    here: &ThreadPe,
    via: V,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    sig_addr: *mut u64,
    signal: u64,
    sig_op: c_int,
    pe: c_int,
) {
    // SAFETY: the caller does not touch the source before the next quiet, so the copy may happen at once.
    unsafe { put_signal(here, via, dest, source, nelems, sig_addr, signal, sig_op, pe) }
}

pub(crate) unsafe fn signal_set<V: Via>(here: &ThreadPe, via: V, sig_addr: *mut u64, signal: u64, pe: c_int) {
    // SAFETY: a signal is a number for the network.
    unsafe { amo::set(here, via, sig_addr.cast_const(), signal, pe) }
}

pub(crate) unsafe fn signal_add<V: Via>(here: &ThreadPe, via: V, sig_addr: *mut u64, signal: u64, pe: c_int) {
    // SAFETY: the caller promises a symmetric signal, which is a number for the network.
    unsafe { amo::add(here, via, sig_addr.cast_const(), signal, pe) }
}

pub(crate) unsafe fn signal_fetch(here: &ThreadPe, sig_addr: *const u64) -> u64 {
    here.turns().step(here.me);
    // SAFETY: the caller promises that `sig_addr` is valid and that only signal calls touch it.
    unsafe { u64::load(sig_addr.cast_mut()) }
}

pub(crate) unsafe fn signal_wait_until(here: &ThreadPe, sig_addr: *mut u64, cmp: c_int, value: u64) -> u64 {
    here.turns().step(here.me);
    here.turns().wait(here.me, "shmem_signal_wait_until", || {
        // SAFETY: the caller promises that `sig_addr` is valid and that only signal calls touch it.
        let mut seen = unsafe { u64::load(sig_addr) };
        // SAFETY: a local is a valid place.
        let holds = unsafe { look::test(&raw mut seen, cmp, value) != 0 };
        holds.then_some(seen)
    })
}
