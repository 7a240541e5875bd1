//! The hang report: who waits for what, when a wait has taken as long as `SHMEM_HANG_SECS` says.
//!
//! Every PE that waits long has a record of it in its control window. The lowest PE that waits reads the records of all and
//! prints one line for each.

use std::time::Duration;

use oxshmem_flight::{Witness, report};

use crate::memory::control::ControlBlock;
use crate::network;
use crate::start::job;
use crate::start::state;

/// When the next report of one wait is due.
pub(crate) struct Reports {
    due: Option<Duration>,
}

impl Reports {
    /// For a wait that begins to sleep.
    pub(crate) fn begin() -> Self {
        let seconds = state::current().map_or(0, |life| life.settings.hang_seconds);
        Self { due: (seconds > 0).then(|| Duration::from_secs(seconds)) }
    }

    /// Reports if it is time; each further report takes twice as long.
    pub(crate) fn look(&mut self, waited: Duration) {
        if let Some(due) = self.due.filter(|&due| waited >= due) {
            self.due = Some(due * 2);
            print(waited);
        }
    }
}

#[cold]
fn print(waited: Duration) {
    let Some((me, pes)) = job::identity() else { return };
    let known = on_node();
    if known.iter().any(|one| one.pe < me && one.is_waiting()) {
        return;
    }
    let lines = report::lines(&known, pes, &network::name());
    eprint!("oxshmem: PE {me} has waited for {} s. On this node:\n{lines}", waited.as_secs());
}

/// The PEs of this node.
pub(crate) fn on_node() -> Vec<Witness> {
    let Some(job) = job::joined() else { return Vec::new() };
    let know = |(window, &pe): (u32, &u32)| {
        let block = ControlBlock::of(window);
        Witness::new(pe, block.state(), block.records.all())
    };
    (0..).zip(&job.node().members).map(know).collect()
}
