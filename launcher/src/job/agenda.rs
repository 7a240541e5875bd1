//! Events that come at a time if nothing else has happened before.

use std::collections::BTreeMap;

use tokio::time::Instant;

/// In the order in which they happen when several are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    /// The phase has lasted as long as it may.
    Phase,
    /// The time of `--timeout` is over.
    Timeout,
    /// The question what the PEs do is answered with what is known.
    Answer,
    /// The user is told that PEs have outlived an interrupt.
    Remind,
    /// We stop ourselves, after the PEs.
    Stop,
    /// The user is told of a PE that ended without having left the job.
    Note,
}

#[derive(Default)]
pub(super) struct Agenda(BTreeMap<Due, Instant>);

impl Agenda {
    pub(super) fn set(&mut self, due: Due, at: Instant) {
        self.0.insert(due, at);
    }

    pub(super) fn cancel(&mut self, due: Due) {
        self.0.remove(&due);
    }

    /// The first event of those that are wanted.
    pub(super) fn first(&self, wanted: impl Fn(Due) -> bool) -> Option<(Instant, Due)> {
        self.0.iter().filter(|(due, _)| wanted(**due)).map(|(&due, &at)| (at, due)).min()
    }
}
