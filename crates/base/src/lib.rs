//! The ground under every other part of oxshmem: the one error type, the one table of environment variables, the syntax
//! of sizes and the search for the name somebody meant to type.
#![forbid(unsafe_code)]

mod error;
pub mod knobs;
pub mod names;
pub mod size;

pub use error::Error;
pub use knobs::Settings;
