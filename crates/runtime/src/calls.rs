//! The calls of the standard, generic over element type and call form. The C library's exports are one line each
//! into this module; names and the order of arguments are those of the C prototypes.
//!
//! The functions are `unsafe` because the standard puts obligations on the caller that no type can carry: that
//! addresses are symmetric, that buffers are valid, that no other thread or PE touches what a call works on.
#![allow(clippy::missing_safety_doc, reason = "the obligations of calls without a section are those of the standard")]

pub mod active_set;
pub mod amo;
pub mod binding;
pub mod collective;
pub mod context;
pub mod counting;
pub mod extension;
pub mod fortran;
pub mod init;
pub mod locality;
pub mod lock;
pub mod memory;
pub mod order;
pub mod p2p;
pub mod performance_counters;
pub mod request;
pub mod rma;
pub mod session;
pub mod signal;
pub mod team;
pub mod team_extension;
