//! The provider over UCX.
//!
//! A PE has one worker that serves (`service`) and one for each lane (`channel`). A lane's worker reaches the serving
//! worker of a peer: memory by puts and gets with the peer's keys, which are asked for when they are first needed
//! (`keys`); atomics, signals and such questions by active messages (`message`). Over TCP short puts, and all of the runtime's own lane,
//! are active messages, too; long ones of these go by rendezvous (`rendezvous`). A thread and the callers that wait move the serving
//! worker on (`progress`). `objects` owns UCX's objects, `load` opens the library, [`PROVIDER`] puts the parts together.
//!
//! UCX does not say with respect to which other accesses its own atomics are atomic. So either the target's processor executes all
//! atomics of a job, which are then atomic against processor atomics of the target's node, whichever transport UCX has chosen; or UCX
//! does all of them (`channel::atomic`), those of a PE on itself too.

mod answer;
mod backlog;
mod channel;
mod devices;
mod eager;
mod keys;
mod lane;
mod load;
mod message;
mod net;
mod objects;
mod peers;
mod progress;
mod provider;
mod receiver;
mod region;
mod rendezvous;
mod service;
mod shared_channel;
mod shared_files;
mod tcp;
mod usable;

pub use provider::PROVIDER;
