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
//!
//! # Threads, and seeds
//!
//! [`test::threads`](crate::test::threads) runs the PEs as threads of the test's process, of which one runs at a time.
//! A seed decides at every call which PE goes on, so that a run can be repeated; with [`delayed`](crate::test::Threads::delayed)
//! operations arrive late, in parts and out of order, as far as fences and quiets allow. So a lost update or a forgotten fence fails with
//! some seed, on a laptop:
//!
//! ```
//! use oxshmem::{Comparison::AtLeast, Signal, Update};
//! oxshmem::test::threads(3).delayed().seeds(0..20, |world| {
//!     let inbox = world.allocate_slice(3, 0).unwrap();
//!     let come = world.allocate(Signal::new(0)).unwrap();
//!     inbox.put_signal(&[1, 2, 3], &come, Update::Set(1), (world.my_pe() + 1) % world.n_pes());
//!     come.wait_until(AtLeast(1));
//!     assert_eq!(inbox.to_vec(), [1, 2, 3]);
//! });
//! ```
//!
//! When a test fails, its message has the seed: `threads(3).seed(17).delayed().run(…)` does the same once more. PEs that
//! all wait are a deadlock, which is an error that says where each PE waits. Miri can run such tests too
//! (`MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test`), and looks into every operation.
//!
//! A world of threads has no node, no C, and no speed; [`test::processes`](crate::test::processes) is what a job is like.
//!
//! # Data races
//!
//! With the feature `race` (`cargo oxrun --race -n 4`) a program says which two accesses of its PEs nothing orders, with their lines. The
//! page "Races between PEs" of the book tells what is seen.
