//! Messages of the library when a call cannot be carried out ([`errors`]), when nothing moves ([`hang`], [`deadlock`], in the
//! words of [`oxshmem_flight::report`]), and those of `SHMEM_DEBUG` ([`debug`]).

mod backtrace;
pub(crate) mod deadlock;
pub(crate) mod debug;
pub(crate) mod errors;
pub(crate) mod hang;
pub(crate) mod intruder;
pub(crate) mod outside;
pub(crate) mod program_line;
pub(crate) mod recorder;
mod remedy;
mod variables;
