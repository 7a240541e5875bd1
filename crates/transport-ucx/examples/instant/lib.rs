//! A UCX that completes each operation in the call that issues it. What a program executes over it, without the instructions of this
//! library, is what our layers add to UCX (`cargo xtask test instructions`).
//!
//! It looks like a card: puts, gets and atomics are done when their calls return, and a flush has nothing left to do. The memory of a peer
//! is reached by the kernel (`process_vm_writev`), active messages are datagrams of local sockets. Atomics are reads and writes under a
//! lock of a file.
#![allow(missing_docs, clippy::missing_safety_doc, reason = "functions that UCX's header describes")]

pub mod data;
pub mod messages;
mod worker;

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr;

use oxshmem_ucx_sys as ucx;

use crate::worker::{InstantEndpoint, InstantName, InstantWorker};

/// Something that is never looked at, for handles that only have to be there.
fn anything<T>() -> *mut T {
    static PLACE: u64 = 0;
    (&raw const PLACE).cast_mut().cast()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_lib_query(attr: *mut ucx::ucp_lib_attr_t) -> ucx::ucs_status_t {
    // SAFETY: the caller's variable.
    unsafe { (*attr).max_thread_level = ucx::UCS_THREAD_MODE_MULTI };
    ucx::UCS_OK
}

#[unsafe(no_mangle)]
pub extern "C" fn ucp_get_version_string() -> *const c_char {
    c"1.18.0".as_ptr()
}

#[unsafe(no_mangle)]
pub extern "C" fn ucs_status_string(_status: ucx::ucs_status_t) -> *const c_char {
    c"the instant library refuses".as_ptr()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_config_read(
    _prefix: *const c_char,
    _file: *const c_char,
    config: *mut *mut ucx::ucp_config_t,
) -> ucx::ucs_status_t {
    // SAFETY: the caller's variable.
    unsafe { *config = anything() };
    ucx::UCS_OK
}

#[unsafe(no_mangle)]
pub extern "C" fn ucp_config_modify(
    _config: *mut ucx::ucp_config_t,
    _name: *const c_char,
    _value: *const c_char,
) -> ucx::ucs_status_t {
    ucx::UCS_OK
}

#[unsafe(no_mangle)]
pub extern "C" fn ucp_config_release(_config: *mut ucx::ucp_config_t) {}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_init_version(
    _major: c_uint,
    _minor: c_uint,
    _params: *const ucx::ucp_params_t,
    _config: *const ucx::ucp_config_t,
    context: *mut ucx::ucp_context_h,
) -> ucx::ucs_status_t {
    // SAFETY: the caller's variable.
    unsafe { *context = anything() };
    ucx::UCS_OK
}

#[unsafe(no_mangle)]
pub extern "C" fn ucp_cleanup(_context: ucx::ucp_context_h) {}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_create(
    _context: ucx::ucp_context_h,
    _params: *const ucx::ucp_worker_params_t,
    worker: *mut ucx::ucp_worker_h,
) -> ucx::ucs_status_t {
    // SAFETY: the caller's variable.
    unsafe { *worker = Box::into_raw(Box::new(InstantWorker::open())).cast() };
    ucx::UCS_OK
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_destroy(worker: ucx::ucp_worker_h) {
    // SAFETY: a worker of this library, which its user gives up with its endpoints.
    drop(unsafe { Box::from_raw(worker.cast::<InstantWorker>()) });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_query(
    worker: ucx::ucp_worker_h,
    attr: *mut ucx::ucp_worker_attr_t,
) -> ucx::ucs_status_t {
    // SAFETY: a worker of this library, and the caller's variable.
    unsafe {
        (*attr).address = Box::into_raw(Box::new((*worker.cast::<InstantWorker>()).name)).cast();
        (*attr).address_length = size_of::<InstantName>();
    }
    ucx::UCS_OK
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_release_address(_worker: ucx::ucp_worker_h, address: *mut ucx::ucp_address_t) {
    // SAFETY: `ucp_worker_query` has leaked it from a box.
    drop(unsafe { Box::from_raw(address.cast::<InstantName>()) });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_get_efd(worker: ucx::ucp_worker_h, fd: *mut c_int) -> ucx::ucs_status_t {
    // SAFETY: a worker of this library, and the caller's variable.
    unsafe { *fd = (*worker.cast::<InstantWorker>()).socket() };
    ucx::UCS_OK
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_flush_nbx(
    _worker: ucx::ucp_worker_h,
    _param: *const ucx::ucp_request_param_t,
) -> ucx::ucs_status_ptr_t {
    ptr::null_mut()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_ep_create(
    worker: ucx::ucp_worker_h,
    params: *const ucx::ucp_ep_params_t,
    endpoint: *mut ucx::ucp_ep_h,
) -> ucx::ucs_status_t {
    // SAFETY: a worker of this library, the address of another one, and the caller's variable.
    unsafe {
        let peer = (*params).address.cast::<InstantName>().read_unaligned();
        *endpoint = InstantWorker::endpoint(worker.cast(), peer).cast();
    }
    ucx::UCS_OK
}

/// UCX's function of this name. Endpoints go with their worker.
#[unsafe(no_mangle)]
pub extern "C" fn ucp_ep_close_nbx(
    _endpoint: ucx::ucp_ep_h,
    _param: *const ucx::ucp_request_param_t,
) -> ucx::ucs_status_ptr_t {
    ptr::null_mut()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_ep_rkey_unpack(
    _endpoint: ucx::ucp_ep_h,
    _packed: *const c_void,
    key: *mut ucx::ucp_rkey_h,
) -> ucx::ucs_status_t {
    // SAFETY: the caller's variable.
    unsafe { *key = anything() };
    ucx::UCS_OK
}

#[unsafe(no_mangle)]
pub extern "C" fn ucp_rkey_destroy(_key: ucx::ucp_rkey_h) {}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_rkey_pack(
    _context: ucx::ucp_context_h,
    _memory: ucx::ucp_mem_h,
    packed: *mut *mut c_void,
    size: *mut usize,
) -> ucx::ucs_status_t {
    // SAFETY: the caller's variables.
    unsafe { (*packed, *size) = (anything(), size_of::<u64>()) };
    ucx::UCS_OK
}

#[unsafe(no_mangle)]
pub extern "C" fn ucp_rkey_buffer_release(_packed: *mut c_void) {}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_mem_map(
    _context: ucx::ucp_context_h,
    _params: *const ucx::ucp_mem_map_params_t,
    memory: *mut ucx::ucp_mem_h,
) -> ucx::ucs_status_t {
    // SAFETY: the caller's variable.
    unsafe { *memory = anything() };
    ucx::UCS_OK
}

#[unsafe(no_mangle)]
pub extern "C" fn ucp_mem_unmap(_context: ucx::ucp_context_h, _memory: ucx::ucp_mem_h) -> ucx::ucs_status_t {
    ucx::UCS_OK
}

/// UCX's function of this name. There are no requests.
#[unsafe(no_mangle)]
pub extern "C" fn ucp_request_check_status(_request: *mut c_void) -> ucx::ucs_status_t {
    ucx::UCS_OK
}

#[unsafe(no_mangle)]
pub extern "C" fn ucp_request_free(_request: *mut c_void) {}

/// The endpoint of a handle.
///
/// # Safety
/// `endpoint` is of this library's making.
unsafe fn endpoint_of<'e>(endpoint: ucx::ucp_ep_h) -> &'e InstantEndpoint {
    // SAFETY: the endpoint is of this library's making, by the caller's promise, and lives as long as its worker.
    unsafe { &*endpoint.cast() }
}
