//! A libfabric whose only provider, `instant`, completes each operation in the call that issues it. What a program executes over it,
//! without the instructions of this library, is what our layers add to libfabric (`cargo xtask test instructions`).
//!
//! It looks like a card: endpoints that make progress by themselves, keys of the provider's choice, delivery that completes. The memory
//! of a peer is reached by the kernel (`process_vm_writev`), messages are datagrams of local sockets. Atomics are reads and writes under
//! a lock of a file.
#![allow(missing_docs, clippy::missing_safety_doc, reason = "functions that libfabric's manual describes")]

#[path = "../../src/mock/entries.rs"]
mod entries;
#[path = "../personas/exports.rs"]
pub mod exports;

mod data;
mod nature;
mod objects;

use std::ffi::{c_int, c_void};

use oxshmem_libfabric_sys as fi;

/// # Safety
/// `fabric` is the caller's variable.
unsafe fn open_fabric(
    _attr: *mut fi::fi_fabric_attr,
    fabric: *mut *mut fi::fid_fabric,
    _context: *mut c_void,
) -> c_int {
    // SAFETY: the variable is the caller's, by its promise.
    unsafe { *fabric = objects::fabric() };
    0
}
