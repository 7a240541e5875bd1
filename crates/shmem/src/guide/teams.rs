//! Teams and contexts.
//!
//! A team is some of the PEs, with numbers of their own from 0. The world is one; the others are split from it.
//!
//! ```
//! let world = oxshmem::World::init()?;
//! let n = world.n_pes();
//! // Every second PE.
//! if let Some(even) = world.split_strided(0, 2, n.div_ceil(2))? {
//!     assert_eq!(even.sum_of(1), even.n_pes());
//! }
//! // A grid: both axes at once.
//! let grid = world.split_2d(1)?;
//! assert_eq!((grid.x.n_pes(), grid.y.n_pes()), (1, n));
//! // Any dimension.
//! let axes = world.split_grid(&[n, 1, 1])?;
//! assert_eq!(axes.len(), 3);
//! # Ok::<(), oxshmem::Error>(())
//! ```
//!
//! Splits are collective over the team that is split, and a team's drop over its own members. A team borrows from what
//! it was split from.
//!
//! A [`Context`](crate::Context) belongs to a team and is a stream of operations of its own: its PE numbers are those of
//! the team, and its `quiet` does not wait for what others have issued. Make one for each thread:
//!
//! ```
//! let world = oxshmem::World::init()?;
//! let sums = world.allocate_slice(2, oxshmem::Atomic::new(0))?;
//! std::thread::scope(|threads| {
//!     for i in 0..2 {
//!         let (context, sum) = (world.context(), &sums[i]);
//!         threads.spawn(move || {
//!             sum.add(i, context.pe(0));
//!             context.quiet();
//!         });
//!     }
//! });
//! # Ok::<(), oxshmem::Error>(())
//! ```
