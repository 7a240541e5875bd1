//! Which strand the caller is.

use std::cell::Cell;

use crate::node::RaceNode;

const UNKNOWN: usize = usize::MAX;

thread_local! {
    static STRAND: Cell<usize> = const { Cell::new(UNKNOWN) };
}

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
    let strand = node.detector.adopt();
    STRAND.set(strand);
    strand
}

/// The caller is the thread that initialises the library.
pub(crate) fn begin_first() {
    STRAND.set(0);
}
