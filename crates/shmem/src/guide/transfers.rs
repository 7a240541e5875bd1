//! Put and get.
//!
//! *Put* writes another PE's copy, *get* reads it. The other PE takes no part.
//!
//! ```
//! let world = oxshmem::World::init()?;
//! let (me, n) = (world.my_pe(), world.n_pes());
//! let row = world.allocate_slice(8, 0)?;
//!
//! row[2].put(5, (me + 1) % n);                    // one element
//! row[4..].put_slice(&[1, 2, 3], (me + 1) % n);   // several
//! world.barrier();
//! assert_eq!(row.to_vec(), [0, 0, 5, 0, 1, 2, 3, 0]);
//!
//! let mut middle = [0; 4];
//! row[2..].get_slice(&mut middle, (me + 1) % n);
//! assert_eq!(middle, [5, 0, 1, 2]);
//! # Ok::<(), oxshmem::Error>(())
//! ```
//!
//! A symmetric slice is indexed like any other, which says what is meant on the other PE. The source of a put may be
//! changed as soon as the call returns; the data is there after a [`quiet`](crate::World::quiet) or a barrier (see
//! [`ordering`](super::ordering)).
//!
//! A PE that does not exist and a slice that is too long end the job.
//! [`try_put_slice`](crate::Symmetric::try_put_slice) and its like return an error instead, for numbers that come from
//! outside of the program.
//!
//! [`put_strided`](crate::Symmetric::put_strided) and [`get_strided`](crate::Symmetric::get_strided) move columns of a
//! matrix. PE numbers are those of the world; through a [context](crate::Context) those of its team:
//!
//! ```
//! let world = oxshmem::World::init()?;
//! let number = world.allocate(0)?;
//! let context = world.context();
//! number.put(1, context.pe(0));
//! # Ok::<(), oxshmem::Error>(())
//! ```
