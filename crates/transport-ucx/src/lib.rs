//! The provider over UCX.
//!
//! A PE has one worker that serves (`service`) and one for each lane (`channel`). A lane's worker reaches the serving
//! worker of a peer: memory by puts and gets with the peer's keys, which are asked for when they are first needed
//! (`keys`); atomics, signals and such questions by active messages (`message`). A thread and the callers who wait move
//! the serving worker on (`progress`). `handle` owns what UCX hands out, `load` opens the library, [`PROVIDER`] puts the
//! parts together.
//!
//! The target's processor executes all atomics, so they are atomic against processor atomics of the target's node,
//! whichever transport UCX has chosen: UCX does not say against what its own ones are atomic. So these are used only for all
//! of a job's at once (`channel::atomic`), those of a PE on itself too.

mod channel;
mod devices;
mod handle;
mod keys;
mod lane;
mod load;
mod message;
mod net;
mod peers;
mod progress;
mod provider;
mod region;
mod seat;
mod service;
mod usable;

pub use provider::PROVIDER;
