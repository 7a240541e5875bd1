//! How a job's end is decided: whose exit status counts, and what the launcher says about it. Manual page: oshrun(1), exit status.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use oxshmem_bootstrap::ended_notice;
use oxshmem_os::sockets;
use tokio::time::Instant;

use super::agenda::Due;
use super::inquiry::ReportReason;
use super::phase::{CENSUS, LINGER, Phase, PhaseTurn, SHORT_GRACE};
use super::{LOST, RunningJob};
use crate::link::frame::AgentOrder;
use crate::pmi::PmiStage;
use crate::screen::{Lost, UNREAD};
use crate::signals::SignalWish;
use crate::verdict::CrashedJob;
use crate::{linked, program, say, say_behind, verdict};

/// How long other PEs may outlive one that did not finalize before a note says so.
const NOTE_AFTER: Duration = Duration::from_secs(1);

/// The job's exit status, and what is said about it.
#[derive(Default)]
pub(super) struct Conclusion {
    /// The exit status, once the first failure has decided it.
    pub(super) status: Option<i32>,
    /// The sentence about it, until it has been said. It comes after what the PEs still had to say.
    sentence: Option<String>,
    /// Whether something that was to be kept in a file is lost.
    pub(super) is_output_lost: bool,
    /// Records of other hosts that could not be kept: their rest is not looked at.
    pub(super) lost_records: BTreeSet<String>,
}

impl Conclusion {
    fn decide(&mut self, status: i32, sentence: String) {
        self.status = Some(status);
        self.sentence = Some(sentence);
    }

    fn explain(&mut self, in_line: bool) {
        if let Some(sentence) = self.sentence.take() {
            say_behind(&sentence, in_line);
        }
    }
}

impl RunningJob {
    /// The job is over: says why, and returns its exit status.
    pub(super) fn conclude(&mut self) -> i32 {
        let is_over = self.is_over();
        let conclusion = &mut self.conclusion;
        if let Phase::Draining { leave: Some((_, status)), .. } = self.phase
            && !is_over
        {
            conclusion.status.get_or_insert(status);
        }
        // The event that ends a job names the status. If none has, a job whose PEs have not run has not gone well.
        if let (None, missing @ 1..) = (conclusion.status, self.roster.given_up) {
            let pes = verdict::counted(self.roster.size() as usize);
            conclusion.decide(LOST, format!("{missing} of {pes} did not run to the end; exit {LOST}"));
        }
        if conclusion.is_output_lost && conclusion.status.is_none_or(|status| status == 0) {
            conclusion.status = Some(LOST);
        }
        let lost = self.screen.lost();
        match (lost, conclusion.status) {
            (None, _) => {}
            // A reader that stops reading (head, less) needs no message: the status tells it, as that of any writer.
            (Some(lost), None | Some(0)) if lost.is_unread() => conclusion.status = Some(lost.status()),
            (Some(lost), Some(_)) if lost.is_unread() => {}
            (Some(lost), None | Some(0)) => {
                conclusion.decide(lost.status(), format!("{}; exit {}", lost.error(), lost.status()));
            }
            (Some(lost), Some(_)) => say(&lost.error().to_string()),
        }
        // Nor do the PEs that SIGPIPE has ended because of it. A PE alone writes to the reader itself.
        let is_unread = || lost.is_some_and(Lost::is_unread) || sockets::hung_up(&std::io::stdout());
        if conclusion.status == Some(UNREAD) && is_unread() {
            conclusion.sentence = None;
        }
        conclusion.explain(self.screen.is_in_line());
        conclusion.status.unwrap_or(0)
    }

    /// `shmem_global_exit`: the status of the first caller is the job's. But a PE also ends the job when another one is
    /// gone, and may know of that before the launcher. Then the other one's end decides. So the launcher first asks
    /// which PEs are dying.
    pub(super) fn about_to_abort(&mut self, pe: u32, status: i32) {
        self.aborters.insert(pe);
        if self.turn(PhaseTurn::Abort { pe, status, until: Instant::now() + CENSUS }) {
            self.subtree.obey(AgentOrder::Census);
        }
    }

    /// The ends of all PEs that are dying have been reported.
    pub(super) fn counted(&mut self) {
        if let Phase::Counted { pe, status, .. } = self.phase {
            self.aborted(pe, status);
        }
    }

    /// No other end has come before that of the PE that ends the job.
    pub(super) fn aborted(&mut self, pe: u32, status: i32) {
        self.conclusion.status = Some(status);
        if status != 0 || self.plan().verbose {
            let others = verdict::stopped(self.roster.running().saturating_sub(usize::from(self.roster.runs(pe))));
            let sentence = format!("{} ended the job{others}; exit {status}", self.roster.named(pe));
            self.conclusion.sentence = Some(sentence);
        }
        self.end(SHORT_GRACE, Some(pe));
    }

    pub(super) fn ended(&mut self, pe: u32, status: ExitStatus, stage: PmiStage, shortage: Option<String>) {
        self.roster.forget(pe);
        if stage == PmiStage::Finalized {
            self.roster.finalized.insert(pe);
        }
        let code = verdict::code(status);
        let by = |signal: i32| status.signal() == Some(signal);
        match self.forwarded {
            _ if self.phase.is_ending() => self.ended_as_asked(code, by(libc::SIGKILL)),
            // It is about to be said why.
            _ if self.aborters.contains(&pe) => {}
            // The sender of the signal knows why the PE ended.
            Some((signal, _)) if by(signal) => self.ended_by_signal(signal),
            // All PEs leave the job together, so the others are about to end, too.
            _ if code != 0 && stage == PmiStage::Finalized => {
                let (manner, advice) = (verdict::manner(status, shortage), verdict::advice_behind_finalize(status));
                let advice = advice.unwrap_or_default();
                self.conclusion.decide(code, format!("{} {manner}; exit {code}{advice}", self.roster.named(pe)));
                self.turn(PhaseTurn::Linger { until: Instant::now() + LINGER });
            }
            _ if code != 0 => {
                let (manner, others) = (verdict::manner(status, shortage), verdict::stopped(self.roster.running()));
                let in_job = matches!(stage, PmiStage::Joined | PmiStage::Waiting | PmiStage::Leaving);
                let level = verdict::check_level(self.plan().values("SHMEM_CHECK").last().as_deref());
                let taken = self.taken_names();
                let job = CrashedJob { in_job, level, fortran: self.has_fortran(), taken: &taken };
                let leaves = Some(status).filter(|_| stage == PmiStage::Leaving);
                let advice = leaves.and_then(verdict::advice_behind_finalize);
                let advice = advice.unwrap_or_else(|| verdict::advice(status, job));
                let name = self.roster.named(pe);
                self.fail(code, format!("{name} {manner}{others}; exit {code}{advice}"), SHORT_GRACE);
            }
            _ if matches!(stage, PmiStage::Joined | PmiStage::Leaving) => {
                if self.deserter.is_none() {
                    self.deserter = Some(pe);
                    self.agenda.set(Due::Note, Instant::now() + NOTE_AFTER);
                }
                // PEs of its node see that by themselves. A PE that needs it ends the job; perhaps none does.
                self.subtree.obey(AgentOrder::Fenced { values: ended_notice::values(pe), last: false });
            }
            _ => {}
        }
    }

    /// Whether a program of the job is linked with gfortran's library, as far as its file can be read here.
    fn has_fortran(&self) -> bool {
        self.files().any(|file| {
            let needed = linked::needed(&file).unwrap_or_default();
            needed.iter().any(|name| name.starts_with("libgfortran."))
        })
    }

    /// Functions of the C library whose names a program of the job has taken.
    fn taken_names(&self) -> Vec<&'static str> {
        let taken: BTreeSet<_> = self.files().flat_map(|file| linked::taken(&file)).collect();
        taken.into_iter().collect()
    }

    /// The files of the job's programs that are there on this host.
    fn files(&self) -> impl Iterator<Item = PathBuf> {
        let path = self.description.path.as_deref();
        self.plan()
            .programs
            .iter()
            .filter_map(move |of| program::resolve(&of.command[0], of.wdir.as_deref(), path).ok())
    }

    /// A PE has ended that was to end. If the user ends the job, the first PE that does not end well decides.
    fn ended_as_asked(&mut self, code: i32, is_killed: bool) {
        if code == 0 || self.conclusion.status.is_some() {
            return;
        }
        // That we had to kill it is not the user's signal.
        let forwarded = self.forwarded.filter(|_| is_killed && self.phase == Phase::Killed);
        let code = forwarded.map_or(code, |(signal, _)| 128 + signal);
        self.conclusion.status = Some(code);
        self.say_interrupted(code);
    }

    /// A signal that was passed on ends the job.
    fn ended_by_signal(&mut self, signal: i32) {
        let code = 128 + signal;
        self.ended_by = Some(signal);
        self.conclusion.status = Some(code);
        self.say_interrupted(code);
        self.end(self.plan().grace, None);
    }

    /// The last line of a job that a signal from outside has ended.
    fn say_interrupted(&mut self, code: i32) {
        if let Some((signal, _)) = self.forwarded {
            let by = if signal == libc::SIGINT { " (Ctrl-C)" } else { "" };
            let (name, pes) = (verdict::name(signal), verdict::counted(self.roster.size() as usize));
            let sentence = || format!("{name}{by} has ended the job of {pes}; exit {code}");
            self.conclusion.sentence.get_or_insert_with(sentence);
        }
    }

    /// A barrier of the launcher cannot open any more.
    pub(super) fn stuck(&mut self, waiting: u32) {
        if let Some(pe) = self.roster.first_ended()
            && self.phase == Phase::Running
        {
            let (name, others) = (self.roster.named(pe), verdict::stopped(self.roster.running()));
            let waiting = verdict::counted(waiting as usize);
            let sentence = format!(
                "{name} ended before the job's PEs had met, with {waiting} waiting for it{others}; exit 1\n  to fix:  \
                 let all PEs call shmem_init, those of a second program (a : b) too, and let none end before it returns"
            );
            self.fail(1, sentence, SHORT_GRACE);
        }
    }

    pub(super) fn note_deserter(&mut self) {
        if let Some(pe) = self.deserter.take()
            && self.phase.is_open()
        {
            let (name, still) = (self.roster.named(pe), verdict::still_running(self.roster.running()));
            say(&format!("note: {name} exited with status 0 without shmem_finalize, or by _exit after it; {still}"));
        }
    }

    /// The time of `--timeout` is over. A job that still runs is ended when it is known what its PEs do.
    pub(super) fn time_is_over(&mut self) {
        if self.phase.is_draining() { self.timed_out() } else { self.ask(ReportReason::TimeIsOver) }
    }

    pub(super) fn timed_out(&mut self) {
        let (running, all, code) = (self.roster.running(), self.roster.size(), verdict::TIMED_OUT);
        let limit = self.plan().timeout.unwrap_or_default();
        if self.turn(PhaseTurn::Leave { at: Instant::now(), status: code }) {
            let conclusion = &mut self.conclusion;
            conclusion.sentence = conclusion.sentence.take().or(Some(format!(
                "the job did not end within {limit:?} (--timeout): its PEs have ended, but not everything that they wrote \
                 could be shown; exit {}",
                conclusion.status.unwrap_or(code)
            )));
            return;
        }
        let sentence =
            format!("the job did not end within {limit:?} (--timeout): {running} of {all} PEs stopped; exit {code}");
        self.fail(code, sentence, self.plan().grace);
    }

    pub(super) fn fail(&mut self, status: i32, sentence: String, grace: Duration) {
        if self.phase.can_fail() {
            self.conclusion.decide(status, sentence);
            self.end(grace, None);
        }
    }

    /// Ends the job because PEs cannot be started, or are lost with their host. If the user has ended it already, that decides.
    pub(super) fn fail_to_run(&mut self, status: i32, sentence: String, is_unstarted: bool) {
        match self.forwarded {
            Some((signal, _)) if self.phase.is_ending() => self.ended_as_asked(128 + signal, false),
            // Hosts that had not answered when the signal came have been given up because of it.
            Some((signal, _)) if is_unstarted && self.phase.is_open() && SignalWish::is_against_starts(signal) => {
                self.ended_by_signal(signal);
            }
            _ => self.fail(status, sentence, SHORT_GRACE),
        }
    }

    /// Asks all PEs to end, except one that is ending anyway.
    pub(super) fn end(&mut self, grace: Duration, except: Option<u32>) {
        // Stopped processes would not hear the request.
        for signal in [libc::SIGTERM, libc::SIGCONT] {
            self.subtree.obey(AgentOrder::Signal { signal, except });
        }
        self.turn(PhaseTurn::Ask { until: Instant::now() + grace });
    }

    /// Ends those that did not end when they were asked. Should even this take long, the user knows why.
    pub(super) fn kill(&mut self) {
        self.signal(libc::SIGKILL);
        self.turn(PhaseTurn::Kill);
        self.conclusion.explain(self.screen.is_in_line());
    }
}
