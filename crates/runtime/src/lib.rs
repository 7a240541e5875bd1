//! The runtime of one PE: memory, transfers, atomics, ordering, waits, teams, collectives.
//!
//! Start with [`calls`] for what the library does. What calls are made of lies in floors; a file imports from lower ones
//! only (contexts and teams, which know each other, share one):
//!
//! ```text
//! calls                              what the library does; session: from the first init to the last finalize
//! collective, leasing                collectives of a team by bytes; how a new team gets its slot
//! slot                               how a team's members meet, wherever they are
//! nodes, active_set, connect         meetings between nodes and of active sets; how the network is opened
//! account                            the node's account of memory
//! executor, far                      schedules; transfers that the arithmetic of `fast` does not settle
//! arrivals, call, team, context, via one call of a collective; teams and contexts; which of them a call means
//! lane                               a context's operations between nodes
//! living                             which handles stand for something
//! wait                               the one place that blocks
//! deadlock, hang, report, intruder,  what to say when nothing moves, or when a call cannot be carried out
//! diagnose
//! life                               what one life of the library owns
//! windows, memory, choice, members   the node's memory; the heap; which schedules are wanted; who is in a team
//! roll                               which PEs of the node are gone
//! zone                               which room between nodes no team has
//! job, network, control              this PE among the others; the fabric; what PEs of a node share
//! fast, handles, bell, pace, span,   facts that the data path loads, and small parts
//! signature
//! ```

// The model checker needs only the protocols.
#![cfg_attr(loom, allow(dead_code, unused_imports))]

mod account;
mod active_set;
mod arrivals;
mod atomic;
mod bell;
mod call;
pub mod calls;
mod choice;
mod collective;
mod connect;
mod context;
mod control;
mod deadlock;
mod debug;
mod diagnose;
mod executor;
mod far;
mod fast;
mod handles;
mod hang;
mod intruder;
mod job;
mod lane;
mod leasing;
mod life;
mod living;
mod lock;
mod machine;
mod members;
mod memory;
mod neighbours;
mod network;
mod nodes;
mod pace;
mod placement;
mod primitive;
mod report;
mod roll;
mod signature;
mod slot;
mod span;
mod team;
mod transports;
mod via;
mod wait;
mod windows;
mod word;
mod zone;

#[cfg(all(test, loom))]
mod loom_models;

pub use context::{Context, ContextObject};
pub use handles::use_objects;
pub use oxshmem_reduce::{Complex, LongDouble, Quad};
pub use team::{Team, TeamObject};
pub use via::{On, Via, World};

/// The version of the standard that the library implements.
pub const MAJOR_VERSION: core::ffi::c_int = 1;
/// See [`MAJOR_VERSION`].
pub const MINOR_VERSION: core::ffi::c_int = 6;
/// The vendor string of the header.
pub const VENDOR: &str = concat!("oxshmem ", env!("CARGO_PKG_VERSION"));
