//! The worst network that the contract of [`Lane`](oxshmem_transport::Lane) permits, for programs of any language.
//!
//! PEs are the processes of an ordinary job on one machine. They take turns: exactly one runs at a time. Each call of the
//! provider and each look of a wait is a *step*, at which a scheduler decides who goes on: a PE, or the network, which then
//! does one thing for one operation: it reads a part of its source, lands a part at the target, or completes it. All
//! decisions come from one generator in shared memory, so that a run is a function of the program, its input, the number of
//! PEs, the strategy and the seed.
//!
//! ```text
//!   program thread ──► lane ──► network of its PE (queue of operations, in the process that issued them)
//!         │                          │ one effect at a time, when the scheduler says so
//!         ▼                          ▼
//!   turns (arena: whose turn,    mailbox of the target ──► its service thread ──► its registered memory
//!   dice, steps, who waits)
//! ```
//!
//! - [`options`]: the text behind `SHMEM_TRANSPORT=sim:`.
//! - [`arena`]: what the PEs share; [`turns`]: whose turn it is; [`strategy`]: who is next, as a pure function;
//!   [`watch`]: PEs that keep their turn for too long, or have died.
//! - [`operation`], [`queue`]: operations under way, and what may happen to them next.
//! - [`network`]: one PE's operations and its service thread; [`reach`], [`mailbox`]: how it reaches the memory of others.
//! - [`lane`], [`fabric`]: the interface of every provider; [`story`]: what has happened, for people; [`blocks`]: names of the
//!   heap's blocks in it.

mod arena;
mod blocks;
mod chance;
mod fabric;
mod lane;
mod mailbox;
mod network;
mod operation;
mod options;
mod queue;
mod reach;
mod story;
mod strategy;
mod turns;
mod watch;

pub use fabric::PROVIDER;
