//! A channel and its lock, under which its lane and others move it on.

use std::ops::{Deref, DerefMut};
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU64, Ordering};

use oxshmem_transport::OperationLock;
use parking_lot::MutexGuard;

use crate::channel::Channel;
use crate::peers::Directory;

/// A channel that a lane uses and others may nudge.
pub(crate) struct SharedChannel {
    channel: OperationLock<Channel>,
    /// The channel's operations that are not complete. Stored with release before the channel is unlocked, loaded with acquire: a thread that
    /// sees zero sees what was fetched, and reads what it has stored itself or something later.
    under_way: AtomicU64,
    /// Those of them that it helps to move on. Relaxed: a thread that sees an old number looks again.
    to_move: AtomicU64,
}

/// The channel while it is held.
pub(crate) struct LockedChannel<'s> {
    shared: &'s SharedChannel,
    channel: MutexGuard<'s, Channel>,
}

impl Drop for LockedChannel<'_> {
    fn drop(&mut self) {
        self.shared.to_move.store(self.channel.to_move(), Ordering::Relaxed);
        self.shared.under_way.store(self.channel.outstanding(), Ordering::Release);
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
        Self { channel: OperationLock::new(channel), under_way: AtomicU64::new(0), to_move: AtomicU64::new(0) }
    }

    pub(crate) fn lock(&self) -> LockedChannel<'_> {
        LockedChannel { shared: self, channel: self.channel.lock() }
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

    /// The descriptor to watch for it; none if it has something to do, or somebody moves it on.
    pub(crate) fn arm(&self) -> Option<RawFd> {
        self.try_lock()?.arm()
    }

    /// Moves it on unless somebody is at it.
    pub(crate) fn nudge(&self, peers: &Directory) -> usize {
        self.try_lock().map_or(0, |mut channel| channel.step(peers))
    }
}
