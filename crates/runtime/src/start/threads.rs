//! The thread levels, and what the level of this life promises.

use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The lowest level.
pub(crate) const SINGLE: c_int = 0;
/// The highest level, and the only one at which threads may make calls at the same time.
pub(crate) const MULTIPLE: c_int = 3;

/// Whether the program has promised that one thread at a time makes calls. Relaxed: init stores it before it publishes the life and fills
/// contexts, both with release, and a reader has acquired one of these.
static ONE_CALLS_AT_A_TIME: AtomicBool = AtomicBool::new(false);

/// A life of this level begins.
pub(crate) fn begin(level: c_int) {
    ONE_CALLS_AT_A_TIME.store(level < MULTIPLE, Relaxed);
}

/// See [`ONE_CALLS_AT_A_TIME`].
pub(crate) fn one_calls_at_a_time() -> bool {
    ONE_CALLS_AT_A_TIME.load(Relaxed)
}
