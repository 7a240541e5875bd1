//! The race detector's library. `oshcc --race` links it before liboxshmem, so that a program's calls come here first.
//! A program in Rust has the library in itself; its crate `oxshmem` calls here with the feature `race`.
//!
//! The routines are C (`shim/calls.c`, generated): each tells the detector what it does, and calls the library's routine by its
//! profiling name. So the library itself knows nothing of all this, and pays nothing. [`hooks`], [`meetings`] and [`strands`] are the functions
//! that they call, [`node`] is the memory that the node's PEs share, [`report`] says what was found, with names from [`symbols`] and
//! [`arrays`]. [`forks`] keeps what the program forks out of all this.

mod arrays;
mod forks;
mod hooks;
mod layout;
mod levels;
mod mapping;
mod meetings;
mod members;
mod node;
mod options;
mod report;
mod standard;
mod strands;
mod symbols;
mod teams;
mod threads;
mod words;

pub use levels::race_begin_with;
pub use standard::WatchedLibrary;
