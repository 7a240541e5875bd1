//! Signals and waits: how a PE learns that something has come.
//!
//! A PE waits for its *own* copy of a variable, which another one changes. Two kinds of variables can be waited for.
//!
//! A [`Signal`](crate::Signal) travels behind data: one call puts the data and then updates the signal, and a PE that sees
//! the signal can read the data.
//!
//! ```
//! use oxshmem::{Comparison::AtLeast, Signal, Update};
//! let world = oxshmem::World::init()?;
//! let (me, n) = (world.my_pe(), world.n_pes());
//! let (inbox, come) = (world.allocate_slice(4, 0)?, world.allocate(Signal::new(0))?);
//! for round in 1..=3 {
//!     inbox.put_signal(&[me as u64 + round; 4], &come, Update::Add(1), (me + 1) % n);
//!     come.wait_until(AtLeast(round));
//!     assert_eq!(inbox[3].load(), ((me + n - 1) % n) as u64 + round);
//!     world.sync(); // the inbox may be filled again
//! }
//! # Ok::<(), oxshmem::Error>(())
//! ```
//!
//! An [`Atomic`](crate::Atomic) number is changed by [atomic operations](super::atomics), of several PEs if you like.
//! A put before it needs a [`fence`](crate::World::fence) between.
//!
//! The condition of a wait is a [`Comparison`](crate::Comparison), named so that it reads as it is meant: `Is`, `Not`,
//! `Above`, `AtLeast`, `Below`, `AtMost`.
//!
//! | to wait | for one | for several |
//! |---|---|---|
//! | until it is so | [`wait_until`](crate::Symmetric::wait_until) | `wait_until_all`, `wait_until_any`, `wait_until_some` |
//! | and go on if it is not | [`test`](crate::Symmetric::test) | `test_all`, `test_any`, `test_some` |
//! | in `async` code | [`until`](crate::Symmetric::until) | the executor's own means |
//!
//! Several are a slice of atomics, with one value for all or a value for each ([`Condition`](crate::Condition)). A
//! [`WaitSet`](crate::WaitSet) leaves out those that have been dealt with:
//!
//! ```
//! use oxshmem::{Atomic, Comparison::Above};
//! let world = oxshmem::World::init()?;
//! let from_each = world.allocate_slice(world.n_pes(), Atomic::new(0_u32))?;
//! for to in 0..world.n_pes() {
//!     from_each[world.my_pe()].set(7, to);
//! }
//! let mut open = from_each.wait_set();
//! while let Some(pe) = open.wait_any(Above(0)) {
//!     assert_eq!(from_each[pe].load(), 7); // in the order in which they come
//!     open.leave_out(pe);
//! }
//! # Ok::<(), oxshmem::Error>(())
//! ```
//!
//! A wait spins first, then yields, then sleeps; on a machine with more PEs than processors it sleeps soon. While a task
//! waits with `until`, one thread of the library looks for all tasks and wakes those whose variable has changed, so that no
//! executor polls in a loop.
