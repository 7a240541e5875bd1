//! Objects that PEs change together: atomics, waiting, locks.
//!
//! An [`Atomic`](crate::Atomic) number has atomic operations and nothing else, so no transfer can break them.
//!
//! ```
//! use oxshmem::{Atomic, symmetric};
//! symmetric! { static NEXT: Atomic<u64> = Atomic::new(0); }
//! let world = oxshmem::World::init()?;
//! let mut mine = Vec::new();
//! // Everybody takes tickets from PE 0 until there are no more.
//! loop {
//!     let ticket = NEXT.fetch_inc(0);
//!     if ticket >= 10 {
//!         break;
//!     }
//!     mine.push(ticket);
//! }
//! assert_eq!(world.sum_of(mine.len()), 10);
//! # Ok::<(), oxshmem::Error>(())
//! ```
//!
//! Waiting is for this PE's own copy, which another one changes: [`wait_until`](crate::Symmetric::wait_until),
//! [`test`](crate::Symmetric::test), and for slices of atomics `wait_until_all`, `_any` and `_some`. In `async` code
//! [`until`](crate::Symmetric::until) is a future; its task sleeps until a thread of the library has seen the change.
//!
//! A [`Lock`](crate::Lock) is held by one PE at a time, as long as its guard lives:
//!
//! ```
//! oxshmem::symmetric! {
//!     static LOCK: oxshmem::Lock = oxshmem::Lock::new();
//!     static ACCOUNT: i64 = 100;
//! }
//! let world = oxshmem::World::init()?;
//! {
//!     let _held = LOCK.lock(&world);
//!     ACCOUNT.put(ACCOUNT.get(0) - 1, 0);
//! }
//! # Ok::<(), oxshmem::Error>(())
//! ```
