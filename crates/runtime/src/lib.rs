//! The runtime of one PE: memory, transfers, atomics, ordering, waits, teams, collectives.
//!
//! Start with [`calls`] for what the library does, `fast` for how a transfer finds its memory, `windows` and
//! `control` for where that memory comes from, `slot` for how PEs of a node synchronise, `executor` for how collectives
//! run by schedules and `wait` for how they block.

// The model checker needs only the protocols.
#![cfg_attr(loom, allow(dead_code, unused_imports))]

mod active_set;
pub mod calls;
mod collective;
mod context;
mod control;
mod debug;
mod diagnose;
mod executor;
mod far;
mod fast;
mod handles;
mod hang;
mod leasing;
mod life;
mod lock;
mod machine;
mod memory;
mod neighbours;
mod network;
mod nodes;
mod placement;
mod primitive;
mod slot;
mod team;
mod transports;
mod wait;
mod windows;

#[cfg(all(test, loom))]
mod loom_models;

pub use context::{Context, ContextObject};
pub use fast::{On, Via, World};
pub use handles::use_objects;
pub use oxshmem_reduce::{Complex, LongDouble, Quad};
pub use team::{Team, TeamObject};

/// The version of the standard that the library implements.
pub const MAJOR_VERSION: core::ffi::c_int = 1;
/// See [`MAJOR_VERSION`].
pub const MINOR_VERSION: core::ffi::c_int = 6;
/// The vendor string of the header.
pub const VENDOR: &str = concat!("oxshmem ", env!("CARGO_PKG_VERSION"));
