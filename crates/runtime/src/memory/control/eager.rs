//! The memory of one member for eager collectives on a node (see `collectives::node_eager`).

use crate::sync::{AtomicU64, Cell};

/// Entries of a ring: so many broadcasts a root is ahead of the other members at most.
pub(crate) const ENTRIES: usize = if cfg!(loom) { 2 } else { 16 };
pub(crate) const ENTRY_WORDS: usize = oxshmem_schedule::way::size_limits::NODE_POST / 8;
pub(crate) const BUFFER: usize = if cfg!(loom) { 8 } else { oxshmem_schedule::way::size_limits::NODE_EAGER };

/// A broadcast that its root has posted.
#[repr(C, align(128))]
pub(crate) struct Entry {
    /// The stamp of the broadcast. Stored with release by the owner after the payload, read with acquire by the other members.
    pub(crate) stamp: AtomicU64,
    /// The payload; accessed as plain memory under the protocol of `collectives::node_eager`.
    pub(crate) payload: Cell<[u64; ENTRY_WORDS]>,
}

/// A member's operand or blocks in one exchange. Accessed as plain memory under the protocol of `collectives::node_eager`.
#[repr(C, align(128))]
pub(crate) struct EagerBuffer(pub(crate) Cell<[u8; BUFFER]>);

/// Each entry and each buffer has one writer, the owner.
#[cfg_attr(not(loom), repr(C, align(4096)))]
#[cfg_attr(loom, repr(C, align(128)))]
pub(crate) struct EagerMemory {
    /// The eager ring: the broadcasts whose root is the owner, number n in entry n mod [`ENTRIES`].
    pub(crate) ring: [Entry; ENTRIES],
    /// By parity of the exchange.
    pub(crate) buffers: [EagerBuffer; 2],
}

// SAFETY: payloads and buffers are reached under the protocol of `collectives::node_eager` alone, whose head says why nobody writes
// what another member reads.
unsafe impl Sync for EagerMemory {}

#[cfg(not(loom))]
const _: () = assert!(size_of::<EagerMemory>() == 16 << 10 && size_of::<Entry>() == 128);

impl EagerMemory {
    /// Memory that no team has used.
    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        let entry = |_| Entry { stamp: AtomicU64::new(0), payload: Cell::new([0; ENTRY_WORDS]) };
        let buffer = |_| EagerBuffer(Cell::new([0; BUFFER]));
        Self { ring: [(); ENTRIES].map(|()| entry(0)), buffers: [(); 2].map(|()| buffer(0)) }
    }

    /// Forgets the broadcasts of a set that has left the place. No other PE looks at it.
    pub(crate) fn forget(&self) {
        self.ring.iter().for_each(|entry| entry.stamp.store(0, core::sync::atomic::Ordering::Relaxed));
    }
}
