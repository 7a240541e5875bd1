//! The operations of a context. Nearly always the lane takes an operation as a whole at once; all other cases are in functions of their
//! own.

use std::sync::atomic::Ordering::Relaxed;

use oxshmem_base::planted;
use oxshmem_transport::{
    Amo, AtomicArguments, AwaitedState, GetArguments, Lane, PutArguments, Remote, SignalUpdate, Width,
    signal_behind_puts,
};

use super::{ContextLane, Direction};
use crate::wait::{self, Needs};

/// The arguments of an operation with the name of its call. They have one place in memory, from which the code that issues the rest, or
/// waits, reads them again.
struct NamedArguments<A> {
    arguments: A,
    call: &'static str,
}

struct PutWithSignal {
    put: NamedArguments<PutArguments>,
    signal: Remote,
    update: SignalUpdate,
}

impl ContextLane {
    /// `Issuer::put` of one of the context's operations.
    ///
    /// # Safety
    /// As for `Lane::put`.
    #[inline(always)]
    pub(crate) unsafe fn put(&self, call: &'static str, to: Remote, source: *const u8, n: usize) {
        self.begin(call, Some(to.pe));
        let put = NamedArguments { arguments: PutArguments { to, source, n }, call };
        // SAFETY: the arguments go unchanged to the lane, which asks for the promise that our caller has made.
        let left = unsafe { self.puts.put(&put.arguments) };
        if left > 0 {
            // SAFETY: the rest is a part of what the caller has promised.
            unsafe { self.put_rest(&put, left) };
        }
        self.counters.note(Direction::Write);
    }

    /// Puts the last `left` bytes, which a lane has not taken at once.
    ///
    /// # Safety
    /// As for `Lane::put`.
    #[cold]
    #[inline(never)]
    unsafe fn put_rest(&self, put: &NamedArguments<PutArguments>, left: usize) {
        let PutArguments { to, source, n } = put.arguments.rest(left);
        // SAFETY: the rest is a part of what the caller has promised.
        self.issue(put.call, Some(to.pe), |lane| unsafe { lane.put(to, source, n) });
    }

    /// `Issuer::put_nbi` of one of the context's operations.
    ///
    /// # Safety
    /// As for `Lane::put_nbi`.
    #[inline(always)]
    pub(crate) unsafe fn put_nbi(&self, call: &'static str, to: Remote, source: *const u8, n: usize) {
        self.begin(call, Some(to.pe));
        let put = NamedArguments { arguments: PutArguments { to, source, n }, call };
        // SAFETY: the arguments stay as the caller has promised.
        unsafe { self.take_put_nbi(self.puts, &put) };
        self.counters.note(Direction::Write);
    }

    /// [`ContextLane::put_nbi`] of a long put, by a caller that calls [`ContextLane::complete_locally`] next.
    ///
    /// # Safety
    /// As for `Lane::put_awaited`.
    pub(crate) unsafe fn put_awaited(&self, call: &'static str, to: Remote, source: *const u8, n: usize) {
        // SAFETY: the arguments stay as the caller has promised.
        self.issue(call, Some(to.pe), |lane| unsafe { lane.put_awaited(to, source, n) });
        self.counters.note(Direction::Write);
    }

    /// Issues all of a put, the first time by this lane.
    ///
    /// # Safety
    /// As for `Lane::put_nbi`.
    #[inline(always)]
    unsafe fn take_put_nbi(&self, by: &dyn Lane, put: &NamedArguments<PutArguments>) {
        // SAFETY: the arguments go unchanged to the lane, which asks for the promise that our caller has made.
        let left = unsafe { by.put_nbi(&put.arguments) };
        if left > 0 {
            // SAFETY: the rest is a part of what the caller has promised, until completion.
            unsafe { self.put_nbi_rest(put, left) };
        }
    }

    /// [`ContextLane::put_rest`], whose source stays.
    ///
    /// # Safety
    /// As for `Lane::put_nbi`.
    #[cold]
    #[inline(never)]
    unsafe fn put_nbi_rest(&self, put: &NamedArguments<PutArguments>, left: usize) {
        let PutArguments { to, source, n } = put.arguments.rest(left);
        // SAFETY: the rest is a part of what the caller has promised, until completion.
        self.issue(put.call, Some(to.pe), |lane| unsafe { lane.put_nbi(to, source, n) });
    }

    /// `Issuer::get_nbi` of one of the context's operations.
    ///
    /// # Safety
    /// As for `Lane::get_nbi`.
    #[inline(always)]
    pub(crate) unsafe fn get_nbi(&self, call: &'static str, dest: *mut u8, from: Remote, n: usize) {
        self.begin(call, Some(from.pe));
        let get = NamedArguments { arguments: GetArguments { dest, from, n }, call };
        // SAFETY: the arguments go unchanged to the lane, which asks for the promise that our caller has made.
        let left = unsafe { self.gets.get_nbi(&get.arguments) };
        if left > 0 {
            // SAFETY: the rest is a part of what the caller has promised, until completion.
            unsafe { self.get_rest(&get, left) };
        }
        self.counters.note(Direction::Read);
    }

    /// [`ContextLane::get_nbi`] that returns when the bytes are there.
    ///
    /// # Safety
    /// `dest` is writable for `n` bytes; `from` has as many inside a region of a PE of the job.
    #[inline(always)]
    pub(crate) unsafe fn get(&self, call: &'static str, dest: *mut u8, from: Remote, n: usize) {
        self.begin(call, Some(from.pe));
        let get = NamedArguments { arguments: GetArguments { dest, from, n }, call };
        // SAFETY: our caller has made the same promise, and the get is complete when this returns.
        unsafe { self.take_get(&get) };
        self.await_by(|| self.wait_for_get(&get));
    }

    /// [`ContextLane::get`] whose bytes are there when [`ContextLane::await_gets`] returns.
    ///
    /// # Safety
    /// As for [`ContextLane::get`], until then.
    pub(crate) unsafe fn begin_get(&self, call: &'static str, dest: *mut u8, from: Remote, n: usize) {
        self.begin(call, Some(from.pe));
        // SAFETY: our caller has made the same promise.
        unsafe { self.take_get(&NamedArguments { arguments: GetArguments { dest, from, n }, call }) };
    }

    /// Issues a get for which the caller waits, and counts it.
    ///
    /// # Safety
    /// As for `Lane::get_awaited`.
    #[inline(always)]
    unsafe fn take_get(&self, get: &NamedArguments<GetArguments>) {
        // SAFETY: the arguments go unchanged to the lane, which asks for the promise that our caller has made.
        let left = unsafe { self.gets.get_awaited(&get.arguments) };
        if left > 0 {
            // SAFETY: the rest is a part of what the caller has promised.
            unsafe { self.awaited_rest(get, left) };
        }
        self.counters.note(Direction::Read);
    }

    /// Returns when what this thread has begun to get from a PE is there.
    pub(crate) fn await_gets(&self, call: &'static str, pe: u32) {
        self.await_by(|| self.wait_until_fetched(call, pe));
    }

    /// Gets the last `left` bytes, which a lane has not taken at once.
    ///
    /// # Safety
    /// As for `Lane::get_nbi`.
    #[cold]
    #[inline(never)]
    unsafe fn get_rest(&self, get: &NamedArguments<GetArguments>, left: usize) {
        let GetArguments { dest, from, n } = get.arguments.rest(left);
        // SAFETY: the rest is a part of what the caller has promised, until completion.
        self.issue(get.call, Some(from.pe), |lane| unsafe { lane.get_nbi(dest, from, n) });
    }

    /// [`ContextLane::get_rest`] of a get for which the caller waits.
    ///
    /// # Safety
    /// As for `Lane::get_awaited`.
    #[cold]
    #[inline(never)]
    unsafe fn awaited_rest(&self, get: &NamedArguments<GetArguments>, left: usize) {
        let GetArguments { dest, from, n } = get.arguments.rest(left);
        // SAFETY: the rest is a part of what the caller has promised, until completion.
        self.issue(get.call, Some(from.pe), |lane| unsafe { lane.get_awaited(dest, from, n) });
    }

    #[cold]
    #[inline(never)]
    fn wait_for_get(&self, get: &NamedArguments<GetArguments>) -> AwaitedState {
        self.wait_until_fetched(get.call, get.arguments.from.pe)
    }

    /// `Issuer::amo` of one of the context's operations, which may be on a PE of this node. With a place for the old value it returns when
    /// that is there.
    ///
    /// # Safety
    /// As for `Lane::amo`.
    #[inline(always)]
    pub(crate) unsafe fn amo(&self, call: &'static str, to: Remote, width: Width, amo: Amo, old: *mut u8) {
        let atomic = NamedArguments { arguments: AtomicArguments { to, width, amo, old }, call };
        let is_awaited = !old.is_null();
        // SAFETY: the arguments stay as the caller has promised.
        unsafe { self.take_amo(&atomic, is_awaited) };
        if is_awaited {
            self.await_by(|| self.wait_for_amo(&atomic));
        }
    }

    /// [`ContextLane::amo`] that does not wait for the old value.
    ///
    /// # Safety
    /// As for `Lane::amo`.
    #[inline(always)]
    pub(crate) unsafe fn amo_nbi(&self, call: &'static str, to: Remote, width: Width, amo: Amo, old: *mut u8) {
        // SAFETY: the arguments stay as the caller has promised.
        unsafe { self.take_amo(&NamedArguments { arguments: AtomicArguments { to, width, amo, old }, call }, false) };
    }

    /// Issues an atomic, and counts it. The caller waits for its old value if it `is_awaited`.
    ///
    /// # Safety
    /// As for `Lane::amo`.
    #[inline(always)]
    unsafe fn take_amo(&self, atomic: &NamedArguments<AtomicArguments>, is_awaited: bool) {
        self.begin(atomic.call, Some(atomic.arguments.to.pe));
        let (by, arguments) = (self.atomics, &atomic.arguments);
        // SAFETY: the arguments go unchanged to the lane, which asks for the promise that our caller has made.
        let issued = unsafe { if is_awaited { by.amo_awaited(arguments) } else { by.amo(arguments) } };
        if issued.is_err() {
            // SAFETY: a busy lane has issued nothing, so one operation uses what the caller has promised.
            unsafe { self.amo_later(atomic, is_awaited) };
        }
        self.counters.note(if atomic.arguments.old.is_null() { Direction::Write } else { Direction::Read });
        self.note_near(atomic.arguments.to.pe);
    }

    /// Issues an atomic that a lane has not taken at once.
    ///
    /// # Safety
    /// As for `Lane::amo`.
    #[cold]
    #[inline(never)]
    unsafe fn amo_later(&self, atomic: &NamedArguments<AtomicArguments>, is_awaited: bool) {
        let AtomicArguments { to, width, amo, old } = atomic.arguments;
        // SAFETY: one operation uses what the caller has promised.
        self.issue(atomic.call, Some(to.pe), |lane| unsafe {
            if is_awaited { lane.amo_awaited(to, width, amo, old) } else { lane.amo(to, width, amo, old) }
        });
    }

    #[cold]
    #[inline(never)]
    fn wait_for_amo(&self, atomic: &NamedArguments<AtomicArguments>) -> AwaitedState {
        self.wait_until_fetched(atomic.call, atomic.arguments.to.pe)
    }

    /// `Issuer::put_signal` of one of the context's operations, which may be to a PE of this node.
    ///
    /// # Safety
    /// As for `Issuer::put_signal`.
    #[inline(always)]
    pub(crate) unsafe fn put_signal(
        &self,
        call: &'static str,
        to: Remote,
        source: *const u8,
        n: usize,
        signal: Remote,
        update: SignalUpdate,
    ) {
        self.begin(call, Some(to.pe));
        let put = NamedArguments { arguments: PutArguments { to, source, n }, call };
        let signalled = PutWithSignal { put, signal, update };
        if self.signals_together(n) {
            // SAFETY: the arguments go unchanged to the lane, which asks for the promise that our caller has made.
            if unsafe { self.lane.put_signal(&signalled.put.arguments, signal, update) }.is_err() {
                // SAFETY: a busy lane has issued nothing, so one operation uses what the caller has promised.
                unsafe { self.signal_later(&signalled) };
            }
        } else {
            // SAFETY: the source stays as the caller has promised, and the signal is aligned. The PE may be this one, so the put is
            // nothing for a lane beneath.
            unsafe {
                self.take_put_nbi(self.lane, &signalled.put);
                if signal_behind_puts(self.atomics, signal, update).is_err() {
                    self.signal_later(&signalled);
                }
            }
        }
        self.counters.note(Direction::Write);
        self.note_near(to.pe);
    }

    /// Whether a put of so many bytes travels with its signal.
    #[inline(always)]
    fn signals_together(&self, n: usize) -> bool {
        self.capabilities.signal.is_some_and(|longest| n <= longest)
    }

    /// Returns when the source of a put with a signal may be reused, to this PE and of so many bytes. For one that the lane has copied it
    /// waits for nothing: long puts of the context may be under way.
    #[inline(always)]
    pub(crate) fn await_source_of_signalled(&self, call: &'static str, pe: u32, n: usize) {
        let is_copied = self.signals_together(n) && n <= self.copied_with_signal;
        if !is_copied {
            self.complete_locally(call, Needs::One(pe));
        }
    }

    /// Issues a signal that a lane has not taken at once, with its put if they travel together.
    ///
    /// # Safety
    /// As for `Issuer::put_signal`.
    #[cold]
    #[inline(never)]
    unsafe fn signal_later(&self, PutWithSignal { put, signal, update }: &PutWithSignal) {
        let PutArguments { to, source, n } = put.arguments;
        // SAFETY: one operation uses what the caller has promised.
        self.issue(put.call, Some(to.pe), |lane| unsafe {
            if self.signals_together(n) {
                lane.put_signal(to, source, n, *signal, *update)
            } else {
                lane.signal_behind_puts(*signal, *update)
            }
        });
    }

    /// Orders everything issued before it before everything that comes after it: the lane's own operations, and the loads and stores that
    /// reach PEs of this node.
    pub(crate) fn fence(&self, call: &'static str) {
        self.begin(call, None);
        if !self.is_ordered() {
            self.issue(call, None, |lane| lane.fence());
        }
        if let Some(near) = self.near.under_way() {
            self.complete(call);
            self.near.complete(near);
        }
    }

    /// Makes a fence if nothing stands in its way. Returns whether it has: [`ContextLane::fence`] makes it otherwise.
    #[inline(never)]
    pub(crate) fn fence_at_once(&self) -> bool {
        self.impatient.load(Relaxed) == 0 && self.is_ordered() && self.near.under_way().is_none()
    }

    /// Whether the lane orders its operations now.
    #[inline(always)]
    fn is_ordered(&self) -> bool {
        planted!("fence-forgotten", self.lane.fence().is_ok(), true)
    }

    /// Makes the fence if [`ContextLane::fence`] would return at once. Returns whether it is made.
    pub(crate) fn try_fence(&self) -> bool {
        let near = self.near.under_way();
        if near.is_none() && self.lane.fence().is_ok() {
            return true;
        }
        let is_complete = self.is_complete();
        if let Some(near) = near.filter(|_| is_complete) {
            self.near.complete(near);
        }
        is_complete
    }

    /// Before an operation, to a PE if it is for one: threads that have waited for long come first.
    #[inline(always)]
    pub(super) fn begin(&self, call: &'static str, pe: Option<u32>) {
        if self.impatient.load(Relaxed) > 0 {
            self.hold_back(call, pe);
        }
    }

    #[cold]
    fn hold_back(&self, call: &'static str, pe: Option<u32>) {
        let reason = self.reason(call, Needs::Anyone);
        wait::until(reason, None, || self.has_turn(pe).then_some(()));
    }
}
