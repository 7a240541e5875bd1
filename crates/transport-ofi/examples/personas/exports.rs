//! libfabric's functions, as the loader finds them in a library that plays it.

use std::ffi::{c_char, c_int, c_void};

use oxshmem_libfabric_sys as fi;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fi_getinfo(
    version: u32,
    node: *const c_char,
    service: *const c_char,
    flags: u64,
    hints: *const fi::fi_info,
    list: *mut *mut fi::fi_info,
) -> c_int {
    // SAFETY: the hints are an entry of `fi_dupinfo`, and the list is the caller's variable.
    unsafe { crate::entries::getinfo(version, node, service, flags, hints, list) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fi_freeinfo(info: *mut fi::fi_info) {
    // SAFETY: entries of this library, which the caller gives up.
    unsafe { crate::entries::freeinfo(info) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fi_dupinfo(info: *const fi::fi_info) -> *mut fi::fi_info {
    // SAFETY: null or an entry of this library.
    unsafe { crate::entries::dupinfo(info) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fi_fabric(
    attr: *mut fi::fi_fabric_attr,
    fabric: *mut *mut fi::fid_fabric,
    context: *mut c_void,
) -> c_int {
    // SAFETY: attributes of an entry of this library, and the caller's variable.
    unsafe { crate::open_fabric(attr, fabric, context) }
}

#[unsafe(no_mangle)]
pub extern "C" fn fi_strerror(_code: c_int) -> *const c_char {
    c"the library that plays libfabric refuses".as_ptr()
}

#[unsafe(no_mangle)]
pub extern "C" fn fi_version() -> u32 {
    fi::VERSION
}
