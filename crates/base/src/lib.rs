//! The base of every other part of oxshmem: the one error type, the one table of environment variables, the syntax of
//! sizes, the search for the name that a user meant to type, the reading of files that users name, the opening of files
//! for their results, the place where a program called, Fortran's names of teams, and chance that can be repeated.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(non_snake_case, reason = "tests carry the number of the fault"))]

pub mod call_site;
pub mod chance;
mod error;
pub mod file;
pub mod fortran_teams;
pub mod knobs;
pub mod names;
pub mod output;
pub mod planted;
pub mod simulated;
pub mod size;

pub use error::{Error, ErrorKind, cut};
pub use knobs::Settings;
