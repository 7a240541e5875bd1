//! Puts, gets and signals.

use core::ffi::c_int;

use oxshmem_runtime::Via;

use super::{context_of, detector, is_told, site};
use crate::Plain;

/// Where the bytes of a transfer go, as the detector's functions take it.
const PUT: c_int = 1;
const GET: c_int = 0;

/// Whether a call returns before its buffers are free.
const WAITS: c_int = 0;
const RETURNS_AT_ONCE: c_int = 1;

/// Says that bytes go from `source` to `dest`, one of which is on `pe`.
#[track_caller]
fn transfer(via: impl Via, dest: usize, source: usize, len: usize, pe: c_int, way: c_int, nonblocking: c_int) {
    if is_told() {
        let call = detector::number(via.call());
        detector::race_transfer(context_of(via), dest, source, len, pe, way, nonblocking, site(), call);
    }
}

/// The transfers of elements that lie one behind the other.
macro_rules! contiguous {
    ($($name:ident $way:ident $nonblocking:ident $(-> $result:ty)?;)*) => {$(
        #[track_caller]
        pub(crate) unsafe fn $name<V: Via, T: Plain>(
            via: V, dest: *mut T, source: *const T, nelems: usize, pe: c_int,
        ) $(-> $result)? {
            transfer(via, dest as usize, source as usize, nelems * size_of::<T>(), pe, $way, $nonblocking);
            // SAFETY: the caller keeps the promises of the runtime's call of this name.
            unsafe { calls::$name(via, dest, source, nelems, pe) }
        }
    )*};
}

/// Those of blocks that lie apart.
macro_rules! blocks {
    ($($name:ident $way:ident ($($block:ident)?);)*) => {$(
        #[track_caller]
        pub(crate) unsafe fn $name<V: Via, T: Plain>(
            via: V, dest: *mut T, source: *const T, dst: isize, sst: isize, $($block: usize,)? count: usize, pe: c_int,
        ) {
            if is_told() {
                let one = size_of::<T>();
                let block = one $(* $block)?;
                // Of one element or none a stride may be any number.
                let (dst, sst) = (dst.wrapping_mul(one as isize), sst.wrapping_mul(one as isize));
                let call = detector::number(via.call());
                detector::race_blocks(
                    context_of(via), dest as usize, source as usize, dst, sst, block, count, pe, $way, site(), call,
                );
            }
            // SAFETY: the caller keeps the promises of the runtime's call of this name.
            unsafe { calls::$name(via, dest, source, dst, sst, $($block,)? count, pe) }
        }
    )*};
}

pub(crate) mod rma {
    use oxshmem_runtime::calls::rma as calls;

    use super::*;

    #[track_caller]
    pub(crate) unsafe fn p<V: Via, T: Plain>(via: V, dest: *mut T, value: T, pe: c_int) {
        transfer(via, dest as usize, 0, size_of::<T>(), pe, PUT, WAITS);
        // SAFETY: the caller keeps the promises of the runtime's call of this name.
        unsafe { calls::p(via, dest, value, pe) }
    }

    #[track_caller]
    pub(crate) unsafe fn g<V: Via, T: Plain>(via: V, source: *const T, pe: c_int) -> T {
        transfer(via, 0, source as usize, size_of::<T>(), pe, GET, WAITS);
        // SAFETY: the caller keeps the promises of the runtime's call of this name.
        unsafe { calls::g(via, source, pe) }
    }

    contiguous! {
        put PUT WAITS;
        get GET WAITS;
        // Parts of calls that wait.
        begin_put PUT WAITS -> bool;
        begin_get GET WAITS -> bool;
        put_nbi PUT RETURNS_AT_ONCE;
        get_nbi GET RETURNS_AT_ONCE;
    }

    blocks! {
        iput PUT ();
        iget GET ();
        ibput PUT (bsize);
        ibget GET (bsize);
    }
}

pub(crate) mod signal {
    use oxshmem_runtime::calls::signal as calls;

    use super::*;

    /// The bytes of a signal.
    const SIGNAL: usize = size_of::<u64>();

    macro_rules! puts {
        ($($name:ident $nonblocking:ident;)*) => {$(
            #[track_caller]
            pub(crate) unsafe fn $name<V: Via, T: Plain>(
                via: V, dest: *mut T, source: *const T, nelems: usize, sig_addr: *mut u64, signal: u64, sig_op: c_int,
                pe: c_int,
            ) {
                if is_told() {
                    let (len, call) = (nelems * size_of::<T>(), detector::number(via.call()));
                    detector::race_put_signal(
                        context_of(via), dest as usize, source as usize, len, sig_addr as usize, pe, $nonblocking, site(),
                        call,
                    );
                }
                // SAFETY: the caller keeps the promises of the runtime's call of this name.
                unsafe { calls::$name(via, dest, source, nelems, sig_addr, signal, sig_op, pe) }
            }
        )*};
    }

    puts! {
        put_signal WAITS;
        put_signal_nbi RETURNS_AT_ONCE;
    }

    macro_rules! updates {
        ($($name:ident)*) => {$(
            #[track_caller]
            pub(crate) unsafe fn $name<V: Via>(via: V, sig_addr: *mut u64, signal: u64, pe: c_int) {
                if is_told() {
                    let call = detector::number(via.call());
                    detector::race_update(context_of(via), sig_addr as usize, SIGNAL, pe, 0, site(), call);
                }
                // SAFETY: the caller keeps the promises of the runtime's call of this name.
                unsafe { calls::$name(via, sig_addr, signal, pe) }
            }
        )*};
    }

    updates! { signal_set signal_add }

    pub(crate) unsafe fn signal_fetch(sig_addr: *const u64) -> u64 {
        // SAFETY: the caller keeps the promises of the runtime's call of this name.
        let value = unsafe { calls::signal_fetch(sig_addr) };
        crate::told::seen(sig_addr as usize, SIGNAL);
        value
    }

    pub(crate) unsafe fn signal_wait_until(sig_addr: *mut u64, cmp: c_int, value: u64) -> u64 {
        // SAFETY: the caller keeps the promises of the runtime's call of this name.
        let value = unsafe { calls::signal_wait_until(sig_addr, cmp, value) };
        crate::told::seen(sig_addr as usize, SIGNAL);
        value
    }
}
