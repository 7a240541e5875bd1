//! A wait in words, as its record tells it.

use oxshmem_flight::waits::Subject;

/// A wait as its record describes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WaitReason {
    pub(crate) call: &'static str,
    pub(crate) address: usize,
    pub(crate) subject: Subject,
}
