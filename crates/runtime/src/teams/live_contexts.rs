//! The contexts that live on a team, as the team's list has them: by the address of their objects, because a team knows nothing of
//! contexts.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A context in the list of its team. It counts for `SHMEM_MAX_CTX` as long as it is there.
pub(crate) struct LiveContext(*const ());

static CONTEXTS: AtomicU64 = AtomicU64::new(0);

/// Begins a life without contexts. Those of teams that a program has not destroyed before its last finalize stay in memory, and
/// belong to nothing.
pub(crate) fn begin() {
    CONTEXTS.store(0, Relaxed);
}

impl LiveContext {
    /// One more, of which `make` gives the address of the object; `None` if there are `most` already.
    pub(crate) fn unless_full<T>(most: u64, make: impl FnOnce() -> *const T) -> Option<Self> {
        let below = |count| (count < most).then_some(count + 1);
        CONTEXTS.fetch_update(Relaxed, Relaxed, below).ok().map(|_| Self(make().cast()))
    }

    /// The address of the context's object.
    pub(crate) fn object<T>(&self) -> *const T {
        self.0.cast()
    }
}

impl Drop for LiveContext {
    fn drop(&mut self) {
        CONTEXTS.fetch_sub(1, Relaxed);
    }
}

// SAFETY: the address is never followed here.
unsafe impl Send for LiveContext {}
