//! How PEs find each other: the process managers of all launchers, the PEs of one node, one PE alone.
//!
//! A process becomes a PE by [`Membership::join`]: it learns its number, how many PEs there are and which of them share its
//! node. The PEs of a node then exchange descriptors of their memory with [`node::share`].
//!
//! [`Manager`] stands for the launcher: a server that speaks [PMI-1](pmi1) or [PMI-2](pmi2), PMIx, or a
//! library with a private wire. The calls into libraries are in `sys/pmix-sys` and `sys/pmi-sys`, behind safe functions,
//! so that nothing here is unsafe.
#![forbid(unsafe_code)]

mod claim;
pub mod ended_notice;
mod fields;
mod find;
mod job;
mod library;
mod manager;
mod mapping;
pub mod node;
mod places;
pub mod pmi1;
pub mod pmi2;
mod pmix;
mod published;
mod reached;
mod refusal;
mod serve;
pub mod simulate;
mod stream;
#[cfg(test)]
mod test;
mod wire;
pub mod wireup;

pub use job::Membership;
pub use manager::{Found, LEAVES, Manager, OUR_JOBS};
pub use mapping::{nodes_of as nodes_of_mapping, of_nodes as process_mapping_of, vector as process_mapping};
pub use node::{Circle, Gathered, OwnNode, Parcel};
pub use places::NodeMap;
pub use reached::{REACHED, reached};
pub use serve::Conversation;
pub use stream::Incoming;
