//! Allocations that fail: the reason, and which PE prints it where the call's own answer is NULL.

use oxshmem_base::{Error, size};

use crate::diagnosis::errors;
use crate::start::job;

/// Why an allocation failed, and whether this PE prints it where the call's own answer is only NULL.
pub(super) struct FailedAllocation {
    pub(super) error: Error,
    pub(super) mine_to_say: bool,
}

impl FailedAllocation {
    /// The heap of every PE refuses it.
    pub(super) fn everywhere(error: Error) -> Self {
        Self { error, mine_to_say: job::identity().is_some_and(|(pe, _)| pe == 0) }
    }

    /// PE `pe` cannot back it, and says why itself.
    pub(super) fn elsewhere(call: &str, bytes: usize, pe: u32) -> Self {
        let error = Error::new(format!("{call}: no room for {} in the symmetric heap", size::display(bytes as u64)))
            .because(format!("the node of PE {pe} has no memory to back it"))
            .fix("allocate less, run fewer PEs on that node, or raise its limit of memory");
        Self { error, mine_to_say: false }
    }

    /// Prints it if this PE is the one that does: before the other PEs return, because one that uses NULL at once ends the job.
    pub(super) fn say(&self) {
        if self.mine_to_say {
            warn_once(&self.error);
        }
    }
}

/// Failure is a return value, so the reason is a note: that of the first failure.
fn warn_once(error: &Error) {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Relaxed) {
        warn(error, &errors::place());
    }
}

/// A note about an error that the program may go on after, and the place of the call if that is known.
pub(super) fn warn(error: &Error, place: &str) {
    if let Some((pe, pes)) = job::identity() {
        errors::note(&format!("PE {pe} of {pes}: {error}{place}"));
    }
}
