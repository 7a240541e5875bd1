//! Functions by which a C program looks at its own static data the way a peer sees it. The tests link it with programs of
//! every kind.

use oxshmem_os::{AddressRange, program, statics};
use std::ffi::{CString, c_char};
use std::os::unix::fs::MetadataExt;

oxshmem_os::share_statics!();

/// The reason why static data is not shared, or null.
#[unsafe(no_mangle)]
pub extern "C" fn probe_reason() -> *const c_char {
    match statics::region() {
        Ok(_) => std::ptr::null(),
        Err(reason) => CString::new(reason).expect("our own text").into_raw(),
    }
}

/// Where a peer sees the variable at `address`; null if it is not symmetric.
#[unsafe(no_mangle)]
pub extern "C" fn probe_peer_view(address: usize) -> *mut u8 {
    let Some(region) = statics::region().ok().filter(|region| address.wrapping_sub(region.start) < region.len) else {
        return std::ptr::null_mut();
    };
    let mut view = AddressRange::reserve(region.len, 1).expect("addresses");
    view.map(0, &region.memory, 0, region.len).expect("a second mapping");
    view.leak().wrapping_add(address - region.start)
}

/// How many bytes of memory the shared static data takes.
#[unsafe(no_mangle)]
pub extern "C" fn probe_backed() -> u64 {
    let memory = &statics::region().expect("shared").memory;
    let file = std::fs::File::from(memory.fd().try_clone_to_owned().expect("a descriptor"));
    file.metadata().expect("an open file").blocks() * 512
}

/// The fingerprint of the program; the caller owns the text. Empty if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn probe_build_id() -> *const c_char {
    CString::new(program::build_id().unwrap_or_default()).expect("hexadecimal digits").into_raw()
}
