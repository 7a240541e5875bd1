//! Counting events of Sandia OpenSHMEM: a symmetric counter, to which each transfer adds one at its PE.

use core::ffi::{c_int, c_long, c_void};
use core::ptr::null_mut;

use oxshmem_base::Error;

use crate::InWorld;
use crate::calls::amo::{self, AmoType};
use crate::calls::signal::ADD;
use crate::calls::{memory, p2p, rma, signal};
use crate::diagnosis::errors;
use crate::start::state;

/// A `shmemx_ct_t`: where the symmetric counter is; null once it is freed.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct CountingEvent(*mut u64);

impl CountingEvent {
    fn live(self, call: &'static str) -> *mut u64 {
        if self.0.is_null() {
            errors::invalid_handle(call, "ct", "NULL");
        }
        // After the last finalize the heap is gone, and in the child of a fork the counter is still the parent's.
        if !state::is_open() {
            errors::not_initialised(call);
        }
        self.0
    }
}

/// `SHMEM_CMP_GE` of the header: a counter may pass the value that is waited for between two looks.
const GE: c_int = 4;

/// Makes a counter that stands at zero.
///
/// # Safety
/// All PEs call, one thread of each; `ct` is writable. The functions below ask the same.
pub unsafe fn create(ct: *mut CountingEvent) {
    const NAME: &str = "shmemx_ct_create";
    // SAFETY: runs on the new block, which has a counter's size and alignment.
    let block = memory::allocate(NAME, size_of::<u64>(), 1, |block| unsafe { block.cast::<u64>().write(0) });
    if block.is_null() {
        errors::fail(
            &Error::new(format!("{NAME}: no counter can be made"))
                .because("the symmetric heap has no room for 8 bytes")
                .fix("set SHMEM_SYMMETRIC_SIZE to more, or free blocks that are not used any more"),
        )
    }
    // SAFETY: the program passes a writable handle.
    unsafe { ct.write(CountingEvent(block.cast())) };
}

/// Ends a counter and the caller's handle of it.
///
/// # Safety
/// See [`create`]; no PE uses the counter any more.
pub unsafe fn free(ct: *mut CountingEvent) {
    const NAME: &str = "shmemx_ct_free";
    // SAFETY: the program passes a handle that `create` has written, on all PEs, and uses the counter no more.
    unsafe {
        memory::free(NAME, (*ct).live(NAME).cast());
        ct.write(CountingEvent(null_mut()));
    }
}

/// Where the caller's counter stands.
///
/// # Safety
/// The counter has not been freed. The functions below ask the same.
pub unsafe fn get(ct: CountingEvent) -> c_long {
    // SAFETY: a live counter is an object of the heap; a load sees what a wait would see.
    unsafe { u64::load(ct.live("shmemx_ct_get")) as c_long }
}

/// Sets the caller's counter.
///
/// # Safety
/// See [`get`].
pub unsafe fn set(ct: CountingEvent, value: c_long) {
    const NAME: &str = "shmemx_ct_set";
    // SAFETY: a live counter is a symmetric object.
    unsafe { amo::store(NAME, ct.live(NAME), value as u64) }
}

/// Waits until the caller's counter has reached `least`.
///
/// # Safety
/// See [`get`].
pub unsafe fn wait(ct: CountingEvent, least: c_long) {
    const NAME: &str = "shmemx_ct_wait";
    // SAFETY: others change a live counter by atomics only.
    unsafe { p2p::until(NAME, ct.live(NAME).cast::<i64>(), GE, least) };
}

/// Copies to `pe`, then adds one to its counter: a PE that sees the count sees the data.
///
/// # Safety
/// See [`get`] and `rma::put`.
pub unsafe fn putmem(ct: CountingEvent, target: *mut c_void, source: *const c_void, len: usize, pe: c_int) {
    const NAME: &str = "shmemx_putmem_ct";
    let counter = ct.live(NAME);
    // SAFETY: the program passes a source of `len` bytes and a symmetric target; a live counter is a symmetric object.
    unsafe { signal::put_signal(InWorld(NAME), target.cast::<u8>(), source.cast::<u8>(), len, counter, 1, ADD, pe) }
}

/// Copies from `pe`, then adds one to its counter: the data has been read.
///
/// # Safety
/// See [`get`] and `rma::get`.
pub unsafe fn getmem(ct: CountingEvent, target: *mut c_void, source: *const c_void, len: usize, pe: c_int) {
    const NAME: &str = "shmemx_getmem_ct";
    let counter = ct.live(NAME);
    // SAFETY: the program passes a symmetric source and a target of `len` bytes; a live counter is a symmetric object.
    unsafe {
        rma::get(InWorld(NAME), target.cast::<u8>(), source.cast::<u8>(), len, pe);
        signal::signal_add(InWorld(NAME), counter, 1, pe);
    }
}
