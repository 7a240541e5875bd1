//! OpenSHMEM for Rust: symmetric memory that safe code cannot misuse.
//!
//! Several processes, the *PEs*, run the same program. Each can read and write the others' *symmetric* memory, and all
//! meet in collective calls. Here is a program:
//!
//! ```
//! fn main() -> Result<(), oxshmem::Error> {
//!     let world = oxshmem::World::init()?;
//!     println!("Hello from PE {} of {}", world.my_pe(), world.n_pes());
//!     Ok(())
//! }
//! ```
//!
//! # Quick start
//!
//! ```text
//! cargo new hello && cd hello
//! cargo add --path …/oxshmem/crates/shmem     # and the program above into src/main.rs
//! cargo build --release
//! oshrun -n 4 target/release/hello            # or in one step: cargo oxrun -n 4 --release
//! ```
//!
//! `oshrun` and `cargo oxrun` come with the library: `cargo xtask install --prefix DIR` in a checkout of oxshmem puts them
//! into `DIR/bin`, which belongs into `PATH`, before the `oshrun` that Open MPI may have put there. Without a launcher a program is a job with one PE. Any launcher that speaks
//! PMI-1, PMI-2 or PMIx will do instead of `oshrun`.
//!
//! # A tour
//!
//! Everybody tells the right neighbour something:
//!
//! ```
//! let world = oxshmem::World::init()?;
//! let (me, n) = (world.my_pe(), world.n_pes());
//! let inbox = world.allocate(0)?;           // on every PE
//! inbox.put(me as u64, (me + 1) % n);       // into the neighbour's copy
//! world.barrier();                          // everybody's puts are there
//! assert_eq!(inbox.load(), ((me + n - 1) % n) as u64);
//! # Ok::<(), oxshmem::Error>(())
//! ```
//!
//! | what | where |
//! |---|---|
//! | the job, barriers, ordering | [`World`] |
//! | symmetric memory | [`Symmetric`], [`SymmetricBox`], [`symmetric!`], [`Plain`], [`plain!`], [`Code`] |
//! | put and get | [`Symmetric::put`], [`Symmetric::get`], [`World::scope`], [`Pending`] |
//! | atomics, waiting | [`Atomic`], [`Comparison`], [`WaitSet`], [`Until`] |
//! | signals, locks | [`Signal`], [`Lock`] |
//! | teams, contexts, collectives | [`Team`], [`Context`], [`StartedCollective`] |
//! | local memory as slices | [`World::exclusive`] |
//! | arrays over all PEs | [`Array`] |
//! | messages of any type that serde knows | `World::broadcast_value`, `MessageChannel` (feature `serde`) |
//! | functions that run where the data is | `ActiveMessages` (feature `serde`) |
//! | errors | [`Error`], [`ErrorKind`] |
//! | tests with several PEs | [`mod@test`] |
//!
//! The [`guide`] has a chapter for each.
//!
//! # What the types rule out
//!
//! References into memory that others write; data whose bits others could make invalid; memory, teams and contexts that
//! are used after their end; buffers that change or end while a transfer works on them; collective calls from two threads at
//! once; transfers to atomics, signals and locks. PEs that allocate different types, or drop boxes in different orders, end the job
//! with a message before one gets the memory. What is left to the program is the order of its own communication. Reading before the data has come gives an old value or, where it is no [word](Symmetric#races),
//! parts of both, never undefined behaviour; different collective calls on different PEs end the job with a message or wait for ever, and a
//! report after some seconds says which PE waits for which.
//!
//! # Mistakes and errors
//!
//! A call that can fail returns a [`Result`] with an [`Error`] that says what happened, why, and what to do, and whose
//! [kind](Error::kind) a program can act on. It prints nothing unasked. A mistake whose effect the standard calls undefined
//! – a PE that does not exist, a slice that is too long – ends the job with such a message on all PEs, which also names the
//! file and the line of the call where the crate finds the mistake itself.

#[cfg(feature = "serde")]
mod active;
mod array;
mod atomic;
mod attempt;
mod backend;
mod code;
mod collective;
mod comparison;
mod context;
mod epoch;
#[cfg(any(feature = "bytemuck", feature = "zerocopy"))]
mod foreign;
pub mod guide;
mod lock;
#[cfg(feature = "serde")]
mod message;
mod overlap;
mod own;
mod pending;
#[cfg(feature = "serde")]
mod pieces;
mod plain;
mod program;
mod reactor;
mod scope;
mod signal;
mod started;
mod symmetric;
mod symmetric_box;
mod team;
pub mod test;
mod threads;
#[cfg(feature = "race")]
mod told;
mod transfer;
mod type_words;
mod until;
mod value;
mod wait_set;
mod world;

#[cfg(feature = "serde")]
pub use active::{ActiveAnswer, ActiveMessages, RemoteHandler};
pub use array::Array;
pub use atomic::{Atomic, AtomicInteger, AtomicValue, SymmetricAtomic};
pub use code::{Code, Coded};
pub use comparison::Comparison;
pub use context::{Context, ContextPe};
#[cfg(feature = "zerocopy")]
pub use foreign::AsBytes;
#[cfg(feature = "bytemuck")]
pub use foreign::AsPod;
pub use lock::{Lock, LockGuard};
#[cfg(feature = "serde")]
pub use message::MessageChannel;
pub use oxshmem_base::{Error, ErrorKind};
/// ```
/// use oxshmem::{Code, Coded};
///
/// #[derive(Clone, Copy, Debug, PartialEq, Coded)]
/// #[repr(u8)]
/// enum Phase {
///     Cold,
///     Hot = 7,
/// }
///
/// let world = oxshmem::World::init()?;
/// let phase = world.allocate(Code::new(Phase::Cold))?;
/// phase.put(Code::new(Phase::Hot), 0);
/// assert_eq!(phase.load().value()?, Phase::Hot);
/// assert!(Phase::of_code(1).is_none());
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[cfg(feature = "derive")]
pub use oxshmem_derive::Coded;
/// ```
/// use oxshmem::Plain;
///
/// #[derive(Clone, Copy, Plain)]
/// #[repr(C)]
/// struct Point {
///     x: f64,
///     y: f64,
///     weight: u32,
///     reserved: u32,
/// }
///
/// #[derive(Clone, Copy, Plain)]
/// #[repr(transparent)]
/// struct Metres(f64);
///
/// let world = oxshmem::World::init()?;
/// let points = world.allocate_slice(10, Point { x: 1.0, y: 2.0, weight: 3, reserved: 0 })?;
/// assert_eq!(points[9].get(0).weight, 3);
/// assert_eq!(world.allocate(Metres(2.5))?.get(0).0, 2.5);
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[cfg(feature = "derive")]
pub use oxshmem_derive::Plain;
pub use oxshmem_reduce::{And, Complex, Max, Min, Operand, Operator, Or, Prod, Sum, Xor};
pub use oxshmem_runtime::{MAJOR_VERSION, MINOR_VERSION, VENDOR};
pub use pending::Pending;
pub use plain::{Plain, Resident};
pub use scope::Scope;
pub use signal::{Signal, Update};
pub use started::StartedCollective;
pub use symmetric::Symmetric;
pub use symmetric_box::SymmetricBox;
pub use team::{Axes, Team};
pub use transfer::Target;
pub use until::Until;
pub use wait_set::{Condition, WaitSet};
pub use world::{World, is_initialized};

#[cfg(feature = "c")]
use oxshmem_c as _;

/// Ends the job with the library's message, and the place of the call: for what the standard calls undefined.
#[cold]
#[track_caller]
fn mistake(error: &Error) -> ! {
    backend::binding::fail(&error.clone().at(core::panic::Location::caller()))
}
