//! The signals by which the user stops, ends or interrupts a running job.

use std::time::Duration;

use tokio::time::Instant;

use super::RunningJob;
use super::agenda::Due;
use super::inquiry::ReportReason;
use super::phase::{LAST_WORDS, PhaseTurn};
use crate::link::frame::AgentOrder;
use crate::signals::{SignalWish, Signals};
use crate::{say, verdict};

/// How long the agents' pipes may take to swallow that the job stops.
const STOP_AFTER: Duration = Duration::from_millis(100);
/// How long PEs may outlive an interrupt before a note says how to kill them.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

impl RunningJob {
    pub(super) fn obey(&mut self, wish: SignalWish) {
        match wish {
            // No PE is left to signal. Output on its way gets a moment, and a second signal ends that, too.
            SignalWish::Forward(signal) if self.phase.is_draining() && SignalWish::is_an_end(signal) => {
                let patience = if self.phase.until().is_some() { Duration::ZERO } else { LAST_WORDS };
                self.turn(PhaseTurn::Leave { at: Instant::now() + patience, status: 128 + signal });
            }
            // The kernel drops a stop that the first process of a container sends itself, and nothing would continue the PEs.
            SignalWish::Stop if std::process::id() == 1 => {
                say("note: oshrun is the first process of its container, which cannot stop, so the job runs on");
            }
            SignalWish::Stop => {
                self.signal(libc::SIGTSTP);
                if self.subtree.is_alone() {
                    self.stop()
                } else {
                    self.agenda.set(Due::Stop, Instant::now() + STOP_AFTER)
                }
            }
            SignalWish::Forward(libc::SIGCONT) => {
                // No further SIGCONT would continue a launcher that stops now.
                self.agenda.cancel(Due::Stop);
                self.signal(libc::SIGCONT);
            }
            SignalWish::Forward(libc::SIGINT) if !self.phase.is_open() || self.has_forwarded(libc::SIGINT) => {
                self.ended_by = Some(libc::SIGINT);
                self.kill();
            }
            SignalWish::Forward(libc::SIGTERM) => {
                self.ended_by = Some(libc::SIGTERM);
                self.forwarded = Some((libc::SIGTERM, Instant::now()));
                if self.phase.is_open() {
                    self.end(self.plan().grace, None);
                }
            }
            SignalWish::Forward(libc::SIGINT) => {
                self.forwarded = Some((libc::SIGINT, Instant::now()));
                self.ask(ReportReason::Interrupt);
            }
            SignalWish::Forward(libc::SIGUSR1) => {
                self.ask(ReportReason::Report);
                self.signal(libc::SIGUSR1);
            }
            SignalWish::Forward(signal) => {
                if SignalWish::is_an_end(signal) {
                    self.forwarded = Some((signal, Instant::now()));
                }
                self.signal(signal);
                if SignalWish::is_against_starts(signal) {
                    self.wake_stopped();
                }
            }
        }
    }

    /// Passes an interrupt on.
    pub(super) fn interrupt(&mut self) {
        self.agenda.set(Due::Remind, Instant::now() + AGAIN_AFTER);
        self.signal(libc::SIGINT);
        self.wake_stopped();
    }

    /// A PE that is stopped hears no signal by which the user ends the job. The terminal stops one that reads it, for example.
    fn wake_stopped(&mut self) {
        // The silence of a launcher that stops now would count for agents that go on.
        self.agenda.cancel(Due::Stop);
        self.signal(libc::SIGCONT);
    }

    /// PEs have handled the interrupt, and have not ended by it.
    pub(super) fn remind(&mut self) {
        let running = self.roster.running();
        if self.phase.is_open() && running > 0 {
            let still = verdict::still_running(running);
            say(&format!("note: {still} after the interrupt; interrupt again (Ctrl-C) to kill"));
        }
    }

    pub(super) fn stop(&mut self) {
        Signals::stop_here();
        self.subtree.resume();
    }

    pub(super) fn has_forwarded(&self, signal: i32) -> bool {
        self.forwarded.is_some_and(|(forwarded, _)| forwarded == signal)
    }

    /// All PEs have ended.
    pub(super) fn finish(&mut self) {
        self.subtree.obey(AgentOrder::Finish { status: self.conclusion.status.unwrap_or(0) });
        // The job's time is over already: what is still on its way gets as long as PEs get to end.
        if self.plan().timeout.is_some_and(|timeout| self.begun.elapsed() >= timeout) {
            self.agenda.set(Due::Timeout, Instant::now() + self.plan().grace);
        }
        // The user has ended the job, however long the PEs took to end. A signal that came when the last one was ending is for us.
        let late = self.forwarded.filter(|(_, at)| at.elapsed() < AGAIN_AFTER).map(|(signal, _)| signal);
        if let Some(signal) = self.ended_by.or(late) {
            self.turn(PhaseTurn::Leave { at: Instant::now() + LAST_WORDS, status: 128 + signal });
        }
    }
}
