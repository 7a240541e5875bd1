//! A libfabric whose only provider, `instant`, completes each operation in the call that issues it. What a program executes over it,
//! without the instructions of this library, is what our layers add to libfabric (`cargo xtask test instructions`).
//!
//! It looks like a card: endpoints that make progress by themselves, keys of the provider's choice, delivery that completes. The memory
//! of a peer is reached by the kernel (`process_vm_writev`), messages are datagrams of local sockets. Atomics are reads and writes under
//! a lock of a file.
#![allow(missing_docs, clippy::missing_safety_doc, reason = "functions that libfabric's manual describes")]

mod data;
mod entries;
mod objects;

use std::ffi::{c_char, c_int, c_void};

use oxshmem_libfabric_sys as fi;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fi_getinfo(
    _version: u32,
    _node: *const c_char,
    _service: *const c_char,
    _flags: u64,
    hints: *const fi::fi_info,
    list: *mut *mut fi::fi_info,
) -> c_int {
    // SAFETY: the hints are an entry of `fi_dupinfo`, and the list is the caller's variable.
    unsafe { entries::list(hints, list) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fi_freeinfo(info: *mut fi::fi_info) {
    // SAFETY: an entry of this library, which the caller gives up.
    unsafe { entries::free(info) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fi_dupinfo(info: *const fi::fi_info) -> *mut fi::fi_info {
    // SAFETY: null or an entry of this library.
    unsafe { entries::copy(info) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fi_fabric(
    _attr: *mut fi::fi_fabric_attr,
    fabric: *mut *mut fi::fid_fabric,
    _context: *mut c_void,
) -> c_int {
    // SAFETY: the caller's variable.
    unsafe { *fabric = objects::fabric() };
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn fi_strerror(_code: c_int) -> *const c_char {
    c"the instant library refuses".as_ptr()
}

#[unsafe(no_mangle)]
pub extern "C" fn fi_version() -> u32 {
    fi::VERSION
}
