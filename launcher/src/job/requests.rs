//! The signals by which the user stops, ends or interrupts a running job.

use std::time::Duration;

use tokio::time::Instant;

use super::inquiry::ReportReason;
use super::{AGAIN_AFTER, LAST_WORDS, RunningJob, STOP_AFTER};
use crate::say;
use crate::signals::{SignalWish, Signals};

impl RunningJob {
    pub(super) fn obey(&mut self, wish: SignalWish) {
        match wish {
            // Nobody is left to signal. What is on its way gets a moment, and the second signal ends that too.
            SignalWish::Forward(signal) if self.finishing && SignalWish::is_an_end(signal) => {
                let patience = if self.leave_at.is_some() { Duration::ZERO } else { LAST_WORDS };
                self.leave_at = Some((Instant::now() + patience, 128 + signal));
            }
            SignalWish::Stop => {
                self.signal(libc::SIGTSTP);
                match self.subtree.is_alone() {
                    true => self.stop(),
                    false => self.stop_at = Some(Instant::now() + STOP_AFTER),
                }
            }
            SignalWish::Forward(libc::SIGINT) if self.forwarded == Some(libc::SIGINT) || self.ending.is_some() => {
                self.kill()
            }
            SignalWish::Forward(libc::SIGTERM) => {
                self.forwarded = Some(libc::SIGTERM);
                self.forwarded_at = Some(Instant::now());
                if self.ending.is_none() {
                    self.end(self.plan().grace, None);
                }
            }
            SignalWish::Forward(libc::SIGINT) => {
                self.forwarded = Some(libc::SIGINT);
                self.forwarded_at = Some(Instant::now());
                self.ask(ReportReason::Interrupt);
            }
            SignalWish::Forward(libc::SIGUSR1) => {
                self.ask(ReportReason::Report);
                self.signal(libc::SIGUSR1);
            }
            SignalWish::Forward(signal) => {
                if SignalWish::is_an_end(signal) {
                    self.forwarded = Some(signal);
                    self.forwarded_at = Some(Instant::now());
                }
                self.signal(signal);
            }
        }
    }

    /// Passes an interrupt on.
    pub(super) fn interrupt(&mut self) {
        self.remind_at = Some(Instant::now() + AGAIN_AFTER);
        self.signal(libc::SIGINT);
    }

    /// The interrupt was the PEs' to handle, and they have not ended by it.
    pub(super) fn remind(&mut self) {
        self.remind_at = None;
        let running = self.running();
        if self.ending.is_none() && running > 0 {
            let s = if running == 1 { " still runs" } else { "s still run" };
            say(&format!("note: {running} PE{s} after the interrupt; interrupt again (Ctrl-C) to kill"));
        }
    }

    pub(super) fn stop(&mut self) {
        self.stop_at = None;
        Signals::stop_here();
        self.subtree.resume();
    }
}
