//! The parts of a node, and the places of its PEs.
//!
//! [`discover`] looks at the machine once per node and makes a [`Node`]; everything else is pure functions on it:
//! [`placement`] gives PEs their cores and NUMA nodes, [`nic`] their network cards, [`share`] is what they are told,
//! [`map`] and [`picture`] show it to people. [`claim`] notices jobs that are bound to the same cores.
#![deny(unsafe_code)]

pub mod claim;
pub mod cpulist;
mod discover;
mod hwloc;
pub mod map;
pub mod nic;
mod node;
pub mod picture;
pub mod placement;
pub mod share;
mod sysfs;

pub use discover::{DescriptionSource, Discovered, below, discover};
pub use node::{Nic, Node, NumaMemory, Processor};
pub use placement::{Bind, Map, PePlace};
pub use share::Share;
