//! The C library: every exported symbol, generated from the routine table.
//!
//! A routine exists under its profiling name (`pshmem_put8`), where it is defined, and under its usual name
//! (`shmem_put8`), a weak alias which a tool may define itself. What Rust cannot express is in `shim/`.

mod exports;
mod lines;
mod predefined_handles;
