//! The hang report: which PEs wait for what, when a wait has taken as long as `SHMEM_HANG_SECS` says.
//!
//! Every PE that waits long has a record of it in its control window. The lowest of those that have waited for long reads the records
//! of all and prints one line for each. A PE that has been stopped in its wait, or killed, keeps its record and prints nothing.

use core::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use oxshmem_flight::waits::WaitEntry;
use oxshmem_flight::{Activity, State, Witness, report};
use oxshmem_os::{bystanders, process};

use crate::memory::control::ControlBlock;
use crate::network;
use crate::start::{job, state};

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
    let mut known = on_node();
    if known.iter().any(|one| one.pe < me && will_report(one, waited) && !is_stopped(one)) {
        return;
    }
    known.iter_mut().filter(|one| is_stopped(one)).for_each(|one| one.activity = Activity::Stopped);
    let lines = report::lines(&known, pes, &network::name());
    process::say(&format!("oxshmem: PE {me} has waited for {} s. On this node:\n{lines}", waited.as_secs()));
}

/// Whether a PE will print the report of a wait that has taken so long, because its own has taken at least half of that. A shorter wait
/// may end before it is due, like those of a PE that waits again and again.
fn will_report(one: &Witness, waited: Duration) -> bool {
    let is_long = |wait: &WaitEntry| wait.has_thread() && 2 * wait.seconds >= waited.as_secs();
    one.state == State::Running && one.waits.iter().any(is_long)
}

/// Whether a signal or a debugger has stopped a PE. Its process may not be seen from here, as in another container.
fn is_stopped(one: &Witness) -> bool {
    one.process.is_some_and(bystanders::is_stopped)
}

/// The PEs of this node.
pub(crate) fn on_node() -> Vec<Witness> {
    let Some(job) = job::joined() else { return Vec::new() };
    let know = |(window, &pe): (u32, &u32)| {
        let block = ControlBlock::of(window);
        let process = Some(block.process.load(Relaxed)).filter(|process| *process > 0);
        Witness { process, ..Witness::new(pe, block.state(), block.records.all()) }
    };
    (0..).zip(&job.node().members).map(know).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxshmem_flight::waits::Subject;

    #[test]
    fn a_short_wait_of_a_lower_pe_keeps_no_long_one_from_its_report_nor_does_a_dead_one() {
        let wait = |seconds| WaitEntry {
            call: "shmem_wait_until".into(),
            address: 0,
            seconds,
            thread: 1,
            looks: 0,
            subject: Subject::Operation { peer: None },
            frames: Vec::new(),
            sites: Vec::new(),
            object: None,
        };
        let reports_in = |state, waits| will_report(&Witness::new(0, state, waits), Duration::from_secs(60));
        let reports = |waits: Vec<WaitEntry>| reports_in(State::Running, waits);
        assert!(reports(vec![wait(60)]) && reports(vec![wait(2), wait(31)]));
        assert!(!reports(vec![wait(2)]) && !reports(Vec::new()));
        // The records of a PE that was killed stay in its window.
        assert!(!reports_in(State::Gone, vec![wait(60)]));
    }
}
