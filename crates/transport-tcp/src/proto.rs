//! The protocol of one connection, as state machines: bytes and the time go in, bytes and effects come out.
//!
//! ```text
//! handshake   both sides prove that they know the job's secret, and say which frame they expect next
//! frames      24 bytes of header (kind, length, number, acknowledgement), then the body
//!   batch     many small messages, executed when the frame is there as a whole
//!   bulk      one long put or reply, whose bytes go straight to their place
//!   ack, bye  no body and no number
//! ```
//!
//! Numbered frames are kept until the peer acknowledges them and are sent again after a cut, so that a connection may
//! break and be replaced and every message is still executed once and in order. A bulk frame that was cut is written
//! again from its start, which changes nothing: nobody has been told of it.

pub mod endpoint;
pub mod fuzz;
pub mod handshake;
pub mod patience;
pub mod seal;
pub mod session;
pub mod wire;

#[cfg(test)]
#[allow(non_snake_case, reason = "tests carry the number of the fault")]
mod tests;

pub use endpoint::{Endpoint, Host};
pub use session::{Piece, Place, Session};
pub use wire::Garbage;
