//! Symmetric memory: an object with a copy on every PE.
//!
//! An allocation is made by all PEs together, and gives each of them a copy of the same object. So a name and a PE
//! number are enough to say which memory is meant; PEs do not exchange addresses.
//!
//! ```
//! use oxshmem::{World, plain, symmetric};
//!
//! symmetric! {
//!     static STEPS: u64 = 0; // a static variable that is symmetric
//! }
//!
//! plain! {
//!     struct Star {
//!         place: [f64; 3],
//!         mass: f64,
//!     }
//! }
//!
//! let world = World::init()?;
//! let stars = world.allocate_slice(1000, Star { place: [0.0; 3], mass: 1.0 })?;
//! let other = (world.my_pe() + 1) % world.n_pes();
//! let theirs = stars[17].get(other);
//! stars[17].store(Star { mass: theirs.mass * 2.0, ..theirs });
//! STEPS.put(1, other);
//! # Ok::<(), oxshmem::Error>(())
//! ```
//!
//! * [`World::allocate`](crate::World::allocate) and [`allocate_slice`](crate::World::allocate_slice) return a
//!   [`SymmetricBox`](crate::SymmetricBox). It borrows from the world, and its drop is as collective as its making.
//! * [`symmetric!`](crate::symmetric) declares static variables. They need no world to name them, and live for ever.
//!   They must be part of the executable, not of a shared library.
//! * What both give access to is a [`Symmetric`](crate::Symmetric) place. A function that works on symmetric memory
//!   takes `&Symmetric<[f64]>`, wherever that comes from.
//!
//! A place never gives a reference to what lies in it. Its own copy is read and written by
//! [`load`](crate::Symmetric::load) and [`store`](crate::Symmetric::store), which cost what ordinary ones cost; for work
//! on whole slices see [`epochs`](super::epochs).
//!
//! Only [`Plain`](crate::Plain) types can lie there: numbers, arrays of them, and structs by `#[derive(oxshmem::Plain)]` or
//! [`plain!`](crate::plain). They have no padding and no invalid values, so what another PE stores is a value
//! whatever it is. A `bool`, a `char` or an enum without fields is stored as its [`Code`](crate::Code), which is checked when
//! it is read; references cannot be stored at all.
//!
//! Where there is no room, an allocation fails on all PEs. It prints nothing, and the error's
//! [kind](crate::ErrorKind::OutOfMemory) has the numbers.
