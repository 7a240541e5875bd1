//! The job: its PEs, its beginning and its end.
//!
//! A job is one program, started several times. Each process is a *PE* and has a number. [`World::init`](crate::World::init)
//! joins the job and returns the world, from which symmetric memory, teams and contexts borrow.
//!
//! ```
//! fn main() -> Result<(), oxshmem::Error> {
//!     let world = oxshmem::World::init()?;
//!     let (me, n) = (world.my_pe(), world.n_pes());
//!     println!("PE {me} of {n}; {} of them share this node's memory", world.node().n_pes());
//!     world.barrier();
//!     Ok(())
//! }
//! ```
//!
//! Any launcher starts the PEs, and the program does not see which: `oshrun -n 4 program`, `cargo oxrun -n 4`, `srun`,
//! `mpirun`. Started without a launcher it is a job of one PE, so it runs under a debugger as it is.
//!
//! * **All PEs run one executable.** `init` makes sure of that and returns an error otherwise, because what the compiler
//!   has checked here it must have checked there. For jobs of several programs, or of Rust and C programs, there is
//!   [`World::init_with_others`](crate::World::init_with_others), which is unsafe and says what it asks for.
//! * **There is one world at a time**, and it stays on its thread. So one thread makes the collective calls. The others
//!   use places of symmetric memory and [contexts](super::teams), which they get from it.
//! * **Dropping the world ends the job** for this PE: it waits for all others, as the other collective calls do. A PE that
//!   panics does not wait. The others learn that it is gone, and end with a message that names it.
//! * [`World::global_exit`](crate::World::global_exit) ends all PEs at once, with a status.
//!
//! A failure at start is an [`Error`](crate::Error) that says what to do: a launcher that does not answer, PEs that run
//! different programs, memory that the machine does not have. `SHMEM_INFO=1` shows the choices, `SHMEM_DEBUG=1` the
//! events; the spans are those of the crate `tracing`.
