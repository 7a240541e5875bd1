//! Operations by network on memory that loads and stores reach as well.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};

use super::ContextLane;
use crate::memory::direct::may_have_window;
use crate::start::job;

/// How many operations of a lane may have gone to PEs of this node, and how many of these a fence has completed: stores do not wait for
/// them, so a fence does.
///
/// A thread counts behind the operation. One that reads the count and then finds the lane empty knows that as many are complete.
#[derive(Default)]
pub(super) struct NearOperations {
    issued: AtomicU64,
    completed: AtomicU64,
}

impl NearOperations {
    /// An operation has been issued.
    pub(super) fn note(&self) {
        self.issued.fetch_add(1, Release);
    }

    /// How many operations a fence of this thread must complete, those of other threads among them. `None`: nothing.
    #[inline(always)]
    pub(super) fn under_way(&self) -> Option<u64> {
        // The larger number first: a thread may complete more between the two loads.
        let issued = self.issued.load(Acquire);
        (issued > self.completed.load(Acquire)).then_some(issued)
    }

    /// The lane was empty after there had been so many.
    pub(super) fn complete(&self, issued: u64) {
        self.completed.fetch_max(issued, Release);
    }
}

impl ContextLane {
    /// Something has been issued by network that may be to a PE of this node, if the network does atomics.
    #[inline(always)]
    pub(super) fn note_near(&self, pe: u32) {
        if may_have_window(pe) {
            self.look_whether_near(pe);
        }
    }

    #[cold]
    #[inline(never)]
    fn look_whether_near(&self, pe: u32) {
        if job::window_of(pe).is_some() {
            self.near.note();
        }
    }
}
