//! The C library: every exported symbol, generated from the routine table.
//!
//! A routine exists under its profiling name (`pshmem_put8`), where it is defined, and under its usual name
//! (`shmem_put8`), a weak alias which a tool may define itself. What Rust cannot express is in `shim/`.
//!
//! # In programs of Rust that have parts in C
//!
//! ```toml
//! [dependencies]
//! oxshmem-c = { path = "…/oxshmem/crates/shmem-c", features = ["installed"] }
//! ```
//!
//! With the feature `installed` the build script looks for a library: below `OXSHMEM_PREFIX` if that is set, by pkg-config otherwise.
//! If there is none, or no feature, this crate is the library. Build scripts of dependents find the headers by
//! `DEP_OXSHMEM_C_INCLUDE` and, if a library was found, its folder by `DEP_OXSHMEM_C_LIB`. The program says `use oxshmem_c as _;`,
//! so that it is linked.
//!
//! A program that also uses the crate `oxshmem` has its runtime already. There C comes by that crate's feature `c`.

#[cfg(not(installed))]
mod exports;
#[cfg(not(installed))]
mod internal;
#[cfg(not(installed))]
mod lines;
#[cfg(not(installed))]
mod long_double;
#[cfg(not(installed))]
mod predefined_handles;
