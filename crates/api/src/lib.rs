//! The routine table of OpenSHMEM: one row per family, and the generators that read it.
//!
//! The C library's exports, its headers and the linker's version map are this table in other words.
//! `cargo xtask generate` writes them; `cargo xtask generate --check` fails when one is stale.
#![forbid(unsafe_code)]

pub mod constants;
pub mod expand;
pub mod fortran;
pub mod generate;
pub mod manual;
pub mod prototype;
pub mod table;
pub mod types;
