//! How bytes and atomics reach PEs of other nodes.
//!
//! A provider implements [`Fabric`] (one per job: registered memory, addresses, the service of what other PEs ask of
//! this one) and [`Lane`] (one per context: operations in flight). Addresses are (PE, region, offset), never virtual, so
//! that a provider may use whatever keys and bases its network demands. The runtime reaches PEs of its own node without
//! any of this.
//!
//! A provider never waits: a lane without room returns [`Busy`] or what is left, and [`Issuer`] tries again in the way its
//! caller waits.
//! Software above the trait ([`software`]) does a PE's operations on itself and fills in the operations that a provider
//! lacks, by its [`Capabilities`] and not by its name. A [`TargetTask`] is for the target's processor, and travels in an
//! [`ActiveMessage`]. A lane counts its operations in an [`Account`]. [`loopback`] is a provider whose PEs are threads of one
//! process, and [`suite`] (a feature, for tests) is what every provider has to pass.

mod account;
mod active_message;
mod arguments;
pub mod batch;
mod capabilities;
pub mod due;
mod fabric;
mod habit;
mod issuer;
mod limits;
mod lock;
pub mod loopback;
mod losses;
mod memory;
mod numbers;
mod operation;
mod pieces;
pub mod progress_thread;
mod provider;
pub mod software;
#[cfg(feature = "suite")]
pub mod suite;

pub use oxshmem_os::WatchedTime;

pub use account::Account;
pub use active_message::{ActiveMessage, MessageContent, TargetTask};
pub use arguments::{AtomicArguments, GetArguments, PutArguments};
pub use capabilities::{AmoDomain, Capabilities, Features};
pub use fabric::{
    AddressBook, AwaitedState, Busy, Fabric, Failed, Lane, LaneOptions, LanesBeneath, NotIssued, Segment, TakesTurns,
};
pub use habit::CompletionHabit;
pub use issuer::{Issuer, Wait, signal_behind_puts};
pub use limits::{LONGEST_GET, MOST_ASKED, MOST_ASKED_IN_BATCHES, MOST_UNACKNOWLEDGED, WORD_BY_WORD};
pub use lock::OperationLock;
pub use losses::Losses;
pub use memory::{OutOfRange, RegisteredMemory, WRONG_ARRAY, deliver_old, faulted};
pub use numbers::{NumberHasher, NumberMap};
pub use operation::{Amo, Position, Region, Remote, SignalUpdate, Width};
pub use pieces::{FoundPiece, RegionPiece, RegionPieces};
pub use provider::{
    Agreed, Grade, NetworkAtomics, Offers, Open, Participant, Provider, Rejected, SECRET, TransportOffer,
    WantedTransport,
};
