//! The guide: a chapter for each concept, with programs that run.
//!
//! Every program of a job runs the same code on several *PEs* (processing elements), each a process. What makes
//! OpenSHMEM is that a PE reads and writes the memory of the others without their help; so the questions are where
//! that memory is, how data moves, when it is there, how PEs change one object together, and what they do all together.
//!
//! | chapter | is about |
//! |---|---|
//! | [`world`] | the job: its beginning, its end, its PEs |
//! | [`memory`] | symmetric memory: boxes, static variables, plain data |
//! | [`epochs`] | exclusive epochs, in which it is an ordinary slice |
//! | [`transfers`] | put and get |
//! | [`ordering`] | completion and order: fence, quiet, barrier |
//! | [`nonblocking`] | transfers that go on meanwhile: scopes, owned buffers, futures |
//! | [`atomics`] | numbers that all PEs change |
//! | [`signals`] | signals, and waiting for something to come |
//! | [`locks`] | one PE at a time |
//! | [`teams`] | some of the PEs, and contexts |
//! | [`collectives`] | what all members of a team do together |
//! | [`testing`] | tests with several PEs, as processes and as threads with a seed |
//! | [`c`] | Rust and C in one world |
//! | [`calls`] | every call of C, and how it is said here |
//! | [`soundness`] | why safe code cannot do harm |

pub mod atomics;
pub mod c;
pub mod calls;
pub mod collectives;
pub mod epochs;
pub mod locks;
pub mod memory;
pub mod nonblocking;
pub mod ordering;
pub mod signals;
pub mod soundness;
pub mod teams;
pub mod testing;
pub mod transfers;
pub mod world;
