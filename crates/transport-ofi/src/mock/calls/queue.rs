//! The calls of libfabric for queues of completions and counters.

use std::ffi::{c_int, c_void};
use std::mem::zeroed;
use std::ptr;
use std::sync::atomic::Ordering;

use oxshmem_libfabric_sys as fi;

use crate::mock::objects::{MockObject, base, close_counter, close_nothing, end_of, leak, object};
use crate::mock::world::with;

pub(super) unsafe extern "C" fn cq_open(
    domain: *mut fi::fid_domain,
    attr: *mut fi::fi_cq_attr,
    cq: *mut *mut fi::fid_cq,
    _context: *mut c_void,
) -> c_int {
    // SAFETY: a domain of the mock, the caller's attributes and variable.
    unsafe {
        if (*attr).wait_obj != fi::FI_WAIT_NONE {
            return -fi::FI_ENOSYS;
        }
        let mut ops: fi::fi_ops_cq = zeroed();
        ops.read = Some(cq_read);
        ops.readerr = Some(cq_readerr);
        let mut fid: fi::fid_cq = zeroed();
        fid.fid = base(close_nothing);
        fid.ops = leak(ops);
        *cq = object(fid, end_of(domain), 0);
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
    // SAFETY: a domain of the mock, and the caller's variable.
    unsafe {
        let mut ops: fi::fi_ops_cntr = zeroed();
        ops.read = Some(cntr_read);
        let mut fid: fi::fid_cntr = zeroed();
        fid.fid = base(close_counter);
        fid.ops = leak(ops);
        *counter = object(fid, end_of(domain), 0);
    }
    0
}

unsafe extern "C" fn cntr_read(counter: *mut fi::fid_cntr) -> u64 {
    // SAFETY: a counter of the mock.
    let end = unsafe { end_of(counter) };
    with(|world| world.ends[end].served)
}

unsafe extern "C" fn cq_read(cq: *mut fi::fid_cq, entries: *mut c_void, count: usize) -> isize {
    // SAFETY: a queue of the mock.
    let (end, busy) = unsafe { (end_of(cq), &(*cq.cast::<MockObject<fi::fid_cq>>()).busy) };
    let alone = !busy.swap(true, Ordering::AcqRel);
    let read = with(|world| {
        if !alone {
            world.wrong("two threads are in one domain at once".into());
        }
        world.progress(end);
        if !world.ends[end].errors.is_empty() {
            return -(fi::FI_EAVAIL as isize);
        }
        let done = &mut world.ends[end].done;
        let n = count.min(done.len());
        for (i, entry) in done.drain(..n).enumerate() {
            // SAFETY: the caller has room for `count` entries of this form.
            unsafe { entries.cast::<fi::fi_cq_msg_entry>().add(i).write(entry) };
        }
        if n == 0 { -(fi::FI_EAGAIN as isize) } else { n as isize }
    });
    busy.store(false, Ordering::Release);
    read
}

unsafe extern "C" fn cq_readerr(cq: *mut fi::fid_cq, error: *mut fi::fi_cq_err_entry, _flags: u64) -> isize {
    // SAFETY: a queue of the mock.
    let end = unsafe { end_of(cq) };
    let Some((context, code)) = with(|world| world.ends[end].errors.pop_front()) else { return 0 };
    // SAFETY: the caller's entry.
    unsafe {
        (*error).op_context = ptr::with_exposed_provenance_mut(context);
        (*error).err = code;
    }
    1
}
