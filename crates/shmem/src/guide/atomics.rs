//! Numbers that PEs change together.
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
//! All PEs that touch a number do so by one kind of atomic operation, this PE's own [`load`](crate::Symmetric::load) and
//! [`store`](crate::Symmetric::store) included, whether they are on this node or on another one. Those that return
//! nothing ([`add`](crate::Symmetric::add), [`set`](crate::Symmetric::set)) may still be under way when the call returns;
//! [`quiet`](crate::World::quiet) completes them. Those that return the old value have happened. Answers that can wait
//! come at the end of a [scope](super::nonblocking).
//!
//! To wait for a number see [`signals`](super::signals), to hold something for longer [`locks`](super::locks).
