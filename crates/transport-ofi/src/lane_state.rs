//! The state of lanes that only the engine's lock protects.

use oxshmem_transport::Remote;

/// The state of one lane between two calls. It lives in the engine, under whose lock it changes.
#[derive(Default)]
pub(crate) struct LaneState {
    /// Where the last put to each PE went by each rail, if completed puts have to be read back before they can be relied on.
    /// Each counts as an operation of the lane's account.
    pub(crate) unread: Vec<Unread>,
    /// A fence was free because the first rail keeps order: no later put may take another rail and overtake it.
    pub(crate) fenced: bool,
    /// Atomics have been issued since the lane was empty that a fence cannot leave to the endpoint: it does not order them,
    /// or they are on this PE's own memory, which puts reach without it.
    pub(crate) unordered: bool,
}

/// A put that has to be read back.
pub(crate) struct Unread {
    pub(crate) rail: usize,
    pub(crate) place: Remote,
}
