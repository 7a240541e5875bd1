//! Messages between the PEs of one process, for atomics that software makes.

use std::sync::Arc;
use std::time::Duration;

use crate::NotIssued;
use crate::loopback::job::LoopbackJob;
use crate::progress_thread::{Callers, Drive, NextStep};
use crate::software::Messages;

/// The messages of one PE.
pub(super) struct LoopbackMessages {
    pub(super) me: u32,
    pub(super) job: Arc<LoopbackJob>,
    pub(super) callers: Callers,
    pub(super) longest: usize,
}

impl Messages for LoopbackMessages {
    fn send(&self, pe: u32, message: &[u8]) -> Result<(), NotIssued> {
        let mailbox = &self.job.mailboxes[pe as usize];
        mailbox.messages.lock().push_back((self.me, message.to_vec()));
        mailbox.arrived.notify_all();
        Ok(())
    }

    fn longest(&self) -> usize {
        self.longest
    }

    fn in_order(&self) -> bool {
        self.longest > 64
    }

    fn beat_puts(&self) -> bool {
        self.longest > 64
    }

    fn receive(&self) -> Option<(u32, Vec<u8>)> {
        self.job.mailboxes[self.me as usize].messages.lock().pop_front()
    }
}

impl Drive for LoopbackMessages {
    fn callers(&self) -> &Callers {
        &self.callers
    }

    /// Memory needs no help; messages are served by the software above.
    fn turn(&self, _resumed: bool) -> NextStep {
        NextStep::Sleep(Duration::from_millis(20))
    }

    fn sleep(&self, most: Duration) {
        let mailbox = &self.job.mailboxes[self.me as usize];
        let mut messages = mailbox.messages.lock();
        mailbox.arrived.wait_while_for(&mut messages, |messages| messages.is_empty(), most);
    }

    fn wake(&self) {
        self.job.mailboxes[self.me as usize].arrived.notify_all();
    }
}
