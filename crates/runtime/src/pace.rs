//! How waits behave on this node: how long they look before they give way. Decided at init, and by how waits have gone.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Loads without pause before anything else.
static EAGER_LOOKS: AtomicU32 = AtomicU32::new(64);
/// Microseconds of loads with pause that follow. Halved by every wait that outlives them, because then something else
/// has the other's processor and spinning only takes ours away too; doubled again by every wait that does not.
static PATIENCE: AtomicU32 = AtomicU32::new(0);
const MOST_PATIENCE: u32 = 64;
/// Whether the node's PEs outnumber its processors.
static CROWDED: AtomicU32 = AtomicU32::new(0);

/// How waits behave on this node, decided once at init.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// A processor for every PE: spin long.
    Dedicated,
    /// More PEs than processors: hand the processor over at once.
    Crowded,
}

/// Sets the mode of all waits.
pub(crate) fn set_mode(mode: Mode) {
    let (looks, crowded) = match mode {
        Mode::Dedicated => (4000, 0),
        Mode::Crowded => (16, 1),
    };
    EAGER_LOOKS.store(looks, Relaxed);
    PATIENCE.store(MOST_PATIENCE, Relaxed);
    CROWDED.store(crowded, Relaxed);
}

/// Tells all waits whether they have a network to move on. Then they look at it instead of looking without pause.
pub(crate) fn expect_network(open: bool) {
    if open {
        EAGER_LOOKS.store(16, Relaxed);
    }
}

/// Whether PEs outnumber processors on this node.
#[inline(always)]
#[cfg(not(loom))]
pub(crate) fn crowded() -> bool {
    CROWDED.load(Relaxed) != 0
}

#[cfg(loom)]
pub(crate) use crate::primitive::crowded;

/// How many loads without pause a wait begins with.
#[inline(always)]
pub(crate) fn eager_looks() -> u32 {
    EAGER_LOOKS.load(Relaxed)
}

/// For how many microseconds a wait looks with pause.
pub(crate) fn patience() -> u32 {
    PATIENCE.load(Relaxed)
}

/// What was waited for came within so many microseconds.
pub(crate) fn lengthen_patience(patience: u32) {
    PATIENCE.store((patience * 2).min(MOST_PATIENCE), Relaxed);
}

/// It did not.
pub(crate) fn shorten_patience(patience: u32) {
    PATIENCE.store((patience / 2).max(1), Relaxed);
}
