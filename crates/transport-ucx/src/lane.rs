//! The operations of one context: a channel, and the lock under which it is also moved on by others.

use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use oxshmem_base::Error;
use oxshmem_transport::{Amo, Lane, Remote, SignalUpdate, Width};

use crate::channel::Channel;
use crate::net::{Net, lock};

/// A channel that a lane uses and others may nudge.
pub(crate) struct Seat {
    channel: Mutex<Channel>,
    /// It may have something under way. Relaxed: it is a hint.
    busy: AtomicBool,
}

impl Seat {
    pub(crate) fn new(channel: Channel) -> Self {
        Self { channel: Mutex::new(channel), busy: AtomicBool::new(false) }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Channel> {
        lock(&self.channel)
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed)
    }

    /// What to watch for it; none if it has something to do, or somebody is at it.
    pub(crate) fn arm(&self) -> Option<RawFd> {
        self.channel.try_lock().ok()?.arm()
    }

    /// Moves it on unless somebody is at it.
    pub(crate) fn nudge(&self, net: &Net) -> usize {
        self.channel.try_lock().map_or(0, |mut channel| channel.step(net))
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

    fn issue(&self, act: impl FnOnce(&mut Channel, &Net)) {
        let mut channel = self.seat.lock();
        act(&mut channel, &self.net);
        self.seat.busy.store(true, Ordering::Relaxed);
    }
}

// SAFETY: local buffers are handed to UCX, which leaves them alone when the flush, the get or the answer that completes
// their operation is over, and `outstanding` counts until then. Ranges are compared with what the peer has registered.
unsafe impl Lane for UcxLane {
    unsafe fn put(&mut self, to: Remote, source: *const u8, n: usize) {
        // SAFETY: the caller's promise.
        self.issue(|channel, net| unsafe { channel.put(net, to, source, n, true) });
    }

    unsafe fn put_nbi(&mut self, to: Remote, source: *const u8, n: usize) {
        // SAFETY: the caller's promise.
        self.issue(|channel, net| unsafe { channel.put(net, to, source, n, false) });
    }

    unsafe fn get_nbi(&mut self, dest: *mut u8, from: Remote, n: usize) {
        // SAFETY: the caller's promise.
        self.issue(|channel, net| unsafe { channel.get(net, dest, from, n) });
    }

    unsafe fn amo(&mut self, to: Remote, width: Width, amo: Amo, old: *mut u8) {
        self.issue(|channel, net| channel.amo(net, to, width, amo, old));
    }

    unsafe fn put_signal(&mut self, to: Remote, source: *const u8, n: usize, signal: Remote, update: SignalUpdate) {
        // SAFETY: the caller's promise.
        self.issue(|channel, net| unsafe { channel.put_signal(net, to, source, n, signal, update) });
    }

    fn fence(&mut self) {
        self.seat.lock().fence();
    }

    fn outstanding(&self) -> u64 {
        self.seat.lock().outstanding()
    }

    fn progress(&mut self) -> Result<usize, Error> {
        let mut channel = self.seat.lock();
        let outcome = channel.progress(&self.net);
        self.seat.busy.store(channel.outstanding() > 0, Ordering::Relaxed);
        outcome
    }
}

/// How long a lane that is dropped waits for what its caller has not waited for, and how long if a peer was lost.
const PATIENCE: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(1));

impl Drop for UcxLane {
    fn drop(&mut self) {
        let start = Instant::now();
        let seat = self.seat.clone();
        let patience = || if seat.lock().is_broken() { PATIENCE.1 } else { PATIENCE.0 };
        while self.outstanding() > 0 && start.elapsed() < patience() {
            if self.progress().unwrap_or(0) + self.net.serve() == 0 {
                std::thread::yield_now();
            }
        }
        let reusable = self.seat.lock().renew();
        self.net.leave_seat(&self.seat, reusable);
    }
}
