//! The libfabric of the tests (`src/mock.rs`) between processes: conformance runs over it (`cargo xtask personas`).
#![allow(missing_docs, clippy::missing_safety_doc, reason = "functions that libfabric's manual describes")]

#[path = "../../src/mock/atomic.rs"]
mod atomic;
#[path = "../../src/mock/calls.rs"]
mod calls;
#[path = "../../src/mock/card.rs"]
mod card;
#[path = "../../src/mock/datagram.rs"]
mod datagram;
#[path = "../../src/mock/end.rs"]
mod end;
#[path = "../../src/mock/entries.rs"]
mod entries;
#[path = "../../src/mock/nature.rs"]
mod nature;
#[path = "../../src/mock/natures.rs"]
mod natures;
#[path = "../../src/mock/objects.rs"]
mod objects;
#[path = "../../src/mock/operation.rs"]
mod operation;
#[path = "../../src/mock/queue.rs"]
mod queue;
#[path = "../../src/mock/transfer.rs"]
mod transfer;

pub mod exports;
mod wire;

use calls::open_fabric;

/// Ends the process: a rule of the provider was broken.
fn broken(rule: &str) -> ! {
    eprintln!("persona: a rule is broken: {rule}");
    std::process::abort()
}
