//! The race detector: which accesses to symmetric memory no synchronisation orders.
//!
//! Each PE of a node has a [vector clock](clock) and [shadow cells](cell), one for every eight bytes of its symmetric memory.
//! All of it lies in memory that the node's PEs share. A [`Detector`] is one PE's view: the calls of the standard and the
//! plain accesses of the program go in, [conflicts](Conflict) come out.
//!
//! A PE's accesses have several times. Its own loads and stores, and blocking gets, are over when the next statement begins: the
//! *program's* time. A put is over at a quiet, and before later puts to the same PE after a fence: the time *sent*, one for each
//! owner of memory. A nonblocking get is over at a quiet alone: the time *pulled*. The accesses of a collective that returns at once
//! are over when its [request](requests) has ended. So a clock has several columns for each
//! PE ([`clock::Column`]), and an access is ordered before another one if the clock of the later PE has reached its time.
//!
//! Where the detector cannot know, it takes accesses as ordered: a report is certain to name accesses without order.
#![forbid(unsafe_code)]

pub mod access;
pub mod cell;
pub mod clock;
pub mod detector;
pub mod memory;
mod pending;
mod requests;
mod signals;

pub use access::{AccessKind, Conflict, Site};
pub use clock::Stream;
pub use detector::{CollectiveMeeting, Detector, Race, fingerprint};
pub use memory::{MemoryPart, SharedState, SymmetricPlace};
pub use pending::CallBuffer;
pub use signals::SignalList;

#[cfg(test)]
mod tests;
