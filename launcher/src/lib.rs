//! The launcher and the compiler wrappers: oshrun, oshcc, oshc++, oshfort, osh_info.

pub mod arguments;
pub mod guardian;
pub mod job;


mod input;
mod output;
mod pe;
mod pmi;
mod program;
mod signals;
mod verdict;
