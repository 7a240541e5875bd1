//! The operations of a channel that are under way.

use super::Channel;

impl Channel {
    pub(crate) fn outstanding(&self) -> u64 {
        self.transfers() + self.unanswered()
    }

    /// Puts, gets and atomics of UCX's under way, with the signals that wait for them.
    pub(super) fn transfers(&self) -> u64 {
        let flushing = self.flush.as_ref().map_or(0, |flush| flush.puts + flush.then.len() as u64);
        self.unflushed + self.late.len() as u64 + flushing + self.inbox.gets.get()
    }

    /// Operations under way that moving the channel on brings nearer to their end.
    pub(crate) fn to_move(&self) -> u64 {
        self.to_move_of(self.outstanding())
    }

    /// [`Self::to_move`], if `outstanding` operations are.
    ///
    /// UCX calls a message sent when it has copied it. The end of it may stay in UCX's buffer until the socket has room and the worker is
    /// moved on. So a message counts until it is acknowledged, but for those of the serving worker.
    pub(crate) fn to_move_of(&self, outstanding: u64) -> u64 {
        let sure_to_go = if self.serves { self.inbox.unacknowledged.get() } else { 0 };
        outstanding - sure_to_go + self.inbox.unsent.get() + self.waiting
    }

    /// Those of them that are unacknowledged messages, where the worker does not serve.
    pub(crate) fn lingering(&self) -> u64 {
        self.inbox.unacknowledged.get()
    }

    /// Operations under way that end without a further question to a peer.
    pub(crate) fn to_end(&self) -> u64 {
        self.transfers() + self.asked_for() + self.inbox.unsent.get() + self.waiting
    }

    /// Messages that are not known to be done.
    pub(crate) fn unanswered(&self) -> u64 {
        self.asked_for() + self.inbox.unacknowledged.get()
    }

    /// Questions whose answers have not come.
    pub(super) fn asked_for(&self) -> u64 {
        self.inbox.unanswered.borrow().len() as u64
    }
}
