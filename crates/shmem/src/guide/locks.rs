//! Locks: one PE at a time.
//!
//! A [`Lock`](crate::Lock) lives in symmetric memory and is one lock of all PEs, whichever copy is meant. Its holder has
//! a guard, and dropping the guard releases the lock.
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
//! } // What was put is there before the next owner has the lock.
//! world.barrier();
//! assert_eq!(ACCOUNT.get(0), 100 - world.n_pes() as i64);
//! # Ok::<(), oxshmem::Error>(())
//! ```
//!
//! * Waiting PEs are served in the order in which they came, and each waits on memory of its own, so a contended lock
//!   does not flood the network.
//! * The owner is a PE, not a thread. So only the thread with the world can ask for a lock, and the guard stays there.
//! * Dropping the guard completes what was put on the world. Puts on a [context](super::teams) need its `quiet` before.
//! * Asking again for a lock that one holds waits for ever, as with a mutex;
//!   [`try_lock`](crate::Symmetric::try_lock) says `None`.
//! * A PE that panics releases its locks as the guards are dropped. A guard that is forgotten holds its lock for ever.
//!
//! To count, to take tickets or to claim a place, an [atomic](super::atomics) is simpler and faster.
