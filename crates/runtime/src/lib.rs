//! The runtime of one PE: memory, transfers, atomics, ordering, waits, teams, collectives.
//!
//! Start with [`calls`]: what the library does, one file per chapter of the standard. Each other folder has one subject:
//!
//! | folder | subject |
//! |---|---|
//! | [`calls`] | the calls of the standard; `init` and the life of the library; the lock |
//! | `collectives` | barriers, reductions and every other operation of a team: on a node, between nodes, by schedules |
//! | `diagnosis` | errors, hang reports, certain deadlocks |
//! | `memory` | the windows that the node's PEs share, the arithmetic that finds objects in them, the symmetric heap, what each PE may take |
//! | `network` | PEs of other nodes: the choice of a transport, how it is opened, lanes of contexts |
//! | `start` | the job, this PE's place in it, the state between the first init and the last finalize |
//! | `teams` | teams, contexts, their handles, leases of slots |
//! | `transfers` | loads, stores and atomics on other PEs' memory; the ways to PEs that the arithmetic does not reach |
//! | `wait` | the one place that blocks, what wakes it, which PEs are gone |
//!
//! No file imports a file that imports it, directly or through others (`cargo xtask house`).

// The model checker needs only the protocols.
#![cfg_attr(loom, allow(dead_code, unused_imports))]
#![cfg_attr(test, allow(non_snake_case, reason = "tests carry the number of the fault"))]

pub mod calls;
mod collectives;
mod diagnosis;
mod memory;
mod network;
mod start;
mod sync;
mod teams;
mod transfers;
mod wait;

#[cfg(all(test, loom))]
mod loom_models;

pub use diagnosis::program_line::program_line;
pub use memory::collected::{heap_is_collected, heap_start, release_heap, try_next_allocation};
pub use oxshmem_os::interrupts;
pub use oxshmem_reduce::{Complex, LongDouble, Quad};
pub use start::state::heap_high_water;
pub use teams::context::{ContextHandle, ContextObject};
pub use teams::predefined_handles::use_objects;
pub use teams::team::{TeamHandle, TeamObject};
pub use teams::via::{InWorld, On, Via};

/// The version of the standard that the library implements.
pub const MAJOR_VERSION: core::ffi::c_int = 1;
/// See [`MAJOR_VERSION`].
pub const MINOR_VERSION: core::ffi::c_int = 6;
/// The vendor string of the header.
pub const VENDOR: &str = concat!("oxshmem ", env!("CARGO_PKG_VERSION"));
