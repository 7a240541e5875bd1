//! The race detector: which accesses to symmetric memory no synchronisation orders.
//!
//! Each [strand](strands) of a PE, usually a thread, has a [vector clock](clock), and each eight bytes of symmetric memory a
//! [shadow cell](cell). All of it lies in memory that the node's PEs share. A [`Detector`] is one PE's view, a [`Strand`] that of one
//! of its strands: the calls of the standard and the plain accesses of the program go in, [races](Race) come out.
//!
//! A strand's accesses have several times. Its own loads and stores, and blocking gets, are over when the next statement begins: the
//! *program's* time. A put is over at a quiet, and before later puts to the same PE after a fence: the time *sent*, one for each
//! owner of memory. A nonblocking get is over at a quiet alone: the time *pulled*. The accesses of a collective that returns at once
//! are over when its [request](requests) has ended. So a clock has several columns for each strand ([`clock::Column`]), and an
//! access is ordered before another one if the clock of the later strand has reached its time. A quiet may be another strand's: it
//! ends the operations of which it knows.
//!
//! Where the detector cannot know, it takes accesses as ordered: a report is certain to name accesses without order.
#![forbid(unsafe_code)]

pub mod access;
pub mod cell;
pub mod clock;
pub mod detector;
pub mod elements;
mod joinable;
pub mod memory;
mod numbers;
pub mod order;
mod pending;
pub mod place;
mod published;
mod requests;
mod signals;
mod strands;
mod transfers;

pub use access::{AccessKind, AtomicType, Conflict, Site};
pub use clock::{StrandKind, StrandName, Stream};
pub use detector::{Detector, ProgramMark, Race, RaceRank, Strand};
pub use elements::ArrayShape;
pub use joinable::JoinableThreads;
pub use memory::SharedState;
pub use order::{CollectiveMeeting, fingerprint};
pub use pending::{CallBuffer, EXTENTS, LentExtent};
pub use place::{MemoryPart, SymmetricPlace};
pub use published::{PublishedClocks, PublishedLengths, WordSet};
pub use signals::SignalList;
pub use strands::LastCall;
pub use transfers::FetchedAtomic;

#[cfg(test)]
mod tests;
