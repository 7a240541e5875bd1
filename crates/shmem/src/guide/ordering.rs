//! When data is there.
//!
//! | after | what is certain |
//! |---|---|
//! | a put | nothing but that the source may be reused |
//! | [`fence`](crate::World::fence) | puts before it arrive before puts after it, for each target |
//! | [`quiet`](crate::World::quiet) | this PE's puts have arrived |
//! | [`barrier`](crate::World::barrier) | all PEs' puts before it have arrived |
//! | [`Team::sync`](crate::Team::sync) | all members have come; puts may still be on their way |
//!
//! A PE that waits for data waits for a *flag* that is set after it. The flag is an [`Atomic`](crate::Atomic), or a
//! [`Signal`](crate::Signal) that travels behind the data in one call:
//!
//! ```
//! use oxshmem::{Comparison::AtLeast, Signal, Update};
//! let world = oxshmem::World::init()?;
//! let to = (world.my_pe() + 1) % world.n_pes();
//! let (inbox, come) = (world.allocate_slice(3, 0)?, world.allocate(Signal::new(0))?);
//!
//! inbox.put_signal(&[1, 2, 3], &come, Update::Set(1), to);
//! come.wait_until(AtLeast(1));
//! assert_eq!(inbox.to_vec(), [1, 2, 3]);
//! # Ok::<(), oxshmem::Error>(())
//! ```
//!
//! A [context](crate::Context) has a `fence` and a `quiet` of its own, which concern what was issued on it.
