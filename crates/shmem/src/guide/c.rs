//! Rust and C in one world.
//!
//! With the feature `c` this crate brings the C library's symbols (`shmem_put`, `SHMEM_TEAM_WORLD` and all others) into
//! the program, on top of the same runtime that the Rust calls use. So C code linked into a Rust program shares its
//! world: PE numbers, symmetric memory and teams are the same, and addresses of
//! [`Symmetric::as_ptr`](crate::Symmetric::as_ptr) are symmetric addresses for it.
//!
//! ```toml
//! [dependencies]
//! oxshmem = { path = "…/oxshmem/crates/shmem", features = ["c"] }
//!
//! [build-dependencies]
//! cc = "1"
//! ```
//!
//! The C code is compiled by a build script into a static library, against `shmem.h`, which lies in the folder of the variable
//! `DEP_OXSHMEM_INCLUDE`:
//!
//! ```text
//! fn main() {
//!     let headers = std::env::var("DEP_OXSHMEM_INCLUDE").expect("the crate oxshmem says it with the feature c");
//!     cc::Build::new().file("src/part.c").include(headers).compile("part");
//! }
//! ```
//!
//! The example `with_c` shows the program and its part in C.
//!
//! Initialising is counted: C may call `shmem_init` and `shmem_finalize` itself, and the last one ends the world. If C comes before
//! [`World::init`](crate::World::init), it calls `shmem_init_thread` with `SHMEM_THREAD_MULTIPLE`, because safe code may use threads.
//!
//! Do not link `liboxshmem.so` into such a program as well. It contains a runtime of its own, and a process has one. (The
//! feature `installed` of the crate `oxshmem-c` does that for programs without this crate.) A C
//! *program* that wants to use Rust code goes the other way round: the Rust code becomes a static library with the
//! feature `c`, which then is the program's only OpenSHMEM.
//!
//! C code is bound by the promises of [`World::init_with_others`](crate::World::init_with_others): it must keep away
//! from memory that is in an exclusive epoch, and leave atomics and locks to their own operations. Calls of C are
//! `unsafe` anyway.
