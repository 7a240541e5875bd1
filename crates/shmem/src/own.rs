//! The state of the API itself for a PE.

use core::sync::atomic::{AtomicBool, AtomicU64};

use oxshmem_runtime::{ContextHandle, TeamHandle};
use parking_lot::Mutex;

/// A context that has not been dropped, and its team.
pub(crate) struct Live(pub(crate) ContextHandle, pub(crate) TeamHandle);

// SAFETY: handles are addresses of atomics that any thread may use.
unsafe impl Send for Live {}

/// Of one PE.
pub(crate) struct OwnState {
    /// Whether there is a world, or is about to be.
    pub(crate) taken: AtomicBool,
    /// Whether the world was dropped by a panic: the library is not finalized.
    pub(crate) panicked: AtomicBool,
    /// Whether the library is initialised: other threads may look before they use a static variable.
    pub(crate) open: AtomicBool,
    /// Whether the PE is in an exclusive epoch. Only the thread with the world writes it, and only that thread makes
    /// the calls that look at it.
    pub(crate) exclusive: AtomicBool,
    /// Whether all PEs are known to run one program, in which a type has the same name everywhere.
    pub(crate) one_program: AtomicBool,
    /// How many allocations there have been.
    pub(crate) allocations: AtomicU64,
    /// The contexts that have not been dropped.
    pub(crate) contexts: Mutex<Vec<Live>>,
}

impl OwnState {
    pub(crate) const fn new() -> Self {
        Self {
            taken: AtomicBool::new(false),
            panicked: AtomicBool::new(false),
            open: AtomicBool::new(false),
            exclusive: AtomicBool::new(false),
            one_program: AtomicBool::new(false),
            allocations: AtomicU64::new(0),
            contexts: Mutex::new(Vec::new()),
        }
    }
}
