//! Tests with several PEs.
//!
//! [`test::processes`](crate::test::processes) runs a closure on as many PEs as you like, under plain `cargo test`:
//!
//! ```no_run
//! #[test]
//! fn neighbours_exchange() {
//!     for pes in 1..=4 {
//!         oxshmem::test::processes(pes, |world| {
//!             let number = world.allocate(0).unwrap();
//!             number.put(1, (world.my_pe() + 1) % world.n_pes());
//!             world.barrier();
//!             assert_eq!(number.load(), 1);
//!         });
//!     }
//! }
//! ```
//!
//! Each PE is a process: the test's executable once more, with this test alone. What surrounds the call runs in every
//! one of them, too, so keep it free of side effects. If a PE fails, so does the test, with what the PEs said; none is
//! left behind. [`test::launch`](crate::test::launch) does the same for a program, such as an example.
