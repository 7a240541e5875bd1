//! Whole operations, made of what a lane takes at once.

use oxshmem_base::planted;
use std::ptr;

use crate::{Amo, AtomicArguments, Busy, Capabilities, GetArguments, Lane, PutArguments, Remote, SignalUpdate, Width};

/// How the caller waits: returns when the attempt, which it calls again and again, has returned `true`. Between two attempts
/// it serves peers.
pub type Wait<'w> = dyn Fn(&mut dyn FnMut() -> bool) + 'w;

/// Issues as much of the last bytes of an operation, whose number it gets, as the lane takes. Returns how many are left.
type IssueRest<'i> = dyn FnMut(&dyn Lane, usize) -> usize + 'i;

/// Issues operations of any length on a lane, and waits as its caller wants it where the lane is busy.
pub struct Issuer<'l> {
    lane: &'l dyn Lane,
    /// Longest put that travels with its signal.
    signal: Option<usize>,
    wait: &'l Wait<'l>,
}

impl<'l> Issuer<'l> {
    /// Issues on `lane`, a lane of a fabric with these capabilities.
    #[inline]
    pub fn new(lane: &'l dyn Lane, capabilities: &Capabilities, wait: &'l Wait<'l>) -> Self {
        Self { lane, signal: capabilities.signal, wait }
    }

    /// [`Lane::put`] of all bytes: the source may be reused on return.
    ///
    /// # Safety
    /// As for `Lane::put`.
    #[inline]
    pub unsafe fn put(&self, to: Remote, source: *const u8, n: usize) {
        let put = PutArguments { to, source, n };
        // SAFETY: the arguments go unchanged to the lane, which asks for the promise that our caller has made.
        let left = unsafe { self.lane.put(&put) };
        // SAFETY: each piece is a part of what the caller has promised, and copied when the call returns.
        self.rest(left, &mut |lane, left| unsafe { lane.put(&put.rest(left)) });
    }

    /// [`Lane::put_nbi`] of all bytes.
    ///
    /// # Safety
    /// As for `Lane::put_nbi`.
    #[inline]
    pub unsafe fn put_nbi(&self, to: Remote, source: *const u8, n: usize) {
        let put = PutArguments { to, source, n };
        // SAFETY: the arguments go unchanged to the lane, which asks for the promise that our caller has made.
        let left = unsafe { self.lane.put_nbi(&put) };
        // SAFETY: each piece is a part of what the caller has promised, until completion.
        self.rest(left, &mut |lane, left| unsafe { lane.put_nbi(&put.rest(left)) });
    }

    /// [`Lane::put_awaited`] of all bytes.
    ///
    /// # Safety
    /// As for `Lane::put_awaited`.
    pub unsafe fn put_awaited(&self, to: Remote, source: *const u8, n: usize) {
        let put = PutArguments { to, source, n };
        // SAFETY: the arguments go unchanged to the lane, which asks for the promise that our caller has made.
        let left = unsafe { self.lane.put_awaited(&put) };
        // SAFETY: each piece is a part of what the caller has promised, until completion.
        self.rest(left, &mut |lane, left| unsafe { lane.put_awaited(&put.rest(left)) });
    }

    /// [`Lane::get_nbi`] of all bytes.
    ///
    /// # Safety
    /// As for `Lane::get_nbi`.
    #[inline]
    pub unsafe fn get_nbi(&self, dest: *mut u8, from: Remote, n: usize) {
        let get = GetArguments { dest, from, n };
        // SAFETY: the arguments go unchanged to the lane, which asks for the promise that our caller has made.
        let left = unsafe { self.lane.get_nbi(&get) };
        // SAFETY: each piece is a part of what the caller has promised, until completion.
        self.rest(left, &mut |lane, left| unsafe { lane.get_nbi(&get.rest(left)) });
    }

    /// [`Lane::get_awaited`] of all bytes.
    ///
    /// # Safety
    /// As for `Lane::get_awaited`.
    pub unsafe fn get_awaited(&self, dest: *mut u8, from: Remote, n: usize) {
        let get = GetArguments { dest, from, n };
        // SAFETY: the arguments go unchanged to the lane, which asks for the promise that our caller has made.
        let left = unsafe { self.lane.get_awaited(&get) };
        // SAFETY: each piece is a part of what the caller has promised, until completion.
        self.rest(left, &mut |lane, left| unsafe { lane.get_awaited(&get.rest(left)) });
    }

    /// [`Lane::amo_awaited`].
    ///
    /// # Safety
    /// As for `Lane::amo_awaited`.
    pub unsafe fn amo_awaited(&self, to: Remote, width: Width, amo: Amo, old: *mut u8) {
        // SAFETY: `old` is writable until completion, and `to` an aligned object: a busy attempt issues nothing, so one operation uses
        // them.
        self.insist(|lane| unsafe { lane.amo_awaited(&AtomicArguments { to, width, amo, old }) });
    }

    /// [`Lane::amo`].
    ///
    /// # Safety
    /// As for `Lane::amo`.
    #[inline]
    pub unsafe fn amo(&self, to: Remote, width: Width, amo: Amo, old: *mut u8) {
        // SAFETY: `old` is null or writable until completion, and `to` an aligned object: a busy attempt issues nothing, so one
        // operation uses them.
        self.insist(|lane| unsafe { lane.amo(&AtomicArguments { to, width, amo, old }) });
    }

    /// [`Lane::put_signal`] of any length.
    ///
    /// # Safety
    /// As for `Lane::put_signal`.
    pub unsafe fn put_signal(&self, to: Remote, source: *const u8, n: usize, signal: Remote, update: SignalUpdate) {
        if self.signal.is_some_and(|longest| n <= longest) {
            let put = PutArguments { to, source, n };
            // SAFETY: the source is readable until completion, and the signal aligned: a busy attempt issues nothing.
            self.insist(|lane| unsafe { lane.put_signal(&put, signal, update) });
            return;
        }
        // SAFETY: the source is readable until completion, and the signal aligned; null asks for no old value.
        unsafe {
            self.put_nbi(to, source, n);
            self.signal_behind_puts(signal, update);
        }
    }

    /// The second half of [`Issuer::put_signal`], behind a put that does not travel with its signal.
    ///
    /// # Safety
    /// As for [`signal_behind_puts`].
    pub unsafe fn signal_behind_puts(&self, signal: Remote, update: SignalUpdate) {
        // SAFETY: the signal is aligned, by the caller's promise; a busy attempt issues nothing.
        self.insist(|lane| unsafe { signal_behind_puts(lane, signal, update) });
    }

    /// [`Lane::fence`].
    pub fn fence(&self) {
        self.insist(|lane| lane.fence());
    }

    /// [`Lane::fence_signals`].
    pub fn fence_signals(&self) {
        self.insist(|lane| lane.fence_signals());
    }

    /// Issues the bytes that the first call has left. Mostly there are none.
    #[inline(always)]
    fn rest(&self, left: usize, issue: &mut IssueRest<'_>) {
        if left > 0 {
            self.pieces(left, issue);
        }
    }

    #[cold]
    fn pieces(&self, mut left: usize, issue: &mut IssueRest<'_>) {
        loop {
            let is_well = self.insist(|lane| {
                let before = left;
                left = issue(lane, before);
                if left < before { Ok(()) } else { Err(Busy) }
            });
            if left == 0 || !is_well {
                return;
            }
        }
    }

    /// Tries until the lane is not busy. A lane that has failed is left alone: its error comes back from the next progress.
    /// Returns whether the attempt has succeeded.
    #[inline]
    fn insist(&self, mut attempt: impl FnMut(&dyn Lane) -> Result<(), Busy>) -> bool {
        attempt(self.lane).is_ok() || self.insist_later(&mut attempt)
    }

    #[cold]
    fn insist_later(&self, attempt: &mut dyn FnMut(&dyn Lane) -> Result<(), Busy>) -> bool {
        let mut issued = false;
        (self.wait)(&mut || {
            let failed = self.lane.progress().is_err();
            issued = !failed && attempt(self.lane).is_ok();
            issued || failed
        });
        issued
    }
}

/// Updates the signal of a put that the lane has: [`Lane::amo_behind_puts`].
///
/// # Safety
/// `signal` is an aligned object of 8 bytes inside a region of a PE of the job.
#[inline(always)]
pub unsafe fn signal_behind_puts(lane: &dyn Lane, signal: Remote, update: SignalUpdate) -> Result<(), Busy> {
    // SAFETY: null asks for no old value; our caller has made the promise about the object.
    unsafe {
        if planted!("signal-before-its-data", true, false) {
            lane.amo_behind_puts(signal, update.amo())
        } else {
            lane.amo(&AtomicArguments { to: signal, width: Width::Eight, amo: update.amo(), old: ptr::null_mut() })
        }
    }
}

impl Remote {
    /// The place this number of bytes further on.
    pub const fn plus(self, bytes: usize) -> Self {
        Self { offset: self.offset.wrapping_add(bytes as u64), ..self }
    }
}
