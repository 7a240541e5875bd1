//! The objects: libfabric's structures, each with the endpoint that it belongs to, and how they are bound, enabled and closed.

use std::ffi::{c_int, c_void};
use std::mem::zeroed;

use oxshmem_libfabric_sys as fi;

use super::broken;
use super::end::MockEnd;

/// The class by which registered memory is told from endpoints.
pub(super) const MEMORY: usize = 77;

#[repr(C)]
struct MockObject<T> {
    fid: T,
    end: *mut MockEnd,
    key: u64,
}

pub(super) fn object<T>(fid: T, end: *mut MockEnd, key: u64) -> *mut T {
    Box::leak(Box::new(MockObject { fid, end, key })) as *mut MockObject<T> as *mut T
}

/// The endpoint of an object.
///
/// # Safety
/// `fid` is of this library's making, and its fabric was opened.
pub(super) unsafe fn end_of<'e, T>(fid: *mut T) -> &'e mut MockEnd {
    // SAFETY: the object is of this library's making, by the caller's promise; one thread at a time uses an endpoint.
    unsafe { &mut *(*fid.cast::<MockObject<T>>()).end }
}

pub(super) fn leak<T>(table: T) -> *mut T {
    Box::leak(Box::new(table))
}

/// The part that all objects begin with.
pub(super) fn base(close: unsafe extern "C" fn(*mut fi::fid) -> c_int) -> fi::fid {
    // SAFETY: every member of a table is an optional function, for which zero is a value.
    unsafe {
        let ops = leak(fi::fi_ops { close: Some(close), bind: Some(bind), control: Some(control), ..zeroed() });
        fi::fid { ops, ..zeroed() }
    }
}

/// An object stays until the process ends, which opens a handful of them.
pub(super) unsafe extern "C" fn close_nothing(_: *mut fi::fid) -> c_int {
    0
}

pub(super) unsafe extern "C" fn close_endpoint(fid: *mut fi::fid) -> c_int {
    // SAFETY: an endpoint of this library.
    let end = unsafe { end_of(fid.cast::<fi::fid_ep>()) };
    end.open = false;
    end.receives.clear();
    end.card.close();
    0
}

pub(super) unsafe extern "C" fn close_memory(fid: *mut fi::fid) -> c_int {
    let object = fid.cast::<MockObject<fi::fid_mr>>();
    // SAFETY: memory of this library.
    let (end, key) = unsafe { (end_of(fid.cast::<fi::fid_mr>()), (*object).key) };
    end.card.memory.lock().remove(&key);
    if end.nature.mr_mode & fi::FI_MR_ENDPOINT != 0 && !end.open {
        broken("memory is closed after the endpoint that it is bound to");
    }
    0
}

unsafe extern "C" fn bind(fid: *mut fi::fid, _to: *mut fi::fid, _flags: u64) -> c_int {
    let object = fid.cast::<MockObject<fi::fid_mr>>();
    // SAFETY: every object of this library begins with libfabric's; only memory has this class.
    unsafe {
        if (*fid).fclass == MEMORY
            && let Some(memory) = end_of(fid.cast::<fi::fid_mr>()).card.memory.lock().get_mut(&(*object).key)
        {
            memory.bound = true;
        }
    }
    0
}

unsafe extern "C" fn control(fid: *mut fi::fid, command: c_int, _argument: *mut c_void) -> c_int {
    if command != fi::FI_ENABLE as c_int {
        return -fi::FI_ENOSYS;
    }
    let object = fid.cast::<MockObject<fi::fid_mr>>();
    // SAFETY: an object of this library: memory, or an endpoint, for nothing else is enabled.
    unsafe {
        if (*fid).fclass != MEMORY {
            end_of(fid.cast::<fi::fid_ep>()).enabled = true;
            return 0;
        }
        let end = end_of(fid.cast::<fi::fid_mr>());
        let mut memory = end.card.memory.lock();
        let Some(memory) = memory.get_mut(&(*object).key) else { return -fi::FI_EINVAL };
        if !memory.bound || !end.enabled {
            broken("memory is enabled before it is bound to an enabled endpoint");
        }
        memory.enabled = true;
        // Its key is known from now on.
        (*object).fid.key = (*object).key;
    }
    0
}
