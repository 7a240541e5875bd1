//! Messages of the library when a call cannot be carried out ([`errors`]), when nothing moves ([`hang`], [`deadlock`], in the
//! words of [`report`]), and those of `SHMEM_DEBUG` ([`debug`]).

pub(crate) mod deadlock;
pub(crate) mod debug;
pub(crate) mod errors;
pub(crate) mod hang;
pub(crate) mod intruder;
pub(crate) mod report;
