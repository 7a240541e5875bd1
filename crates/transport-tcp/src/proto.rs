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
//! counts the peer's silence. A request is complete with its answer, so no caller waits for its acknowledgement, and only the look at the
//! clock asks for it.
//!
//! Numbered frames are kept until the peer acknowledges them and are sent again after a cut, so that a connection may
//! break and be replaced and every message is still executed once and in order. A bulk frame that was cut is written
//! again from its start, which changes nothing: no operation counts it before it is whole.
//!
//! # The order of calls
//!
//! One lock covers a [`Session`] and the [`FrameReceiver`] of its connection.
//!
//! - **A connection begins.** The handshake carries [`Session::executed`] of both sides. [`Session::resume`] with the peer's number
//!   comes before anything is sent over the connection, the first one as well, and a new [`FrameReceiver`] goes with it.
//! - **Sending.** `push`, `push_fetch` and `push_bulk_put` append, whether there is a connection or not; [`Session::is_full`] is
//!   asked before. The bytes of a put stay where they are until it is complete, those of `push_uncopied_put` until
//!   [`Session::copy_uncopied`], which comes before anything else is pushed. A batch is sent only after [`Session::close_batch`]. While
//!   [`Session::has_output`], a plain connection hands [`Session::pieces`] to the socket and then calls [`Session::sent`] with the bytes
//!   that the socket has taken, without another call in between. A connection whose frames are sealed takes [`Session::whole_frame`] instead, which counts as sent at once.
//! - **Receiving.** Bytes go to [`FrameReceiver::space`], then [`FrameReceiver::received`] says how many they were. It executes whole
//!   frames at the [`Host`] and counts them in the session. An error ends the connection; the session stays as it is.
//! - **Acknowledging.** After each receipt the caller looks at `wants_ack`, `is_asked` and `untold`, and calls
//!   [`Session::acknowledge`] where nothing else carries the acknowledgement. A caller that waits for completion calls
//!   [`Session::ask`], the look at the clock [`Session::ask_for_all`]. [`Session::reached`] says which tickets are complete. While a
//!   frame comes slowly ([`FrameReceiver::holds_a_part`]), the look at the clock sends an acknowledgement, also of nothing new, as a sign
//!   of life.
//! - **The end.** [`Session::leave`] comes once, and nothing is pushed behind it. A connection that begins later says it again.

pub mod admission;
pub mod attempt_queue;
pub mod codec;
pub mod frame;
pub mod fuzz;
pub mod handshake;
pub mod liveness;
pub mod probes;
pub mod receiver;
pub mod seal;
pub mod session;
pub mod ticket;

#[cfg(test)]
mod tests;

pub use codec::Garbage;
pub use frame::{MemoryRange, OutputPiece};
pub use probes::Probes;
pub use receiver::{FrameReceiver, Host};
pub use session::Session;
