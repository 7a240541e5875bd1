//! The provider that needs nothing but TCP.
//!
//! [`proto`] is the protocol: state machines without clock and without input or output. Around it stand the memory that
//! peers reach (`served`), one link per pair of PEs and rail (`link`), the operations of contexts (`lane`, `lanes`), the thread
//! and the callers that move everything on (`progress`), the socket that accepts connections (`listener`), those that have not
//! proven themselves (`pending`), and the addresses of this host (`interfaces`, `address`). `net` is what they share; [`PROVIDER`]
//! puts them together.
//!
//! Each layer knows only those below it, and tells the one above by what it returns:
//!
//! ```text
//! net          links by peer; tokens of sockets become calls
//! link         one session, its operations, its patience
//! carrier      makes connections and loses them
//! attempt, connection   one handshake; one socket with frames
//! local        this PE: memory, lanes, addresses, watched sockets, the board of what is due
//! ```
//!
//! The target's processor executes everything, so atomics are atomic against processor atomics of the target's node.
#![cfg_attr(test, allow(non_snake_case, reason = "tests carry the number of the fault"))]

mod address;
mod addresses;
mod append_list;
mod attempt;
mod carrier;
mod connection;
mod interfaces;
mod lane;
mod lanes;
mod limits;
mod link;
mod listener;
mod local;
mod net;
mod pending;
mod permits;
mod progress;
pub mod proto;
mod provider;
mod served;
mod socket;
mod under_way;
mod unreachable;
mod watch;

pub use provider::PROVIDER;
