//! How a job's end is decided: whose exit status counts, and what the launcher says about it. Manual page: oshrun(1), exit status.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use oxshmem_bootstrap::gone;
use tokio::time::Instant;

use super::inquiry::ReportReason;
use super::{CENSUS, EndPhase, LINGER, NOTE_AFTER, PeState, RunningJob, SHORT_GRACE};
use crate::link::frame::AgentOrder;
use crate::pmi::PmiStage;
use crate::{say, verdict};

impl RunningJob {
    /// `shmem_global_exit`: the status of the first caller is the job's. But a PE also ends the job when another one is
    /// gone, and may know of that before us; then the other one's end decides. So first everybody who is dying is heard.
    pub(super) fn about_to_abort(&mut self, pe: u32, status: i32) {
        self.aborters.insert(pe);
        if self.abort.is_none() {
            self.abort = Some((pe, status, Instant::now() + CENSUS));
            self.subtree.obey(AgentOrder::Census);
        }
    }

    pub(super) fn aborted(&mut self) {
        let Some((pe, status, _)) = self.abort else { return };
        if self.ending.is_some() {
            return;
        }
        self.status = Some(status);
        if status != 0 || self.plan().verbose {
            let others = verdict::stopped(self.running().saturating_sub(usize::from(self.runs(pe))));
            self.sentence = Some(format!("{} ended the job{others}; exit {status}", self.named(pe)));
        }
        self.end(SHORT_GRACE, Some(pe));
    }

    pub(super) fn ended(&mut self, pe: u32, status: ExitStatus, stage: PmiStage, shortage: Option<String>) {
        self.forget(pe);
        if stage == PmiStage::Finalized {
            self.finalized.insert(pe);
        }
        let code = verdict::code(status);
        match self.ending {
            // The user ends the job, and the first PE that does not do so well decides. That we had to kill it is not
            // the user's signal.
            Some(ending) if code != 0 && self.status.is_none() => {
                let killed = matches!(ending, EndPhase::Killed) && status.signal() == Some(libc::SIGKILL);
                let code = self.forwarded.filter(|_| killed).map_or(code, |signal| 128 + signal);
                self.status = Some(code);
                self.say_interrupted(code);
            }
            Some(_) => {}
            // It is about to be said why.
            None if self.aborters.contains(&pe) => {}
            // The sender of the signal knows why the PE ended.
            None if self.forwarded.is_some_and(|signal| status.signal() == Some(signal)) => {
                self.status = Some(code);
                self.say_interrupted(code);
                self.end(self.plan().grace, None);
            }
            // Nobody leaves the job before all do.
            None if code != 0 && stage == PmiStage::Finalized => {
                self.status = Some(code);
                self.sentence = Some(format!("{} {}; exit {code}", self.named(pe), verdict::manner(status, shortage)));
                self.ending = Some(EndPhase::Awaited { ask_at: Instant::now() + LINGER });
            }
            None if code != 0 => {
                let (manner, others) = (verdict::manner(status, shortage), verdict::stopped(self.running()));
                let in_job = matches!(stage, PmiStage::Joined | PmiStage::Waiting);
                let advice = verdict::advice(status, in_job, self.plan().sets("SHMEM_CHECK"));
                self.fail(code, format!("{} {manner}{others}; exit {code}{advice}", self.named(pe)), SHORT_GRACE);
            }
            None => {
                if stage == PmiStage::Joined {
                    self.deserter.get_or_insert((pe, Instant::now() + NOTE_AFTER));
                    // PEs of its node see that for themselves. Whoever needs it ends the job; nobody may.
                    self.subtree.obey(AgentOrder::Fenced { values: gone::values(pe), last: false });
                }
            }
        }
    }

    /// The last line of a job that a signal from outside has ended.
    fn say_interrupted(&mut self, code: i32) {
        if let Some(signal) = self.forwarded {
            let by = if signal == libc::SIGINT { " (Ctrl-C)" } else { "" };
            let (name, pes) = (verdict::name(signal), verdict::counted(self.pes.len()));
            self.sentence.get_or_insert(format!("{name}{by} has ended the job of {pes}; exit {code}"));
        }
    }

    /// A barrier of the launcher cannot open any more.
    pub(super) fn stuck(&mut self, waiting: u32) {
        let ended = |pe: &u32| matches!(self.pes[*pe as usize], PeState::Ended { .. });
        if let Some(pe) = (0..self.pes.len() as u32).find(ended)
            && self.abort.is_none()
        {
            let (name, others) = (self.named(pe), verdict::stopped(self.running()));
            let sentence =
                format!("{name} ended before the job's PEs had met, and {waiting} wait for it{others}; exit 1");
            self.fail(1, sentence, SHORT_GRACE);
        }
    }

    pub(super) fn note_deserter(&mut self) {
        if let Some((pe, _)) = self.deserter.take()
            && self.ending.is_none()
        {
            let (name, running) = (self.named(pe), self.running());
            say(&format!("note: {name} exited with status 0 without shmem_finalize; {running} still run"));
        }
    }

    /// The time of `--timeout` is over. A job that still runs is ended when it is known what its PEs do.
    pub(super) fn time_is_over(&mut self) {
        match self.finishing {
            true => self.timed_out(),
            false => {
                self.timeout = None;
                self.ask(ReportReason::TimeIsOver);
            }
        }
    }

    pub(super) fn timed_out(&mut self) {
        let (running, all, code) = (self.running(), self.pes.len(), verdict::TIMED_OUT);
        let limit = self.plan().timeout.unwrap_or_default();
        if self.finishing {
            self.timeout = None;
            self.leave_at = Some((Instant::now(), code));
            self.sentence = self.sentence.take().or(Some(format!(
                "the job did not end within {limit:?} (--timeout): its PEs have ended, but not everything that they wrote \
                 could be shown; exit {}",
                self.status.unwrap_or(code)
            )));
            return;
        }
        let sentence =
            format!("the job did not end within {limit:?} (--timeout): {running} of {all} PEs stopped; exit {code}");
        self.fail(code, sentence, self.plan().grace);
    }

    /// Ends the job because of a failure.
    pub(super) fn fail(&mut self, status: i32, sentence: String, grace: Duration) {
        if self.ending.is_none() {
            self.status = Some(status);
            self.sentence = Some(sentence);
            self.end(grace, None);
        }
    }

    /// Asks all PEs to end, except one that is ending anyway.
    pub(super) fn end(&mut self, grace: Duration, except: Option<u32>) {
        // Stopped processes would not hear the request.
        for signal in [libc::SIGTERM, libc::SIGCONT] {
            self.subtree.obey(AgentOrder::Signal { signal, except });
        }
        self.ending = Some(EndPhase::Asked { kill_at: Instant::now() + grace });
    }
}
