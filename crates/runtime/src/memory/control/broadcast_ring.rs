//! The memory of broadcasts whose root goes on at once: a ring for each team that has leased one.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Rings of a PE. Programs broadcast with a work array for each call in flight, and each of them is an active set of its own. So there
/// are more rings than sets of buffers, and they are smaller.
pub(crate) const RINGS: u32 = 63;
/// Bytes of one of the two halves of a ring.
pub(crate) const HALF: usize = 128 << 10;
/// Broadcasts begin at multiples of this.
pub(crate) const BLOCK_ALIGN: usize = 1 << 10;

/// Broadcasts, one behind the other (see `between_nodes::broadcast_ring`).
#[repr(C, align(4096))]
pub(crate) struct BroadcastRing {
    pub(crate) blocks: UnsafeCell<[u8; 2 * HALF]>,
    /// The stamp of the broadcast that begins at each multiple of [`BLOCK_ALIGN`]; set after the broadcast is there.
    pub(crate) stamps: [AtomicU64; 2 * HALF / BLOCK_ALIGN],
    /// Acknowledgements of each half that have come from children.
    pub(crate) acknowledged: [AtomicU64; 2],
    /// How many have come when none of a child is still to come. The owner's alone to change.
    pub(crate) expected: [AtomicU64; 2],
}

// SAFETY: blocks are reached through raw pointers only, and `between_nodes::broadcast_ring` says when each is written and read.
unsafe impl Sync for BroadcastRing {}

impl BroadcastRing {
    /// Forgets the broadcasts of a team that has ended, so that no stamp of another team looks like one of theirs. The counts of
    /// acknowledgements stay: one may come later than the end of its team.
    pub(crate) fn forget(&self) {
        self.stamps.iter().for_each(|stamp| stamp.store(0, Relaxed));
    }
}
