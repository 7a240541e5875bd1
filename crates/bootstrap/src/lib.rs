//! How PEs find each other: PMI-1, the node rendezvous, one PE alone.
//!
//! A process becomes a PE by [`Job::join`]: it learns its number, how many PEs there are and which of them share its
//! node. The PEs of a node then exchange descriptors of their memory with [`node::share`].
#![forbid(unsafe_code)]

mod claim;
mod job;
mod mapping;
pub mod node;
pub mod pmi1;
mod published;

pub use job::Job;
pub use mapping::vector as process_mapping;
pub use node::{Gathered, Node, Parcel};
