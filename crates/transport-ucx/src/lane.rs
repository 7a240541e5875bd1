//! The operations of one context: a channel, and the lock under which it is also moved on by others.

use std::ops::{Deref, DerefMut};
use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use oxshmem_base::Error;
use oxshmem_transport::{Amo, Busy, Lane, NotIssued, OperationLock, Remote, SignalUpdate, Width};
use parking_lot::MutexGuard;

use crate::channel::{Channel, Issued};
use crate::net::Net;

/// A channel that a lane uses and others may nudge.
pub(crate) struct Seat {
    channel: OperationLock<Channel>,
    /// The channel's operations that are not complete. Stored with release before the channel is unlocked, loaded with acquire: a thread that
    /// sees zero sees what was fetched, and reads what it has stored itself or something later.
    under_way: AtomicU64,
}

/// The channel while it is held.
pub(crate) struct LockedSeat<'s> {
    seat: &'s Seat,
    channel: MutexGuard<'s, Channel>,
}

impl Drop for LockedSeat<'_> {
    fn drop(&mut self) {
        self.seat.under_way.store(self.channel.outstanding(), Ordering::Release);
    }
}

impl Deref for LockedSeat<'_> {
    type Target = Channel;

    fn deref(&self) -> &Channel {
        &self.channel
    }
}

impl DerefMut for LockedSeat<'_> {
    fn deref_mut(&mut self) -> &mut Channel {
        &mut self.channel
    }
}

impl Seat {
    pub(crate) fn new(channel: Channel) -> Self {
        Self { channel: OperationLock::new(channel), under_way: AtomicU64::new(0) }
    }

    pub(crate) fn lock(&self) -> LockedSeat<'_> {
        LockedSeat { seat: self, channel: self.channel.lock() }
    }

    fn try_lock(&self) -> Option<LockedSeat<'_>> {
        Some(LockedSeat { seat: self, channel: self.channel.try_lock()? })
    }

    pub(crate) fn under_way(&self) -> u64 {
        self.under_way.load(Ordering::Acquire)
    }

    /// What to watch for it; none if it has something to do, or somebody is at it.
    pub(crate) fn arm(&self) -> Option<RawFd> {
        self.try_lock()?.arm()
    }

    /// Moves it on unless somebody is at it.
    pub(crate) fn nudge(&self, net: &Net) -> usize {
        self.try_lock().map_or(0, |mut channel| channel.step(net))
    }
}

pub(crate) struct UcxLane {
    net: Arc<Net>,
    seat: Arc<Seat>,
}

impl UcxLane {
    pub(crate) fn new(net: Arc<Net>) -> Result<Self, Error> {
        let seat = net.take_seat()?;
        Ok(Self { net, seat })
    }

    /// Issues on the channel. An error is the channel's; then the call returns as if it had issued `all`.
    fn issue<T>(&self, all: T, act: impl FnOnce(&mut Channel, &Net) -> Issued<T>) -> Result<T, Busy> {
        let mut channel = self.seat.lock();
        match act(&mut channel, &self.net) {
            Ok(issued) => Ok(issued),
            Err(NotIssued::Busy) => Err(Busy),
            Err(NotIssued::Failed(error)) => {
                channel.note(error);
                Ok(all)
            }
        }
    }
}

// SAFETY: local buffers are handed to UCX, which leaves them alone when the flush, the get or the answer that completes
// their operation is over, and `outstanding` counts until then. Ranges are compared with what the peer has registered.
unsafe impl Lane for UcxLane {
    unsafe fn put(&self, to: Remote, source: *const u8, n: usize) -> Result<usize, Busy> {
        // SAFETY: the source is readable for `n` bytes, by the caller's promise.
        self.issue(n, |channel, net| unsafe { channel.put_copy(net, to, source, n) })
    }

    unsafe fn put_nbi(&self, to: Remote, source: *const u8, n: usize) -> Result<usize, Busy> {
        // SAFETY: the source stays until completion, by the caller's promise.
        self.issue(n, |channel, net| unsafe { channel.put(net, to, source, n) })
    }

    unsafe fn get_nbi(&self, dest: *mut u8, from: Remote, n: usize) -> Result<usize, Busy> {
        // SAFETY: the destination stays until completion, by the caller's promise.
        self.issue(n, |channel, net| unsafe { channel.get(net, dest, from, n) })
    }

    unsafe fn amo(&self, to: Remote, width: Width, amo: Amo, old: *mut u8) -> Result<(), Busy> {
        self.issue((), |channel, net| channel.amo(net, to, width, amo, old))
    }

    unsafe fn put_signal(
        &self,
        to: Remote,
        source: *const u8,
        n: usize,
        signal: Remote,
        update: SignalUpdate,
    ) -> Result<(), Busy> {
        // SAFETY: the source stays until completion, by the caller's promise.
        self.issue((), |channel, net| unsafe { channel.put_signal(net, to, source, n, signal, update) })
    }

    fn fence(&self) -> Result<(), Busy> {
        self.seat.lock().fence();
        Ok(())
    }

    fn outstanding(&self) -> u64 {
        self.seat.under_way()
    }

    fn progress(&self) -> Result<usize, Error> {
        self.seat.lock().progress(&self.net)
    }
}

impl Drop for UcxLane {
    fn drop(&mut self) {
        let reusable = self.seat.lock().renew();
        self.net.leave_seat(&self.seat, reusable);
    }
}
