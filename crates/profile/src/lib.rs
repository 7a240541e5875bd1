//! Profiles and traces of jobs: the layout of what PEs record, and what is computed from it. Everything but the reading of files
//! is a pure function.
//!
//! Each thread of a PE that calls the library owns a *ledger*, a file that it maps into its memory and counts in. So a ledger
//! is complete up to the last call, however the process ends. [`layout`] says where what stands in a ledger, [`ledger`] reads
//! one, [`job`] puts those of a job together, and the other modules answer one question each.
#![forbid(unsafe_code)]

mod bars;
pub mod cause;
pub mod clocks;
pub mod job;
pub mod late;
pub mod layout;
pub mod ledger;
pub mod meetings;
pub mod totals;
pub mod trace;
