//! The mock's objects: how they are made, bound, enabled and closed.

use std::ffi::{c_int, c_void};
use std::mem::zeroed;
use std::sync::atomic::AtomicBool;

use oxshmem_libfabric_sys as fi;

use super::world::with;

/// The class by which registered memory is told from endpoints.
pub(super) const MEMORY: usize = 77;

/// An object of the mock: libfabric's structure, then which endpoint it belongs to.
#[repr(C)]
pub(super) struct MockObject<T> {
    pub(super) fid: T,
    pub(super) end: usize,
    pub(super) key: u64,
    pub(super) busy: AtomicBool,
}

pub(super) fn object<T>(fid: T, end: usize, key: u64) -> *mut T {
    Box::leak(Box::new(MockObject { fid, end, key, busy: AtomicBool::new(false) })) as *mut MockObject<T> as *mut T
}

/// Which endpoint an object is of.
///
/// # Safety
/// `fid` is of the mock's making.
pub(super) unsafe fn end_of<T>(fid: *mut T) -> usize {
    // SAFETY: the object is of the mock's making, by the caller's promise.
    unsafe { (*fid.cast::<MockObject<T>>()).end }
}

pub(super) fn leak<T>(table: T) -> *mut T {
    Box::leak(Box::new(table))
}

/// The part that all objects begin with.
pub(super) fn base(close: unsafe extern "C" fn(*mut fi::fid) -> c_int) -> fi::fid {
    // SAFETY: all-zero tables lack every function.
    unsafe {
        let mut ops: fi::fi_ops = zeroed();
        ops.close = Some(close);
        ops.bind = Some(bind);
        ops.control = Some(control);
        let mut fid: fi::fid = zeroed();
        fid.ops = leak(ops);
        fid
    }
}

pub(super) unsafe extern "C" fn close_nothing(_: *mut fi::fid) -> c_int {
    0
}

pub(super) unsafe extern "C" fn close_counter(fid: *mut fi::fid) -> c_int {
    // SAFETY: a counter of the mock.
    let end = unsafe { end_of(fid.cast::<fi::fid_cntr>()) };
    with(|world| {
        if world.ends[end].open {
            world.wrong("a counter is closed before its endpoint".into());
        }
    });
    0
}

pub(super) unsafe extern "C" fn close_endpoint(fid: *mut fi::fid) -> c_int {
    // SAFETY: an endpoint of the mock.
    let end = unsafe { end_of(fid.cast::<fi::fid_ep>()) };
    with(|world| {
        world.ends[end].open = false;
        world.ends[end].receives.clear();
    });
    0
}

pub(super) unsafe extern "C" fn close_memory(fid: *mut fi::fid) -> c_int {
    // SAFETY: memory of the mock.
    let object = unsafe { &*fid.cast::<MockObject<fi::fid_mr>>() };
    with(|world| {
        let end = &mut world.ends[object.end];
        end.memory.remove(&object.key);
        let bound = end.nature.mr_mode & fi::FI_MR_ENDPOINT != 0;
        if bound && !end.open {
            world.wrong("memory is closed after the endpoint that it is bound to".into());
        }
    });
    0
}

unsafe extern "C" fn bind(fid: *mut fi::fid, _to: *mut fi::fid, _flags: u64) -> c_int {
    // SAFETY: an object of the mock; only memory has a key.
    let object = unsafe { &*fid.cast::<MockObject<fi::fid_mr>>() };
    // SAFETY: every object of the mock begins with libfabric's.
    if unsafe { (*fid).fclass } == MEMORY {
        with(|world| {
            if let Some(memory) = world.ends[object.end].memory.get_mut(&object.key) {
                memory.bound = true;
            }
        });
    }
    0
}

unsafe extern "C" fn control(fid: *mut fi::fid, command: c_int, _argument: *mut c_void) -> c_int {
    if command != fi::FI_ENABLE as c_int {
        return -fi::FI_ENOSYS;
    }
    // SAFETY: an object of the mock.
    if unsafe { (*fid).fclass } != MEMORY {
        // SAFETY: only endpoints are enabled otherwise.
        let end = unsafe { end_of(fid.cast::<fi::fid_ep>()) };
        with(|world| world.ends[end].enabled = true);
        return 0;
    }
    let object = fid.cast::<MockObject<fi::fid_mr>>();
    // SAFETY: memory of the mock.
    let (end, key) = unsafe { ((*object).end, (*object).key) };
    with(|world| {
        let enabled = world.ends[end].enabled;
        let Some(memory) = world.ends[end].memory.get_mut(&key) else { return -fi::FI_EINVAL };
        if !memory.bound || !enabled {
            world.wrong("memory is enabled before it is bound to an enabled endpoint".into());
            return -fi::FI_EINVAL;
        }
        memory.enabled = true;
        // SAFETY: the object is memory of the mock, and its key is known from now on.
        unsafe { (*object).fid.key = key };
        0
    })
}
