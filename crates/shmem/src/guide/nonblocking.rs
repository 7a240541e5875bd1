//! Transfers that go on while the program does.
//!
//! A buffer must be left alone until a transfer that was started without waiting has completed. There are two ways to
//! have the compiler check that.
//!
//! **A scope** borrows buffers and completes at its end, as the scopes of threads do:
//!
//! ```
//! let world = oxshmem::World::init()?;
//! let halo = world.allocate_slice(8, 1)?;
//! let (edge, mut back) = ([5, 6], [0; 2]);
//! world.scope(|scope| {
//!     scope.put(&halo, &edge, 0);
//!     scope.get(&halo[4..], &mut back, 0);
//!     // compute meanwhile
//! });
//! assert_eq!(back, [1, 1]);
//! # Ok::<(), oxshmem::Error>(())
//! ```
//!
//! **An owned buffer** moves into the transfer and comes back from it, by waiting or by `await`:
//!
//! ```
//! let world = oxshmem::World::init()?;
//! let numbers = world.allocate_slice(4, 0)?;
//! let transfer = numbers.put_owned(vec![1, 2, 3, 4], 0);
//! let buffer = transfer.wait();
//! assert_eq!(numbers.to_vec(), buffer);
//! # Ok::<(), oxshmem::Error>(())
//! ```
//!
//! A [`Pending`](crate::Pending) transfer that is dropped is waited for; one that is forgotten keeps its buffer for
//! ever. Futures need no particular executor. Between PEs of one node a transfer has completed when the call that starts
//! it returns, so awaiting one costs a quiet and no more. Waiting for a variable
//! ([`until`](crate::Symmetric::until)) is what suspends a task there.
