//! The ground under every other part of oxshmem: the one error type, the one table of environment variables, the syntax
//! of sizes, the search for the name somebody meant to type, the reading of files that users name, and the opening of
//! files for their results.
#![forbid(unsafe_code)]

mod error;
pub mod file;
pub mod knobs;
pub mod names;
pub mod output;
pub mod size;

pub use error::{Error, ErrorKind, cut};
pub use knobs::Settings;
