//! The strand that the caller is.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::node::RaceNode;

const UNKNOWN: usize = usize::MAX;

thread_local! {
    static STRAND: Cell<usize> = const { Cell::new(UNKNOWN) };
    /// Whether the thread has initialised the library.
    static IS_FIRST: Cell<bool> = const { Cell::new(false) };
}

/// Not 0 as soon as the PE has had several strands: the shim looks at it before it tells of the program's own synchronisation.
// SAFETY: no other object has this name; the shim reads it as the atomic it is.
#[unsafe(no_mangle)]
static race_threaded: AtomicU32 = AtomicU32::new(0);

/// The number of the caller's strand.
#[inline]
pub(crate) fn current(node: &RaceNode) -> usize {
    match STRAND.get() {
        UNKNOWN => adopt(node),
        strand => strand,
    }
}

/// A thread of which nothing is known becomes a strand.
#[cold]
fn adopt(node: &RaceNode) -> usize {
    are_several();
    let strand = node.detector.adopt();
    STRAND.set(strand);
    strand
}

unsafe extern "C" {
    /// Forgets a pointer of the caller's.
    safe fn race_is_another();
}

/// The caller is another strand from now on. Its number before.
pub(crate) fn become_strand(strand: usize) -> usize {
    race_is_another();
    STRAND.replace(strand)
}

/// The PE has several strands.
pub(crate) fn are_several() {
    race_threaded.store(1, Relaxed);
}

/// The caller is the thread that initialises the library.
pub(crate) fn begin_first() {
    race_is_another();
    STRAND.set(0);
    IS_FIRST.set(true);
}

/// Whether the caller has initialised the library, in whatever strand it is now.
pub(crate) fn is_first() -> bool {
    IS_FIRST.get()
}
