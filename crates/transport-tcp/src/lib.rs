//! The provider that needs nothing but TCP.
//!
//! [`proto`] is the protocol: state machines without clock and without input or output. Around it stand the memory that
//! peers reach (`region`), one connection per pair of PEs and rail (`link`, `connect`), the operations of contexts
//! (`lane`, `lanes`), the thread and the callers that move everything on (`progress`), connections that have not proven themselves (`pending`), and the
//! addresses of this host (`interfaces`, `card`). `net` is what they share; [`PROVIDER`] puts them together.
//!
//! The target's processor executes everything, so atomics are atomic against processor atomics of the target's node.

mod card;
mod connect;
mod interfaces;
mod lane;
mod lanes;
mod link;
mod net;
mod pending;
mod progress;
pub mod proto;
mod provider;
mod region;
mod socket;
mod unreachable;

pub use provider::PROVIDER;
