//! Collective algorithms as pure functions, their prover and their simulator.
//!
//! [`strided_team`] is the arithmetic of team membership, [`lease`] the agreement on a team's place in memory. [`step`] says
//! what a schedule is made of, [`algorithm`] holds the schedules, [`choose`](choose::choose) has the tables of schedules, and
//! [`way`] chooses how a collective goes. In tests `prove` runs them in an abstract machine. With the feature `tools`, `simulate` runs them on
//! a model network, and `print` writes them down. [`node`] holds the protocols by which members meet in the memory of one node, in the same
//! style.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod algorithm;
pub mod choose;
pub mod lease;
pub mod node;
#[cfg(feature = "tools")]
pub mod print;
#[cfg(test)]
mod prove;
#[cfg(feature = "tools")]
pub mod simulate;
pub mod step;
pub mod strided_team;
pub mod way;
