//! How bytes and atomics reach PEs of other nodes.
//!
//! A provider implements [`Fabric`] (one per job: registered memory, addresses, the service of what other PEs ask of
//! this one) and [`Lane`] (one per context: operations in flight). Addresses are (PE, region, offset), never virtual, so
//! that a provider may use whatever keys and bases its network demands. The runtime reaches PEs of its own node without
//! any of this.
//!
//! What a provider cannot do is filled in by software above the trait, by what its [`Capabilities`] say and not by its
//! name.

mod capabilities;
mod fabric;
mod operation;

pub use capabilities::{AmoDomain, Capabilities, Features};
pub use fabric::{Cards, Fabric, Lane, LaneOptions, Segment};
pub use operation::{Amo, Region, Remote, SignalUpdate, Width};
