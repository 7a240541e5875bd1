//! The library that `oshrun --profile` and `--trace` load in front of a program: it records the program's calls.
//!
//! The routines of the C library have weak names that a tool may define itself. This library defines all of them: each wrapper
//! begins a record, calls the routine of the library, and ends the record. So a program is recorded as it is, in C, C++, Fortran
//! and Python, and without `--profile` nothing of this exists: no branch, no variable, no instruction.
//!
//! The wrappers come from the routine table (`oxshmem_api::generate`). They call [`record`], which counts in the ledger of the
//! calling thread ([`writer`]): a file in memory, which is complete whenever the process ends, even by SIGKILL.

mod folder;
mod ledger_file;
mod library;
mod modules;
mod record;
mod routine;
mod teams;
mod ticks;
mod writer;
