//! The guide: a chapter for each concept, with programs that run.
//!
//! Every program of a job runs the same code on several *PEs* (processing elements), each a process. What makes
//! OpenSHMEM is that a PE reads and writes the memory of the others without their help; so the questions are where
//! that memory is ([`memory`]), how data moves ([`transfers`]), when it is there ([`ordering`]), how PEs change one
//! object together ([`atomics`]), and what they do all together ([`collectives`], [`teams`]).

pub mod atomics;
pub mod c;
pub mod calls;
pub mod collectives;
pub mod epochs;
pub mod memory;
pub mod nonblocking;
pub mod ordering;
pub mod soundness;
pub mod teams;
pub mod testing;
pub mod transfers;
