//! Why safe code cannot do harm.
//!
//! 1. **The other PEs.** A PE's memory is written by other processes. [`World::init`](crate::World::init) makes sure that
//!    they all run the same executable, so what safe code cannot do here, it cannot do there. A job of several programs
//!    needs the one unsafe call, [`World::init_with_others`](crate::World::init_with_others).
//! 2. **What lies in shared memory.** Only types for which all bits are values ([`Resident`](crate::Resident)). A value
//!    that was torn by a race, that is old, or that belongs to another type's allocation is still a value.
//! 3. **How it is touched.** Never by reference. This PE's copy is read and written word by word with relaxed atomic
//!    accesses, atomics by atomics, and the rest by the runtime's copies, which go through addresses that the compiler
//!    knows nothing about. A bulk copy that races with another thread of the same process may be torn; formally the
//!    language defines no copy that may race, and this crate relies on the machine's, as all shared memory does.
//! 4. **Where it ends.** Every transfer is checked against the length of its slice, every PE number against the job.
//!    Collectives write only into the caller's own slice, except large reductions and scans, whose members first make
//!    sure that all name the same memory.
//! 5. **When it ends.** Boxes borrow from the world. All PEs drop a box before one gets its memory again, and the next
//!    allocation compares the heap calls of all PEs, and the names of the types, before it gives memory to one. If PEs have
//!    dropped different boxes, or allocate different types, it ends the job.
//!    Static variables live for ever, and a call on one without a world ends the program with a message; a thread that
//!    is in one while the world ends finds what it touches where it was.
//! 6. **Threads.** The world, teams and locks stay on one thread, so one thread at a time is in a collective call.
//!    Places can be shared, contexts sent.
//! 7. **Epochs.** See [`epochs`](super::epochs). What a PE has issued, on whatever context, is complete before one opens,
//!    and so is what a context that was forgotten still had under way.
//! 8. **What is trusted.** Which types are plain, what a [`Target`](crate::Target) or a [`Condition`](crate::Condition)
//!    means, and where a [`Symmetric`](crate::Symmetric) place may lie is decided here: other crates cannot implement
//!    these traits, and [`plain!`](crate::plain) looks at the struct that came out of its attributes.
//!
//! There are no guarantees for programs that write to `/proc/self/mem`, and for launchers that start other processes into
//! the job after all.
