//! Children that the program forks: the detector leaves them alone.
//!
//! A child is no PE. It has a copy of the static variables, and no call of the library (`crates/os/src/statics.rs`,
//! `crates/runtime/src/calls/init/lifetime.rs`). So no PE sees what it stores into variables, and it sees nothing of what PEs put
//! there: these accesses are in no race. The shadow, however, is memory that it shares with its parent, for which they would count. The
//! symmetric heap is shared as well. But clocks know nothing of `waitpid`, pipes and their like, which order a child with its parent,
//! and a report has to be certain. So a race of a child in the heap is missed.
//!
//! Threads of the parent that were in the detector at the moment of the fork do not run in the child, and never give back what they
//! had locked. So the detector is off in a child: nothing there comes to a lock or to the shadow.
//!
//! A child of `vfork` or `posix_spawn` runs no handler. It works in the memory of the PE until it executes another program: what it
//! stores is stored by the PE.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use oxshmem_os::process;

use crate::hooks::race_buffers;
use crate::{node, standard, threads};

/// Whether this process is the child of a fork. Written by the child, which has one thread then, and where a life begins, before the
/// detector is used.
static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// Whether this process is a child in which threads that do not run may hold locks of the detector.
pub(crate) fn is_child() -> bool {
    IS_CHILD.load(Relaxed)
}

/// This process is a PE from now on. The library allows it to a child only if its parent never was one.
pub(crate) fn begin() {
    race_watch_forks();
    IS_CHILD.store(false, Relaxed);
}

/// Leaves alone what the process forks from now on. The library of C calls it before the program begins: handlers run in the child in the
/// order in which they were registered, and those of the program may store to its variables. A program in Rust has the detector's own state
/// among the static variables. There this has to wait until the library has registered what gives a child its copy of them.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
extern "C" fn race_watch_forks() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        // SAFETY: the function is part of a library that is never unloaded, or of the program. It only stores to atomics and to words
        // of this process, which has one thread.
        if let Err(error) = unsafe { process::watch_forks(leave_to_parent) } {
            process::say(&format!(
                "oxshmem: what children of this process store may be taken for stores of the PE, because the system refused to watch \
                 for forks: {error}\n"
            ));
        }
    });
}

/// Runs in the child. Threads keep what they know of their strand, which says nothing without a node: the shim compares with the
/// present memory, and the hooks ask for the node first.
extern "C" fn leave_to_parent() {
    IS_CHILD.store(true, Relaxed);
    node::leave_to_parent();
    race_buffers.store(0, Relaxed);
    threads::leave_to_parent();
    // The races of the parent say nothing of the child's end. It may have the same number in a namespace of its own.
    standard::found(0);
}
