//! A libfabric whose only provider, `instant`, completes each operation in the call that issues it. What a program executes over it,
//! without the instructions of this library, is what our layers add to libfabric (`cargo xtask test instructions`).
//!
//! It looks like a card: endpoints that make progress by themselves, keys of the provider's choice, delivery that completes. Calls and
//! objects are those of the mock (`src/mock.rs`), and the wire is that of the personas. Atomics are reads and writes under a lock of a
//! file.
#![allow(missing_docs, clippy::missing_safety_doc, reason = "functions that libfabric's manual describes")]
#![allow(dead_code, reason = "the mock and the wire of the personas do more")]

#[path = "../../src/mock/atomic.rs"]
mod atomic;
#[path = "../../src/mock/calls.rs"]
mod calls;
#[path = "../../src/mock/datagram.rs"]
mod datagram;
#[path = "../../src/mock/entries.rs"]
mod entries;
#[path = "../personas/exports.rs"]
pub mod exports;
#[path = "../../src/mock/nature.rs"]
mod nature;
#[path = "../../src/mock/objects.rs"]
mod objects;
#[path = "../../src/mock/operation.rs"]
mod operation;
#[path = "../../src/mock/transfer.rs"]
mod transfer;
#[path = "../personas/wire.rs"]
mod wire;

mod end;
mod natures;
mod queue;

use std::ffi::{c_int, c_void};

use oxshmem_libfabric_sys as fi;

/// # Safety
/// As for `calls::open_fabric`.
unsafe fn open_fabric(attr: *mut fi::fi_fabric_attr, fabric: *mut *mut fi::fid_fabric, context: *mut c_void) -> c_int {
    // SAFETY: `attr` lives during the call and `fabric` can be written, as libfabric asks of callers; the call has opened it.
    unsafe {
        let code = calls::open_fabric(attr, fabric, context);
        (*(**fabric).ops).trywait = Some(queue::trywait);
        code
    }
}

/// Ends the process: this library does not do that.
fn broken(rule: &str) -> ! {
    eprintln!("instant: {rule}");
    std::process::abort()
}
