//! The calls of libfabric for the queue of completions, on which a thread can sleep. There are no
//! counters.

use std::ffi::{c_int, c_void};
use std::mem::zeroed;
use std::os::fd::AsRawFd;
use std::ptr;

use oxshmem_libfabric_sys as fi;

use crate::end::is_first_thread;
use crate::objects::{base, close_nothing, end_of, leak, object};

pub(crate) unsafe extern "C" fn cq_open(
    domain: *mut fi::fid_domain,
    _attr: *mut fi::fi_cq_attr,
    cq: *mut *mut fi::fid_cq,
    _context: *mut c_void,
) -> c_int {
    // SAFETY: a domain of this library, and the caller's variable.
    unsafe {
        let (ops, fid) = (leak(fi::fi_ops_cq { read: Some(cq_read), ..zeroed() }), base(close_nothing));
        (*fid.ops).control = Some(descriptor);
        *cq = object(fi::fid_cq { fid, ops }, end_of(domain), 0);
    }
    0
}

pub(crate) unsafe extern "C" fn cntr_open(
    _domain: *mut fi::fid_domain,
    _attr: *mut fi::fi_cntr_attr,
    _counter: *mut *mut fi::fid_cntr,
    _context: *mut c_void,
) -> c_int {
    -fi::FI_ENOSYS
}

unsafe extern "C" fn descriptor(cq: *mut fi::fid, command: c_int, argument: *mut c_void) -> c_int {
    if command != fi::FI_GETWAIT as c_int {
        return -fi::FI_ENOSYS;
    }
    // SAFETY: a queue of this library, and a variable for its descriptor.
    unsafe { *argument.cast::<c_int>() = end_of(cq.cast::<fi::fid_cq>()).messages.0.as_raw_fd() };
    0
}

pub(crate) unsafe extern "C" fn trywait(_: *mut fi::fid_fabric, fids: *mut *mut fi::fid, _count: c_int) -> c_int {
    // SAFETY: the user waits for one queue.
    let busy = unsafe { end_of((*fids).cast::<fi::fid_cq>()).has_news() };
    if busy { -fi::FI_EAGAIN } else { 0 }
}

unsafe extern "C" fn cq_read(cq: *mut fi::fid_cq, entries: *mut c_void, count: usize) -> isize {
    // SAFETY: a queue of this library.
    let end = unsafe { end_of(cq) };
    let mut read = 0;
    let mut put = |context: usize, len: usize| {
        let entry = fi::fi_cq_msg_entry { op_context: ptr::with_exposed_provenance_mut(context), flags: 0, len };
        // SAFETY: the caller has room for `count` entries of this form, of which `read` are written.
        unsafe { entries.cast::<fi::fi_cq_msg_entry>().add(read).write(entry) };
        read += 1;
    };
    let (mine, over) = (is_first_thread(), end.done.len());
    let mut room = count;
    end.done.retain(|&(context, theirs)| {
        let given = room > 0 && (mine || !theirs);
        if given {
            room -= 1;
            put(context, 0);
        }
        !given
    });
    if end.done.len() == over
        && let Some(&(at, n, context)) = end.receives.front()
    {
        // SAFETY: the buffer has `n` bytes, as its user has promised.
        let buffer = unsafe { std::slice::from_raw_parts_mut(ptr::with_exposed_provenance_mut(at), n) };
        if let Some(came) = end.messages.receive(buffer).map(<[u8]>::len) {
            end.receives.pop_front();
            put(context, came);
        }
    }
    if read == 0 { -(fi::FI_EAGAIN as isize) } else { read as isize }
}
