//! The question what all PEs do: its reasons, the answers that are still on their way, and the reports of them.

use std::collections::BTreeSet;
use std::time::Duration;

use oxshmem_flight::report::{self, Certainty};
use oxshmem_flight::{Activity, State, Witness};
use tokio::time::Instant;

use super::RunningJob;
use super::agenda::Due;
use super::roster::PeState;
use crate::ask::{JobView, Visitor};
use crate::link::frame::{AgentOrder, LONGEST};
use crate::say;

/// How long hosts may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// The number of last calls of each PE that are read.
const CALLS: u32 = 32;
/// After an interrupt the report has the waits that are at least this old, in seconds.
const LONG: u64 = 1;

/// The reason for a question.
pub(super) enum ReportReason {
    /// The time of `--timeout` is over.
    TimeIsOver,
    /// The user has interrupted the job.
    Interrupt,
    /// The user wants a report.
    Report,
    /// Another program of the user wants a report.
    Visit(Visitor),
    /// A PE on a host with an agent has found a certain deadlock.
    Agent(u32),
}

/// A question whose answers are on their way.
pub(super) struct JobQuestion {
    number: u32,
    /// Hosts that owe an answer.
    hosts: BTreeSet<u32>,
    known: Vec<Witness>,
    purposes: Vec<ReportReason>,
}

impl RunningJob {
    /// Asks all hosts what their PEs do. Questions that come meanwhile get the same answer.
    pub(super) fn ask(&mut self, purpose: ReportReason) {
        if let Some(inquiry) = &mut self.inquiry {
            inquiry.purposes.push(purpose);
            return;
        }
        self.inquiries += 1;
        let number = self.inquiries;
        let hosts = self.roster.hosts_that_run();
        let nobody = hosts.is_empty();
        self.inquiry = Some(JobQuestion { number, hosts, known: Vec::new(), purposes: vec![purpose] });
        self.agenda.set(Due::Answer, Instant::now() + PATIENCE);
        self.subtree.obey(AgentOrder::Look { question: number, calls: CALLS });
        if nobody {
            self.answer();
        }
    }

    pub(super) fn seen(&mut self, host: u32, question: u32, witnesses: Vec<Witness>) {
        if let Some(inquiry) = self.inquiry.as_mut().filter(|inquiry| inquiry.number == question) {
            inquiry.hosts.remove(&host);
            inquiry.known.extend(witnesses);
            if inquiry.hosts.is_empty() {
                self.answer();
            }
        }
    }

    /// All hosts have answered, or their time is over.
    pub(super) fn answer(&mut self) {
        self.agenda.cancel(Due::Answer);
        let Some(JobQuestion { mut known, purposes, .. }) = self.inquiry.take() else { return };
        for pe in 0..self.roster.size() {
            match self.roster.state(pe) {
                PeState::Ended { pid } => {
                    known.retain(|one| one.pe != pe);
                    let state = if self.roster.finalized.contains(&pe) { State::Finalized } else { State::Gone };
                    let activity = Activity::Ended;
                    known.push(Witness { activity, process: pid, ..Witness::new(pe, state, Vec::new()) });
                }
                PeState::Expected | PeState::Running { .. } => {}
            }
        }
        known.sort_by_key(|one| one.pe);
        for purpose in purposes {
            self.serve(purpose, &known);
        }
    }

    fn serve(&mut self, purpose: ReportReason, known: &[Witness]) {
        let waits = |least: u64| known.iter().any(|one| one.waits.iter().any(|wait| wait.seconds >= least));
        match purpose {
            // The job has ended meanwhile, and its output is what is left: `finish` says for how long.
            ReportReason::TimeIsOver if self.roster.is_empty() => {}
            ReportReason::TimeIsOver => {
                if waits(0) {
                    self.tell(known);
                }
                self.timed_out();
            }
            // The second interrupt has been obeyed already.
            ReportReason::Interrupt if !self.phase.is_open() => {}
            ReportReason::Interrupt => {
                if waits(LONG) {
                    self.tell(known);
                }
                self.interrupt();
            }
            ReportReason::Report => self.tell(known),
            ReportReason::Visit(visitor) => visitor.answer(&self.view(known)),
            ReportReason::Agent(host) => {
                // PEs ask for this when they have proven a deadlock.
                let text = Some(self.view(known).waits(Certainty::Proven))
                    .filter(|text| text.len() < LONGEST / 2)
                    .unwrap_or_default();
                self.subtree.obey(AgentOrder::Told { host, text });
            }
        }
    }

    /// Prints who waits for whom.
    fn tell(&self, known: &[Witness]) {
        // Rounded, as the times of waits are.
        let seconds = self.begun.elapsed().as_secs_f64();
        let seconds = if seconds < 1.0 { (10.0 * seconds).round() / 10.0 } else { seconds.round() };
        say(&format!(
            "after {seconds} s the PEs of the job do this:\n{}",
            report::picture(known, self.roster.size(), Certainty::Seen).trim_end()
        ));
    }

    fn view(&self, known: &[Witness]) -> JobView {
        let words = self.plan().programs.iter().flat_map(|program| &program.command);
        JobView {
            job: std::process::id(),
            pes: self.roster.size(),
            seconds: self.begun.elapsed().as_secs_f64(),
            command: words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" "),
            hosts: (0..self.roster.size()).map(|pe| self.roster.host_name(pe).unwrap_or_default().to_owned()).collect(),
            witnesses: known.to_vec(),
        }
    }
}
