//! Programs whose language collects memory. Such programs do not free blocks, and their arrays may outlive the library.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static COLLECTED: AtomicBool = AtomicBool::new(false);

/// The language of this program collects memory: blocks that are left at the end are no leaks, and the heap stays readable until the
/// process ends.
pub fn heap_is_collected() {
    COLLECTED.store(true, Relaxed);
}

pub(crate) fn is_collected() -> bool {
    COLLECTED.load(Relaxed)
}
