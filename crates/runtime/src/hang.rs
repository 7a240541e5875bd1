//! The hang report: who waits for what, when a wait has taken as long as `SHMEM_HANG_SECS` says.
//!
//! Every PE that sleeps has a record of it in its control window. The lowest PE that waits reads the records of all and
//! prints one line for each.

use std::fmt::Write as _;
use std::time::Duration;

use crate::control::{ControlBlock, State};
use crate::{job, life};

/// When the next report of one wait is due.
pub(crate) struct Reports {
    due: Option<Duration>,
}

impl Reports {
    /// For a wait that begins to sleep.
    pub(crate) fn begin() -> Self {
        let seconds = life::life().map_or(0, |life| life.settings.hang_seconds);
        Self { due: (seconds > 0).then(|| Duration::from_secs(seconds)) }
    }

    /// Reports if it is time; each further report takes twice as long.
    pub(crate) fn look(&mut self, waited: Duration) {
        if let Some(due) = self.due.filter(|&due| waited >= due) {
            self.due = Some(due * 2);
            report(waited);
        }
    }
}

#[cold]
fn report(waited: Duration) {
    let Some((me, _)) = job::identity() else { return };
    let first = job::first_of_node();
    let sleeping = |window: u32| ControlBlock::of(window).records.oldest();
    if (0..me - first).any(|window| sleeping(window).is_some()) {
        return;
    }
    let mut text = format!("oxshmem: PE {me} has waited for {} s. On this node:\n", waited.as_secs());
    for window in 0..job::pes_on_node() {
        let pe = first + window;
        // Writing to a string cannot fail.
        let _ = match (ControlBlock::of(window).state(), sleeping(window)) {
            (State::Running, Some(wait)) => writeln!(text, "  PE {pe}: in {wait}"),
            (State::Running, None) => writeln!(text, "  PE {pe}: not waiting in the library"),
            (State::Starting, _) => writeln!(text, "  PE {pe}: not yet through shmem_init"),
            (State::Finalized, _) => writeln!(text, "  PE {pe}: through shmem_finalize"),
            (State::Gone, _) => writeln!(text, "  PE {pe}: ended without shmem_finalize"),
        };
    }
    eprint!("{text}");
}
