//! A channel and its lock, under which its lane and others move it on.

use std::ops::{Deref, DerefMut};
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use oxshmem_transport::OperationLock;
use parking_lot::MutexGuard;

use crate::channel::Channel;
use crate::peers::Directory;

/// A channel that a lane uses and others may nudge. No two share a line: threads with a context each use theirs at once.
#[repr(align(128))]
pub(crate) struct SharedChannel {
    channel: OperationLock<Channel>,
    /// The channel's operations that are not complete. Stored with release before the channel is unlocked, loaded with acquire: a thread that
    /// sees zero sees what was fetched, and reads what it has stored itself or something later.
    under_way: AtomicU64,
    /// Those of them that it helps to move on. Relaxed: a thread that sees an old number looks again.
    to_move: AtomicU64,
    /// Those of these that are unacknowledged messages: UCX may have sent them long ago. Relaxed, likewise.
    lingering: AtomicU64,
    /// An operation has failed. Stored before `under_way`.
    failed: AtomicBool,
    /// No second lane may take it. Written and read under the lock of the list of channels.
    unshared: AtomicBool,
}

/// The channel while it is held.
pub(crate) struct LockedChannel<'s> {
    shared: &'s SharedChannel,
    channel: MutexGuard<'s, Channel>,
}

impl Drop for LockedChannel<'_> {
    fn drop(&mut self) {
        let outstanding = self.channel.outstanding();
        self.channel.allow_straight(outstanding);
        self.shared.to_move.store(self.channel.to_move_of(outstanding), Ordering::Relaxed);
        self.shared.lingering.store(self.channel.lingering(), Ordering::Relaxed);
        self.shared.failed.store(self.channel.has_failed(), Ordering::Relaxed);
        self.shared.under_way.store(outstanding, Ordering::Release);
    }
}

impl Deref for LockedChannel<'_> {
    type Target = Channel;

    fn deref(&self) -> &Channel {
        &self.channel
    }
}

impl DerefMut for LockedChannel<'_> {
    fn deref_mut(&mut self) -> &mut Channel {
        &mut self.channel
    }
}

impl SharedChannel {
    pub(crate) fn new(channel: Channel) -> Self {
        Self {
            channel: OperationLock::new(channel),
            under_way: AtomicU64::new(0),
            to_move: AtomicU64::new(0),
            lingering: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            unshared: AtomicBool::new(false),
        }
    }

    pub(crate) fn lock(&self) -> LockedChannel<'_> {
        self.keep(self.channel.lock())
    }

    /// The channel for an operation that may go the straight way, and is counted by [`SharedChannel::count`] then.
    #[inline(always)]
    pub(crate) fn lock_briefly(&self) -> MutexGuard<'_, Channel> {
        self.channel.lock()
    }

    /// The channel for more than that.
    #[inline(always)]
    pub(crate) fn keep<'s>(&'s self, channel: MutexGuard<'s, Channel>) -> LockedChannel<'s> {
        LockedChannel { shared: self, channel }
    }

    /// One more operation is under way. The channel is locked, so no other thread counts.
    #[inline(always)]
    pub(crate) fn count(&self) {
        self.to_move.store(self.to_move.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        self.under_way.store(self.under_way.load(Ordering::Relaxed) + 1, Ordering::Release);
    }

    /// Whether nothing is under way, and nothing has failed.
    #[inline(always)]
    pub(crate) fn is_well_and_idle(&self) -> bool {
        self.under_way.load(Ordering::Acquire) == 0 && !self.failed.load(Ordering::Relaxed)
    }

    pub(crate) fn is_unshared(&self) -> bool {
        self.unshared.load(Ordering::Relaxed)
    }

    pub(crate) fn set_unshared(&self, unshared: bool) {
        self.unshared.store(unshared, Ordering::Relaxed);
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    fn try_lock(&self) -> Option<LockedChannel<'_>> {
        Some(LockedChannel { shared: self, channel: self.channel.try_lock()? })
    }

    pub(crate) fn under_way(&self) -> u64 {
        self.under_way.load(Ordering::Acquire)
    }

    pub(crate) fn to_move(&self) -> u64 {
        self.to_move.load(Ordering::Relaxed)
    }

    /// Whether nothing is to be moved on but the ends of messages, which UCX keeps where a socket has no room.
    pub(crate) fn only_lingers(&self) -> bool {
        self.to_move() <= self.lingering.load(Ordering::Relaxed)
    }

    /// The descriptor to watch for it; none if it has something to do, or another thread moves it on.
    pub(crate) fn arm(&self) -> Option<RawFd> {
        self.try_lock()?.arm()
    }

    /// Moves it on unless another thread does.
    pub(crate) fn nudge(&self, peers: &Directory) -> usize {
        self.try_lock().map_or(0, |mut channel| channel.step(peers))
    }
}
