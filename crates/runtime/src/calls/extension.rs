//! Small extensions of several vendors.

use core::ffi::{c_char, c_int};
use std::ffi::CString;
use std::sync::OnceLock;

use oxshmem_base::planted;

use crate::InWorld;
use crate::calls::order;
use crate::calls::p2p::answer;
use crate::memory::direct::FAST;
use crate::network::lane;
use crate::teams::via::Via;

/// Seconds since a moment that stays the same while the machine runs.
pub fn wtime() -> f64 {
    oxshmem_os::time::fine() as f64 * 1e-9
}

/// The name of the caller's host.
pub fn nodename() -> *mut c_char {
    static NAME: OnceLock<CString> = OnceLock::new();
    let read = || {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        CString::new(name.trim_end()).unwrap_or_default()
    };
    NAME.get_or_init(read).as_ptr().cast_mut()
}

/// Completes what was issued to one PE.
pub fn pe_quiet(pe: c_int) {
    // SAFETY: one number is read.
    unsafe { order::pe_quiet(InWorld("shmemx_pe_quiet"), &raw const pe, 1) }
}

/// The sources of all puts can be reused. On the node they can when the put returns; between nodes the network may still read them.
pub fn local_complete() {
    if FAST.orders_more() && planted!("sources-given-back-at-once", true, false) {
        lane::complete_all_locally("shmemx_local_complete");
    }
}

/// Whether everything issued on the context is complete.
///
/// # Safety
/// The context has not been destroyed.
pub unsafe fn quiet_test<V: Via>(via: V) -> c_int {
    // SAFETY: the caller promises that the context has not been destroyed.
    answer(via.call(), unsafe { order::is_quiet(via) })
}

/// Whether everything issued on the context is ordered before what follows.
///
/// # Safety
/// See [`quiet_test`].
pub unsafe fn fence_test<V: Via>(via: V) -> c_int {
    // SAFETY: the caller promises that the context has not been destroyed.
    answer(via.call(), unsafe { order::try_fence(via) })
}

/// A thread wants resources of its own: it needs none.
pub fn thread_register() {}
/// See [`thread_register`].
pub fn thread_unregister() {}

/// Completes the calling thread's operations, which are not told from others'.
pub fn thread_quiet() {
    // SAFETY: the default context is never destroyed.
    unsafe { order::quiet(InWorld("shmemx_thread_quiet")) }
}

/// Orders the calling thread's operations.
pub fn thread_fence() {
    // SAFETY: the default context is never destroyed.
    unsafe { order::fence(InWorld("shmemx_thread_fence")) }
}

/// A tasking runtime says how its threads are told apart. The call does nothing: contexts belong to no thread.
pub fn register_gettid(_gettid: Option<unsafe extern "C" fn() -> u64>) {}
