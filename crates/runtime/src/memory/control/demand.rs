//! The announcement of a PE to its node before it takes memory (see `memory::node_limits`).

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use oxshmem_os::limits::Limit;

/// How many limits a PE publishes at most: those that have least to spare.
const MOST_LIMITS: usize = 12;

/// The memory that a PE wants, as its node sees it. The owner writes everything else
/// before `step`, with release, and again only after all have read it: in the next call.
#[repr(C)]
pub(crate) struct Demand {
    /// Number of the last step that the PE has finished.
    pub(crate) step: AtomicU64,
    bytes: AtomicU64,
    /// Identities, zero: none, and what each can spare.
    limits: [(AtomicU64, AtomicU64); MOST_LIMITS],
}

/// A demand, read.
#[derive(Clone, Debug)]
pub(crate) struct WantedMemory {
    pub(crate) bytes: u64,
    /// Identity and spare bytes.
    pub(crate) limits: Vec<(u64, u64)>,
}

impl Demand {
    /// The owner publishes a new demand.
    pub(crate) fn publish(&self, bytes: u64, seen: &[Limit]) {
        let mut tightest: Vec<(u64, u64)> = seen.iter().map(|limit| (limit.identity, limit.spare())).collect();
        tightest.sort_by_key(|&(_, spare)| spare);
        let told = tightest.into_iter().chain(core::iter::repeat((0, 0)));
        for ((identity, spare), (known, left)) in self.limits.iter().zip(told) {
            identity.store(known, Relaxed);
            spare.store(left, Relaxed);
        }
        self.bytes.store(bytes, Relaxed);
    }

    /// Another PE reads it after the step in which it was written.
    pub(crate) fn read(&self) -> WantedMemory {
        let limits = self.limits.iter().map(|(identity, spare)| (identity.load(Relaxed), spare.load(Relaxed)));
        WantedMemory {
            bytes: self.bytes.load(Relaxed),
            limits: limits.filter(|&(identity, _)| identity != 0).collect(),
        }
    }
}
