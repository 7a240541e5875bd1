//! The operations of a context. Nearly always the lane takes all of one at once; whatever else may happen is apart from that.

use std::sync::atomic::Ordering::Relaxed;

use oxshmem_transport::{Amo, Busy, Issuer, Remote, SignalUpdate, Width};

use super::{ContextLane, Direction};
use crate::network;
use crate::start::job;
use crate::transfers::direct::may_have_window;

impl ContextLane {
    /// Issues what a lane has not taken at once, which is rare.
    #[cold]
    #[inline(never)]
    fn issue_rest(&self, call: &'static str, pe: u32, rest: &dyn Fn(&Issuer<'_>)) {
        self.issue(call, Some(pe), |lane| rest(lane));
    }

    /// [`Issuer::put`] of one of the context's operations.
    ///
    /// # Safety
    /// As for `Lane::put`.
    #[inline(always)]
    pub(crate) unsafe fn put(&self, call: &'static str, to: Remote, source: *const u8, n: usize) {
        self.begin(call);
        // SAFETY: the arguments go unchanged to the lane, which asks for the promise that our caller has made.
        let first = unsafe { self.lane.put(to, source, n) };
        if let Some(done) = incomplete(first, n) {
            // SAFETY: the rest is a part of what the caller has promised.
            self.issue_rest(call, to.pe, &move |lane| unsafe { lane.put(to.plus(done), source.add(done), n - done) });
        }
        self.counters.note(Direction::Write);
    }

    /// [`Issuer::put_nbi`] of one of the context's operations.
    ///
    /// # Safety
    /// As for `Lane::put_nbi`.
    #[inline(always)]
    pub(crate) unsafe fn put_nbi(&self, call: &'static str, to: Remote, source: *const u8, n: usize) {
        self.begin(call);
        // SAFETY: the arguments go unchanged to the lane, which asks for the promise that our caller has made.
        let first = unsafe { self.lane.put_nbi(to, source, n) };
        if let Some(done) = incomplete(first, n) {
            // SAFETY: the rest is a part of what the caller has promised, until completion.
            self.issue_rest(call, to.pe, &move |lane| unsafe {
                lane.put_nbi(to.plus(done), source.add(done), n - done)
            });
        }
        self.counters.note(Direction::Write);
    }

    /// [`Issuer::get_nbi`] of one of the context's operations.
    ///
    /// # Safety
    /// As for `Lane::get_nbi`.
    #[inline(always)]
    pub(crate) unsafe fn get_nbi(&self, call: &'static str, dest: *mut u8, from: Remote, n: usize) {
        self.begin(call);
        // SAFETY: the arguments go unchanged to the lane, which asks for the promise that our caller has made.
        let first = unsafe { self.lane.get_nbi(dest, from, n) };
        if let Some(done) = incomplete(first, n) {
            // SAFETY: the rest is a part of what the caller has promised, until completion.
            self.issue_rest(call, from.pe, &move |lane| unsafe {
                lane.get_nbi(dest.add(done), from.plus(done), n - done)
            });
        }
        self.counters.note(Direction::Read);
    }

    /// [`Issuer::amo`] of one of the context's operations, which may be on a PE of this node.
    ///
    /// # Safety
    /// As for `Lane::amo`.
    #[inline(always)]
    pub(crate) unsafe fn amo(&self, call: &'static str, to: Remote, width: Width, amo: Amo, old: *mut u8) {
        self.begin(call);
        // SAFETY: the arguments go unchanged to the lane, which asks for the promise that our caller has made.
        if unsafe { self.lane.amo(to, width, amo, old) }.is_err() {
            // SAFETY: a busy lane has issued nothing, so one operation uses what the caller has promised.
            self.issue_rest(call, to.pe, &move |lane| unsafe { lane.amo(to, width, amo, old) });
        }
        self.counters.note(if old.is_null() { Direction::Write } else { Direction::Read });
        self.note_near(to.pe);
    }

    /// [`Issuer::put_signal`] of one of the context's operations, which may be to a PE of this node.
    ///
    /// # Safety
    /// As for [`Issuer::put_signal`].
    pub(crate) unsafe fn put_signal(
        &self,
        call: &'static str,
        to: Remote,
        source: *const u8,
        n: usize,
        signal: Remote,
        update: SignalUpdate,
    ) {
        // SAFETY: the arguments go unchanged to the issuer, which asks for the promise that our caller has made.
        self.issue(call, Some(to.pe), |lane| unsafe { lane.put_signal(to, source, n, signal, update) });
        self.counters.note(Direction::Write);
        self.note_near(to.pe);
    }

    /// Before an operation: threads that have waited for long come first.
    #[inline(always)]
    pub(super) fn begin(&self, call: &'static str) {
        if self.impatient.load(Relaxed) > 0 {
            self.hold_back(call);
        }
    }

    /// Something has been issued by network that may be to a PE of this node.
    #[inline(always)]
    fn note_near(&self, pe: u32) {
        if network::does_atomics() && may_have_window(pe) {
            self.look_whether_near(pe);
        }
    }

    #[cold]
    #[inline(never)]
    fn look_whether_near(&self, pe: u32) {
        if job::window_of(pe).is_some() {
            self.near.store(true, Relaxed);
        }
    }
}

/// How many of `n` bytes a lane has taken, unless it has taken all.
#[inline(always)]
fn incomplete(first: Result<usize, Busy>, n: usize) -> Option<usize> {
    match first {
        Ok(done) if done >= n => None,
        first => Some(first.unwrap_or(0)),
    }
}
