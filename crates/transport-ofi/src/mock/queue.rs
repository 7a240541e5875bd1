//! The calls of libfabric for queues of completions and counters.

use std::ffi::{c_int, c_void};
use std::mem::zeroed;
use std::ptr;
use std::sync::atomic::Ordering;

use oxshmem_libfabric_sys as fi;

use super::broken;
use super::objects::{base, close_nothing, end_of, leak, object};

pub(super) unsafe extern "C" fn cq_open(
    domain: *mut fi::fid_domain,
    attr: *mut fi::fi_cq_attr,
    cq: *mut *mut fi::fid_cq,
    _context: *mut c_void,
) -> c_int {
    // SAFETY: a domain of this library, the caller's attributes and variable.
    unsafe {
        if (*attr).wait_obj != fi::FI_WAIT_NONE {
            return -fi::FI_ENOSYS;
        }
        let ops = leak(fi::fi_ops_cq { read: Some(cq_read), readerr: Some(cq_readerr), ..zeroed() });
        *cq = object(fi::fid_cq { fid: base(close_nothing), ops }, end_of(domain), 0);
    }
    0
}

/// A counter of what peers do to the endpoint's memory.
pub(super) unsafe extern "C" fn cntr_open(
    domain: *mut fi::fid_domain,
    _attr: *mut fi::fi_cntr_attr,
    counter: *mut *mut fi::fid_cntr,
    _context: *mut c_void,
) -> c_int {
    // SAFETY: a domain of this library, and the caller's variable.
    unsafe {
        let ops = leak(fi::fi_ops_cntr { read: Some(cntr_read), ..zeroed() });
        *counter = object(fi::fid_cntr { fid: base(close_counter), ops }, end_of(domain), 0);
    }
    0
}

unsafe extern "C" fn close_counter(fid: *mut fi::fid) -> c_int {
    // SAFETY: a counter of this library.
    if unsafe { end_of(fid.cast::<fi::fid_cntr>()) }.open {
        broken("a counter is closed before its endpoint");
    }
    0
}

unsafe extern "C" fn cntr_read(counter: *mut fi::fid_cntr) -> u64 {
    // SAFETY: a counter of this library.
    unsafe { end_of(counter) }.card.served.load(Ordering::Relaxed)
}

unsafe extern "C" fn cq_read(cq: *mut fi::fid_cq, entries: *mut c_void, count: usize) -> isize {
    // SAFETY: a queue of this library.
    let end = unsafe { end_of(cq) };
    if end.busy.swap(true, Ordering::AcqRel) {
        broken("two threads are in one domain at once");
    }
    end.progress();
    end.busy.store(false, Ordering::Release);
    if !end.errors.is_empty() {
        return -(fi::FI_EAVAIL as isize);
    }
    let n = count.min(end.done.len());
    for (i, (context, len)) in end.done.drain(..n).enumerate() {
        let op_context = ptr::with_exposed_provenance_mut(context);
        let entry = fi::fi_cq_msg_entry { op_context, flags: 0, len };
        // SAFETY: the caller has room for `count` entries of this form.
        unsafe { entries.cast::<fi::fi_cq_msg_entry>().add(i).write(entry) };
    }
    if n == 0 { -(fi::FI_EAGAIN as isize) } else { n as isize }
}

unsafe extern "C" fn cq_readerr(cq: *mut fi::fid_cq, error: *mut fi::fi_cq_err_entry, _flags: u64) -> isize {
    // SAFETY: a queue of this library.
    let Some((context, code)) = unsafe { end_of(cq) }.errors.pop_front() else { return 0 };
    // SAFETY: the caller's entry.
    unsafe {
        (*error).op_context = ptr::with_exposed_provenance_mut(context);
        (*error).err = code;
    }
    1
}
