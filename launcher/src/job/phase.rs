//! The phases of a running job, each with what it waits for and until when.
//!
//! | phase | waits for | until | then |
//! |---|---|---|---|
//! | running | the end of the last PE, or a reason to end the others | `--timeout` | asked, once it is known what the PEs do |
//! | counted | all hosts to say which PEs are dying, because a PE ends the job | 1 s | asked |
//! | lingering | the end of PEs that are about to end, because one failed after it had left the job | 2 s | asked |
//! | asked | the end of PEs that have been asked to end | `--grace`, or 0.5 s after a failure | killed |
//! | killed | the end of PEs that have been killed | the kernel has ended them | draining |
//! | draining | output that is on its way, and hosts that clean up | `--timeout` and then `--grace`, or 0.5 s if a signal has ended the job | over |
//!
//! A job is *open* while it is running or counted: nothing has decided that it ends. When the last PE has ended, every phase but
//! *counted* becomes *draining*. The answers to the census come first, because they say which PE's end decides.
//! [`Phase::after`] has all moves between phases, and its test lists them.

use std::time::Duration;

use tokio::time::Instant;

/// How long hosts may take to say whether a PE died before another one ended the job.
pub(super) const CENSUS: Duration = Duration::from_secs(1);
/// How long other PEs may outlive one that has left the job and then failed: they are about to end, with their output.
pub(super) const LINGER: Duration = Duration::from_secs(2);
/// How long a PE may take to end politely because another PE failed.
pub(super) const SHORT_GRACE: Duration = Duration::from_millis(500);
/// How long output may still take after the user has ended a job whose PEs have ended.
pub(super) const LAST_WORDS: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Running,
    /// `pe` ends the job with `status`. Another one's death may be the reason, and then decides.
    Counted {
        pe: u32,
        status: i32,
        until: Instant,
    },
    Lingering {
        until: Instant,
    },
    Asked {
        until: Instant,
    },
    Killed,
    Draining {
        /// Whether something else than the PEs' good ends has decided the job's end.
        is_decided: bool,
        /// When the launcher ends although output is left, and the status if nothing else decides it.
        leave: Option<(Instant, i32)>,
    },
}

/// An event that moves a job from one phase to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PhaseTurn {
    /// A PE asks for the end of the job.
    Abort { pe: u32, status: i32, until: Instant },
    /// A PE has failed after it had left the job.
    Linger { until: Instant },
    /// The PEs are asked to end.
    Ask { until: Instant },
    /// The PEs are killed.
    Kill,
    /// The last PE has ended.
    Empty,
    /// Output that is still on its way gets this time.
    Leave { at: Instant, status: i32 },
}

impl Phase {
    /// The phase after a turn. Without one, the turn changes nothing in this phase.
    pub(super) fn after(self, turn: PhaseTurn) -> Option<Phase> {
        match (self, turn) {
            (Phase::Running, PhaseTurn::Abort { pe, status, until }) => Some(Phase::Counted { pe, status, until }),
            (open, PhaseTurn::Linger { until }) if open.is_open() => Some(Phase::Lingering { until }),
            (Phase::Draining { is_decided: false, leave }, PhaseTurn::Ask { .. }) => {
                Some(Phase::Draining { is_decided: true, leave })
            }
            (Phase::Draining { .. }, PhaseTurn::Ask { .. } | PhaseTurn::Kill | PhaseTurn::Empty) => None,
            (Phase::Running | Phase::Counted { .. } | Phase::Lingering { .. }, PhaseTurn::Ask { until }) => {
                Some(Phase::Asked { until })
            }
            (_, PhaseTurn::Kill) => Some(Phase::Killed),
            (Phase::Counted { .. }, PhaseTurn::Empty) => None,
            (_, PhaseTurn::Empty) => Some(Phase::Draining { is_decided: self.is_ending(), leave: None }),
            (Phase::Draining { is_decided, .. }, PhaseTurn::Leave { at, status }) => {
                Some(Phase::Draining { is_decided, leave: Some((at, status)) })
            }
            (
                _,
                PhaseTurn::Abort { .. } | PhaseTurn::Linger { .. } | PhaseTurn::Ask { .. } | PhaseTurn::Leave { .. },
            ) => None,
        }
    }

    /// Until when it lasts, if it ends by itself.
    pub(super) fn until(self) -> Option<Instant> {
        match self {
            Phase::Counted { until, .. } | Phase::Lingering { until } | Phase::Asked { until } => Some(until),
            Phase::Draining { leave, .. } => leave.map(|(at, _)| at),
            Phase::Running | Phase::Killed => None,
        }
    }

    /// PEs may run, and nothing has decided that the job ends.
    pub(super) fn is_open(self) -> bool {
        matches!(self, Phase::Running | Phase::Counted { .. })
    }

    /// PEs run that are to end.
    pub(super) fn is_ending(self) -> bool {
        matches!(self, Phase::Lingering { .. } | Phase::Asked { .. } | Phase::Killed)
    }

    pub(super) fn is_draining(self) -> bool {
        matches!(self, Phase::Draining { .. })
    }

    /// Whether a failure still decides the job's end.
    pub(super) fn can_fail(self) -> bool {
        self.is_open() || matches!(self, Phase::Draining { is_decided: false, .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(phase: Option<Phase>) -> &'static str {
        match phase {
            None => "-",
            Some(Phase::Running) => "running",
            Some(Phase::Counted { .. }) => "counted",
            Some(Phase::Lingering { .. }) => "lingering",
            Some(Phase::Asked { .. }) => "asked",
            Some(Phase::Killed) => "killed",
            Some(Phase::Draining { .. }) => "draining",
        }
    }

    /// All phases and all turns. A row is a phase; the columns: abort, linger, ask, kill, empty, leave.
    const MOVES: [[&str; 7]; 6] = [
        ["running", "counted", "lingering", "asked", "killed", "draining", "-"],
        ["counted", "-", "lingering", "asked", "killed", "-", "-"],
        ["lingering", "-", "-", "asked", "killed", "draining", "-"],
        ["asked", "-", "-", "-", "killed", "draining", "-"],
        ["killed", "-", "-", "-", "killed", "draining", "-"],
        ["draining", "-", "-", "draining", "-", "-", "draining"],
    ];

    #[test]
    fn the_list_of_moves_is_whole() {
        let until = Instant::now();
        let phases = [
            Phase::Running,
            Phase::Counted { pe: 0, status: 3, until },
            Phase::Lingering { until },
            Phase::Asked { until },
            Phase::Killed,
            Phase::Draining { is_decided: false, leave: None },
        ];
        let turns = [
            PhaseTurn::Abort { pe: 0, status: 3, until },
            PhaseTurn::Linger { until },
            PhaseTurn::Ask { until },
            PhaseTurn::Kill,
            PhaseTurn::Empty,
            PhaseTurn::Leave { at: until, status: 1 },
        ];
        for (phase, row) in phases.into_iter().zip(MOVES) {
            let after = turns.map(|turn| name(phase.after(turn)));
            assert_eq!((name(Some(phase)), &after[..]), (row[0], &row[1..]));
        }
    }

    #[test]
    fn every_phase_with_an_end_leads_on_by_itself() {
        let until = Instant::now();
        // The turn that `RunningJob::phase_is_over` makes at the end of each.
        for (phase, turn) in [
            (Phase::Counted { pe: 0, status: 0, until }, PhaseTurn::Ask { until }),
            (Phase::Lingering { until }, PhaseTurn::Ask { until }),
            (Phase::Asked { until }, PhaseTurn::Kill),
        ] {
            assert!(phase.until().is_some() && phase.after(turn).is_some_and(|next| next != phase), "{phase:?}");
        }
    }

    #[test]
    fn a_failure_decides_as_long_as_nothing_else_has() {
        let until = Instant::now();
        let drained = |phase: Phase| phase.after(PhaseTurn::Empty).is_some_and(Phase::can_fail);
        assert!(Phase::Running.can_fail() && drained(Phase::Running));
        let failed = Phase::Running.after(PhaseTurn::Empty).and_then(|phase| phase.after(PhaseTurn::Ask { until }));
        assert!(failed.is_some_and(|phase| phase.is_draining() && !phase.can_fail()));
        for ending in [Phase::Lingering { until }, Phase::Asked { until }, Phase::Killed] {
            assert!(!ending.can_fail() && !drained(ending), "{ending:?}");
        }
    }
}
