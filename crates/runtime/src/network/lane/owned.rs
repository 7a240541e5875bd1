//! The owner of a context's lane of the fabric, to which several references lead.

use oxshmem_transport::Lane;

/// A lane that is freed with its owner.
pub(super) struct OwnedLane(*mut dyn Lane);

// SAFETY: a lane may be used and dropped by any thread, and the pointer is the only owner of its box.
unsafe impl Send for OwnedLane {}
// SAFETY: a shared reference gives out shared references to a lane, which threads may use at once.
unsafe impl Sync for OwnedLane {}

impl OwnedLane {
    pub(super) fn new(lane: Box<dyn Lane>) -> Self {
        Self(Box::into_raw(lane))
    }

    /// The lane.
    ///
    /// # Safety
    /// The reference is not used after the owner is dropped.
    pub(super) unsafe fn lane(&self) -> &'static dyn Lane {
        // SAFETY: `new` has leaked the box, and the caller uses the reference no longer than the owner keeps it.
        unsafe { &*self.0 }
    }
}

impl Drop for OwnedLane {
    fn drop(&mut self) {
        // SAFETY: `new` has leaked the box, and references to it are not used any more, as `lane` demands.
        drop(unsafe { Box::from_raw(self.0) });
    }
}
