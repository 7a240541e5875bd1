//! The operations of one context, on a channel that others move on too (`shared_channel`).

use std::sync::Arc;

use oxshmem_base::Error;
use oxshmem_transport::{
    AtomicArguments, AwaitedState, Busy, Failed, GetArguments, Lane, LaneOptions, NotIssued, PutArguments, Remote,
    SignalUpdate,
};
use parking_lot::MutexGuard;

use crate::channel::{Channel, Issued};
use crate::net::Net;
use crate::peers::Directory;
use crate::shared_channel::{LockedChannel, SharedChannel};

/// Looks of a caller at its lane for each one at what peers ask of this PE. Chosen: four of them take a third of a round trip.
const LOOKS_PER_SERVICE: u64 = 4;

pub(crate) struct UcxLane {
    /// First: the serving channel needs the net.
    channel: Arc<SharedChannel>,
    net: Arc<Net>,
}

impl UcxLane {
    pub(crate) fn new(net: Arc<Net>, options: LaneOptions) -> Result<Self, Error> {
        Ok(Self { channel: net.take_channel(options)?, net })
    }

    /// Issues on the channel. An error is the channel's; then the call returns as if it had issued `all`.
    #[inline(never)]
    fn issue<T>(
        &self,
        channel: MutexGuard<'_, Channel>,
        all: T,
        act: impl FnOnce(&mut Channel, &Directory) -> Issued<T>,
    ) -> Result<T, Busy> {
        let mut channel = self.channel.keep(channel);
        let outcome = match act(&mut channel, &self.net.peers) {
            Ok(issued) => Ok(issued),
            Err(NotIssued::Busy) => Err(Busy),
            Err(NotIssued::Failed(error)) => {
                channel.note(*error);
                Ok(all)
            }
        };
        let waits = channel.has_waiting();
        drop(channel);
        if waits {
            self.net.remind();
        }
        outcome
    }

    /// Serves peers after some of the looks in vain: a peer may wait for this PE before it answers. Each look costs a call of the kernel
    /// over TCP, so it is not all of them.
    fn serve_sometimes(&self, channel: LockedChannel<'_>) {
        let is_due = !channel.serves && channel.steps().is_multiple_of(LOOKS_PER_SERVICE);
        drop(channel);
        if is_due {
            self.net.nudge_service();
        }
    }

    /// A put of a copy that does not go the straight way. Returns how many bytes at the end are left.
    ///
    /// # Safety
    /// The source has its bytes.
    #[inline(never)]
    unsafe fn put_copy_apart(&self, channel: MutexGuard<'_, Channel>, put: &PutArguments) -> usize {
        // SAFETY: the source is readable for `n` bytes, by the caller's promise.
        put.left(self.issue(channel, put.n, |channel, peers| unsafe { channel.put_copy(peers, put) }))
    }

    /// A put from where the bytes are, likewise.
    ///
    /// # Safety
    /// The source has its bytes until completion.
    #[inline(never)]
    unsafe fn put_apart(&self, channel: MutexGuard<'_, Channel>, put: &PutArguments) -> usize {
        // SAFETY: the source stays until completion, by the caller's promise.
        put.left(self.issue(channel, put.n, |channel, peers| unsafe { channel.put(peers, put) }))
    }

    /// A get, likewise.
    ///
    /// # Safety
    /// The destination has its bytes until completion.
    #[inline(never)]
    unsafe fn get_apart(&self, channel: MutexGuard<'_, Channel>, get: &GetArguments) -> usize {
        // SAFETY: the destination stays until completion, by the caller's promise.
        get.left(self.issue(channel, get.n, |channel, peers| unsafe { channel.get(peers, get) }))
    }

    /// An atomic that does not go the straight way.
    ///
    /// # Safety
    /// As for `Lane::amo`.
    #[inline(never)]
    unsafe fn amo_apart(&self, channel: MutexGuard<'_, Channel>, atomic: &AtomicArguments) -> Result<(), Busy> {
        // SAFETY: the caller keeps `old` until completion, as this function demands.
        self.issue(channel, (), |channel, peers| unsafe { channel.amo(peers, atomic) })
    }
}

// SAFETY: local buffers are handed to UCX, which leaves them alone when the flush, the get or the answer that completes
// their operation is over, and `outstanding` counts until then. Ranges are compared with what the peer has registered.
unsafe impl Lane for UcxLane {
    unsafe fn put(&self, put: &PutArguments) -> usize {
        let mut channel = self.channel.lock_briefly();
        // SAFETY: the source is readable, by the caller's promise.
        if unsafe { channel.put_copy_straight(put.to, put.source, put.n) } {
            self.channel.count();
            return 0;
        }
        // SAFETY: the source is readable, by the caller's promise.
        unsafe { self.put_copy_apart(channel, put) }
    }

    unsafe fn put_nbi(&self, put: &PutArguments) -> usize {
        let mut channel = self.channel.lock_briefly();
        // SAFETY: the source stays until completion, by the caller's promise.
        if unsafe { channel.put_straight(put.to, put.source, put.n) } {
            self.channel.count();
            return 0;
        }
        // SAFETY: the source stays until completion, by the caller's promise.
        unsafe { self.put_apart(channel, put) }
    }

    unsafe fn put_awaited(&self, put: &PutArguments) -> usize {
        let channel = self.channel.lock_briefly();
        if !channel.sends_awaited(put.n) {
            drop(channel);
            // SAFETY: the source stays until completion, by the caller's promise.
            return unsafe { self.put_nbi(put) };
        }
        // SAFETY: the source stays until completion, by the caller's promise.
        put.left(self.issue(channel, put.n, |channel, peers| unsafe {
            channel.put_unacknowledged(peers, put, None).map(|()| put.n)
        }))
    }

    unsafe fn get_nbi(&self, get: &GetArguments) -> usize {
        let mut channel = self.channel.lock_briefly();
        // SAFETY: the destination stays until completion, by the caller's promise.
        if let Some(under_way) = unsafe { channel.get_straight(get.from, get.dest, get.n) } {
            if under_way {
                self.channel.count();
            }
            return 0;
        }
        // SAFETY: the destination stays until completion, by the caller's promise.
        unsafe { self.get_apart(channel, get) }
    }

    unsafe fn amo(&self, atomic: &AtomicArguments) -> Result<(), Busy> {
        let &AtomicArguments { to, width, amo, old } = atomic;
        let mut channel = self.channel.lock_briefly();
        if self.net.peers.atomics
            // SAFETY: the caller keeps `old` until completion, as `Lane` demands.
            && let Some(under_way) = unsafe { channel.update_straight(to, width, amo, old) }
        {
            if under_way {
                self.channel.count();
            }
            return Ok(());
        }
        // SAFETY: the caller keeps `old` until completion, as `Lane` demands.
        unsafe { self.amo_apart(channel, atomic) }
    }

    unsafe fn put_signal(&self, put: &PutArguments, signal: Remote, update: SignalUpdate) -> Result<(), Busy> {
        // SAFETY: the source stays until completion, by the caller's promise.
        self.issue(self.channel.lock_briefly(), (), |channel, peers| unsafe {
            channel.put_signal(peers, put, signal, update)
        })
    }

    fn fence(&self) -> Result<(), Busy> {
        self.channel.lock().fence();
        Ok(())
    }

    fn outstanding(&self) -> u64 {
        self.channel.under_way()
    }

    fn account(&self) -> Option<usize> {
        Some(Arc::as_ptr(&self.channel).addr())
    }

    fn has_failed(&self) -> bool {
        self.channel.has_failed()
    }

    fn progress(&self) -> Result<usize, Error> {
        self.channel.lock().progress(&self.net.peers)
    }

    fn poll_completion(&self) -> Result<bool, Failed> {
        if self.channel.is_well_and_idle() {
            return Ok(true);
        }
        let mut channel = self.channel.lock();
        let is_complete = match channel.progress(&self.net.peers) {
            Ok(_) => channel.outstanding() == 0,
            Err(_) => return Err(Failed),
        };
        if !is_complete {
            self.serve_sometimes(channel);
        }
        Ok(is_complete)
    }

    fn poll_awaited(&self) -> Result<AwaitedState, Failed> {
        if self.channel.is_well_and_idle() {
            return Ok(AwaitedState::Idle);
        }
        let mut channel = self.channel.lock();
        let state = channel.poll_awaited(&self.net.peers)?;
        if state == AwaitedState::UnderWay {
            self.serve_sometimes(channel);
        }
        Ok(state)
    }

    fn poll_local_completion(&self) -> Result<bool, Error> {
        let mut channel = self.channel.lock();
        let is_free = channel.poll_local_completion(&self.net.peers)?;
        if !is_free {
            self.serve_sometimes(channel);
        }
        Ok(is_free)
    }
}

impl Drop for UcxLane {
    fn drop(&mut self) {
        self.net.leave_channel(&self.channel);
    }
}
