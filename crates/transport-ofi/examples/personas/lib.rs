//! A libfabric whose providers have the natures of the mock (`src/mock/nature.rs`), between processes: conformance runs over it
//! (`cargo xtask personas`).
//!
//! An operation waits at its endpoint until the dice choose it, among those that no promised order holds back. Then its source is
//! read, and a command goes to the target, whose *card* executes it and answers. The card is a thread; where the provider is software,
//! it is whoever looks at the completions of the target's endpoint. Whoever breaks a rule of its provider ends its process with a
//! sentence.
#![allow(missing_docs, clippy::missing_safety_doc, reason = "functions that libfabric's manual describes")]

#[path = "../../src/mock/entries.rs"]
mod entries;
#[path = "../../src/mock/nature.rs"]
mod nature;

mod calls;
mod card;
mod end;
mod objects;
mod socket;

use std::ffi::{c_char, c_int, c_void};

use oxshmem_libfabric_sys as fi;

/// Ends the process: a rule of the provider was broken.
fn broken(rule: &str) -> ! {
    eprintln!("persona: a rule is broken: {rule}");
    std::process::abort()
}

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
    unsafe { entries::getinfo(version, node, service, flags, hints, list) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fi_freeinfo(info: *mut fi::fi_info) {
    // SAFETY: entries of this library, which the caller gives up.
    unsafe { entries::freeinfo(info) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fi_dupinfo(info: *const fi::fi_info) -> *mut fi::fi_info {
    // SAFETY: null or an entry of this library.
    unsafe { entries::dupinfo(info) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fi_fabric(
    attr: *mut fi::fi_fabric_attr,
    fabric: *mut *mut fi::fid_fabric,
    _context: *mut c_void,
) -> c_int {
    // SAFETY: attributes of an entry of this library, and the caller's variable.
    unsafe { calls::open_fabric(attr, fabric) }
}

#[unsafe(no_mangle)]
pub extern "C" fn fi_strerror(_code: c_int) -> *const c_char {
    c"the persona refuses".as_ptr()
}

#[unsafe(no_mangle)]
pub extern "C" fn fi_version() -> u32 {
    fi::VERSION
}
