//! Operations of all members of a team together.
//!
//! Over values, which need no symmetric memory:
//!
//! ```
//! let world = oxshmem::World::init()?;
//! let load = 1.5 * world.my_pe() as f64;
//! let (total, most) = (world.sum_of(load), world.max_of(load));
//! let everybody: Vec<f64> = world.values(load);
//! assert!(everybody.iter().all(|&load| load <= most) && most <= total);
//! # Ok::<(), oxshmem::Error>(())
//! ```
//!
//! And over symmetric slices, place by place:
//!
//! ```
//! let world = oxshmem::World::init()?;
//! let n = world.n_pes();
//! let (mine, sums) = (world.allocate_slice(100, 1.0)?, world.allocate_slice(100, 0.0)?);
//! world.sum(&sums, &mine);
//! assert_eq!(sums[99].load(), n as f64);
//! world.sum(&mine, &mine); // in place
//!
//! let all = world.allocate_slice(n, 0)?;
//! world.fcollect(&all, world.allocate(world.my_pe())?.as_slice());
//! assert_eq!(all.to_vec(), (0..n).collect::<Vec<_>>());
//! # Ok::<(), oxshmem::Error>(())
//! ```
//!
//! There are `max`, `min`, `sum`, `prod`, `and`, `or`, `xor`, the scans `sum_inscan` and `sum_exscan`, `broadcast`,
//! `collect`, `fcollect` and `alltoall`; the iterator over what comes out is that of the slice or the `Vec`. Which type
//! has which operator is a matter of traits: there is no bitwise and of floats. Floating-point sums are combined in the
//! order of the team, so that they are the same on all PEs and in every run.
//!
//! The methods whose names begin with `start` return a [`StartedCollective`](crate::StartedCollective) at once. It is a future: a task
//! awaits it, and other code calls [`wait`](crate::StartedCollective::wait).
//!
//! ```
//! let world = oxshmem::World::init()?;
//! let total = world.start_sum_of(1.5);
//! // … compute meanwhile …
//! assert_eq!(total.wait(), 1.5 * world.n_pes() as f64);
//! # Ok::<(), oxshmem::Error>(())
//! ```
//!
//! A collective that has been started is moved on by every wait of this PE, and by a thread of this crate while a task awaits
//! it; a PE that only computes does not move it on.
//!
//! All members make the same calls in the same order. Where that goes wrong the job ends with a message if the library
//! sees it, and it looks before it writes into the memory of others.
