//! The launcher and the compiler wrappers: oshrun, oshcc, oshc++, oshfort, osh_info.
#![deny(unsafe_code)]

pub mod arguments;
pub mod guardian;
pub mod info;
pub mod job;
pub mod wrapper;

mod input;
mod output;
mod pe;
mod pmi;
mod prepare;
mod program;
mod signals;
mod verdict;
mod watch;

/// A sentence of the launcher's own. Without anybody to read it there is nothing better to do than to go on.
fn say(sentence: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "oshrun: {sentence}");
}
