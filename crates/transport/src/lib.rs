//! How bytes and atomics reach PEs of other nodes.
//!
//! A provider implements [`Fabric`] (one per job: registered memory, addresses, the service of what other PEs ask of
//! this one) and [`Lane`] (one per context: operations in flight). Addresses are (PE, region, offset), never virtual, so
//! that a provider may use whatever keys and bases its network demands. The runtime reaches PEs of its own node without
//! any of this.
//!
//! Software above the trait ([`software`]) fills in the operations that a provider lacks, by its [`Capabilities`] and not
//! by its name. [`loopback`] is a provider whose PEs are threads of one process, [`trace`] counts and logs what
//! passes through any provider, and [`suite`] (a feature, for tests) is what every provider has to pass.

mod capabilities;
mod fabric;
pub mod loopback;
mod memory;
mod operation;
pub mod software;
#[cfg(feature = "suite")]
pub mod suite;
pub mod trace;

pub use capabilities::{AmoDomain, Capabilities, Features};
pub use fabric::{Cards, Fabric, Lane, LaneOptions, Segment};
pub use memory::{Memory, OutOfRange, deliver_old};
pub use operation::{Amo, Region, Remote, SignalUpdate, Width};
