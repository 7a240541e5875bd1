//! Ordinary slices of symmetric memory.
//!
//! Code that sorts, or that calls a library, wants a `&mut [T]`. Such a reference is wrong as long as another PE might
//! put something there. It is right in an *exclusive epoch*: all PEs lend the same memory to
//! [`World::exclusive`](crate::World::exclusive), each gets its own copy, and none goes on before all are done.
//!
//! ```
//! let world = oxshmem::World::init()?;
//! let mut keys = world.allocate_slice(5, 0)?;
//! for (i, key) in [4, 2, 5, 1, 3].into_iter().enumerate() {
//!     keys[i].put(key, (world.my_pe() + 1) % world.n_pes());
//! }
//! world.exclusive(&mut keys, |mine| mine.sort_unstable());
//! assert_eq!(keys.to_vec(), [1, 2, 3, 4, 5]);
//! # Ok::<(), oxshmem::Error>(())
//! ```
//!
//! Why this is sound: the box is borrowed as `&mut`, so nothing in this process can reach the memory meanwhile, and
//! the same holds in every other process, because the call makes sure that all PEs are in an epoch of the same memory
//! and lets none leave before the last. Collective calls inside an epoch end the job: a PE that had left one early
//! could otherwise go on. Static variables have no epochs, because they cannot be borrowed as `&mut`.
//!
//! An epoch costs two barriers. For a few elements [`load`](crate::Symmetric::load) and
//! [`store`](crate::Symmetric::store) are cheaper.
