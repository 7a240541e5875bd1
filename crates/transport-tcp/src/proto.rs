//! The protocol of one connection, as state machines: bytes and the time go in, bytes and effects come out.
//!
//! ```text
//! handshake   both sides prove that they know the job's secret, and say which frame they expect next
//! frames      24 bytes of header (kind, length, number, acknowledgement), then the body
//!   batch     many small messages, executed when the frame is there as a whole
//!   bulk      one long put or reply, whose bytes go straight to their place
//!   ack, bye, ask   no body and no number
//! ```
//!
//! A frame says when it is to be acknowledged. Puts, signals and atomics of contexts are acknowledged soon, because a caller may
//! wait for their completion. Requests, answers and the messages of collectives are acknowledged with what is said next, after
//! 32 frames, or when the sender asks: a lane that waits for completions does, and so does the look at the clock, before it
//! counts the peer's silence.
//!
//! Numbered frames are kept until the peer acknowledges them and are sent again after a cut, so that a connection may
//! break and be replaced and every message is still executed once and in order. A bulk frame that was cut is written
//! again from its start, which changes nothing: nobody has been told of it.

pub mod admission;
pub mod attempts;
pub mod codec;
pub mod frame;
pub mod fuzz;
pub mod handshake;
pub mod liveness;
pub mod receiver;
pub mod seal;
pub mod session;

#[cfg(test)]
#[allow(non_snake_case, reason = "tests carry the number of the fault")]
mod tests;

pub use codec::Garbage;
pub use frame::{MemoryRange, OutputPiece};
pub use receiver::{FrameReceiver, Host};
pub use session::Session;
