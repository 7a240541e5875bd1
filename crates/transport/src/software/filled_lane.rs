//! A provider's lane with everything filled in. What the provider does alone goes to it at once.

use std::ptr;
use std::sync::Arc;

use oxshmem_base::Error;

use super::by_messages::{ByMessages, Unacknowledged};
use super::requester::Requester;
use crate::{
    Account, Amo, AtomicArguments, AwaitedState, Busy, Failed, GetArguments, Lane, LanesBeneath, OutOfRange,
    PutArguments, RegisteredMemory, Remote, SignalUpdate, TargetTask, Width, deliver_old,
};

pub(super) struct FilledLane {
    pub(super) me: u32,
    pub(super) lane: Box<dyn Lane>,
    pub(super) memory: Arc<RegisteredMemory>,
    /// All atomics of the job are the network's, those of a PE on itself too.
    pub(super) by_network: bool,
    /// Errors of operations of this PE on itself.
    pub(super) own: Account,
    pub(super) asked: Option<ByMessages>,
}

/// The bytes of a put.
///
/// # Safety
/// `source` is readable for `n` bytes, which no thread writes while the slice is used.
unsafe fn bytes<'s>(source: *const u8, n: usize) -> &'s [u8] {
    // SAFETY: the source is readable for `n` bytes, as this function demands; an empty slice needs no address.
    if n == 0 { &[] } else { unsafe { std::slice::from_raw_parts(source, n) } }
}

impl FilledLane {
    /// An operation of this PE on itself has been done, or is wrong.
    fn here(&self, outcome: Result<(), OutOfRange>) {
        if let Err(wrong) = outcome {
            self.own.fail(wrong.error(self.me));
        }
    }

    /// Whether a put to this PE is the provider's alone: no message before it could be overtaken, and none is sent in its place.
    #[inline(always)]
    fn passes(&self, pe: u32) -> bool {
        pe != self.me
            && self.asked.as_ref().is_none_or(|asked| {
                asked.unacknowledged == Unacknowledged::None
                    && (!asked.follows || asked.requester.account.outstanding() == 0)
            })
    }

    /// Whether an atomic is the provider's alone.
    #[inline(always)]
    fn is_the_networks(&self, atomic: &AtomicArguments) -> bool {
        self.by_network || self.asked.is_none() && atomic.to.pe != self.me
    }

    /// [`Lane::put`] where a message may have to be thought of.
    ///
    /// # Safety
    /// As for `Lane::put`.
    #[inline(never)]
    unsafe fn put_beside(&self, put: &PutArguments) -> usize {
        let &PutArguments { to, source, n } = put;
        if to.pe == self.me {
            // SAFETY: the caller promises that the source is readable for `n` bytes.
            self.here(unsafe { self.memory.put(to.region, to.offset, source, n) });
            return 0;
        }
        if let Some(requester) = self.asked.as_ref().and_then(|asked| asked.sends_put(to.pe, n)) {
            // SAFETY: the caller promises that the source is readable for `n` bytes; the message has a copy.
            let data = unsafe { bytes(source, n) };
            let task = TargetTask::Put { to: to.position(), signal: None };
            return put.left(requester.send_unacknowledged(to.pe, task, data).map(|()| n));
        }
        if !self.may_put_to(to.pe) {
            return n;
        }
        // SAFETY: the arguments go unchanged to the inner lane, which asks for the promise that our caller has made.
        unsafe { self.lane.put(put) }
    }

    /// [`Lane::put_nbi`] likewise.
    ///
    /// # Safety
    /// As for `Lane::put_nbi`.
    #[inline(never)]
    unsafe fn put_nbi_beside(&self, put: &PutArguments) -> usize {
        let (pe, n) = (put.to.pe, put.n);
        let by_message = || self.asked.as_ref().is_some_and(|asked| asked.sends_put(pe, n).is_some());
        if pe == self.me || by_message() {
            // SAFETY: the source is readable for `n` bytes until completion; `put` needs it during the call.
            return unsafe { self.put_beside(put) };
        }
        if !self.may_put_to(pe) {
            return n;
        }
        // SAFETY: the arguments go unchanged to the inner lane, which asks for the promise that our caller has made.
        unsafe { self.lane.put_nbi(put) }
    }

    /// [`Lane::get_nbi`] where this layer has a part in it. `None`: the provider's lane takes it.
    ///
    /// # Safety
    /// As for `Lane::get_nbi`.
    #[inline]
    unsafe fn get_beside(&self, get: &GetArguments) -> Option<usize> {
        let &GetArguments { dest, from, n } = get;
        if from.pe == self.me {
            // SAFETY: the caller promises that the destination is writable for `n` bytes.
            self.here(unsafe { self.memory.get(dest, from.region, from.offset, n) });
            return Some(0);
        }
        let requester = self.asked.as_ref()?.sends_get(n)?;
        // SAFETY: the destination is writable until completion, by the caller's promise.
        Some(get.left(unsafe { requester.get(get) }.map(|()| n)))
    }

    /// [`Lane::amo`] where the provider has none, or on this PE's own memory.
    ///
    /// # Safety
    /// As for `Lane::amo`.
    #[inline(never)]
    unsafe fn amo_beside(&self, atomic: &AtomicArguments) -> Result<(), Busy> {
        let &AtomicArguments { to, width, amo, old } = atomic;
        if to.pe == self.me {
            let outcome = self.memory.amo(to.region, to.offset, width, amo);
            // SAFETY: the caller promises that `old` is null or writable.
            self.here(outcome.map(|value| unsafe { deliver_old(old, width, value) }));
            return Ok(());
        }
        let task = TargetTask::Amo { at: to.position(), width, amo };
        match &self.asked {
            Some(asked) if old.is_null() => asked.request(to.pe, task, &[]),
            // SAFETY: the caller keeps `old` until completion.
            Some(asked) => unsafe { asked.requester.ask(to.pe, task, &[], old) },
            // SAFETY: the arguments go unchanged to the inner lane, which asks for the promise that our caller has made.
            None => unsafe { self.lane.amo(atomic) },
        }
    }

    /// [`Lane::amo_behind_puts`] where this layer has a part in it.
    ///
    /// # Safety
    /// As for `Lane::amo_behind_puts`.
    #[inline(never)]
    unsafe fn amo_behind_puts_beside(&self, to: Remote, amo: Amo) -> Result<(), Busy> {
        self.fence_puts()?;
        if self.has_failed() {
            return Ok(());
        }
        // SAFETY: null asks for no old value; our caller has made the promise about the object.
        unsafe { self.amo(&AtomicArguments { to, width: Width::Eight, amo, old: ptr::null_mut() }) }
    }

    /// [`Lane::poll_completion`] where this layer has operations of its own, or one of them has failed.
    #[inline(never)]
    fn poll_both(&self) -> Result<bool, Failed> {
        // Before it: the answers to these questions show that puts have arrived.
        if let Some(asked) = self.asked.as_ref().filter(|asked| asked.follows) {
            asked.requester.mark_behind_puts(&*self.lane);
        }
        self.lane.poll_completion()?;
        // Behind it, as in `progress`.
        if let Some(asked) = &self.asked {
            asked.requester.collect();
        }
        self.completion()
    }

    /// The first error of operations that this layer does.
    #[inline]
    fn failure(&self) -> Option<Error> {
        let asked = self.asked.as_ref().map(|asked| &asked.requester.account);
        [asked, Some(&self.own)].into_iter().flatten().find(|account| account.has_failed())?.error()
    }

    /// Whether a put may be issued now without overtaking an atomic that a fence has put before it.
    fn may_put_to(&self, pe: u32) -> bool {
        self.asked.as_ref().is_none_or(|asked| !asked.follows || !asked.requester.may_be_overtaken(pe))
    }
}

// SAFETY: buffers are handed on to the inner lane under the same promises, or used before the call returns; `old` is written
// before completion; this PE's own memory is bounded by what it has registered.
unsafe impl Lane for FilledLane {
    unsafe fn put(&self, put: &PutArguments) -> usize {
        // SAFETY: our caller has made the promise that either function asks for.
        unsafe { if self.passes(put.to.pe) { self.lane.put(put) } else { self.put_beside(put) } }
    }

    unsafe fn put_nbi(&self, put: &PutArguments) -> usize {
        // SAFETY: our caller has made the promise that either function asks for.
        unsafe { if self.passes(put.to.pe) { self.lane.put_nbi(put) } else { self.put_nbi_beside(put) } }
    }

    unsafe fn put_awaited(&self, put: &PutArguments) -> usize {
        // SAFETY: our caller has made the promise that either function asks for.
        unsafe { if self.passes(put.to.pe) { self.lane.put_awaited(put) } else { self.put_nbi_beside(put) } }
    }

    unsafe fn get_nbi(&self, get: &GetArguments) -> usize {
        // SAFETY: our caller has made the promise that either function asks for.
        unsafe { self.get_beside(get).unwrap_or_else(|| self.lane.get_nbi(get)) }
    }

    unsafe fn amo(&self, atomic: &AtomicArguments) -> Result<(), Busy> {
        // SAFETY: our caller has made the promise that either function asks for.
        unsafe { if self.is_the_networks(atomic) { self.lane.amo(atomic) } else { self.amo_beside(atomic) } }
    }

    unsafe fn get_awaited(&self, get: &GetArguments) -> usize {
        // SAFETY: our caller has made the promise that either function asks for.
        unsafe { self.get_beside(get).unwrap_or_else(|| self.lane.get_awaited(get)) }
    }

    unsafe fn amo_awaited(&self, atomic: &AtomicArguments) -> Result<(), Busy> {
        // SAFETY: our caller has made the promise that either function asks for.
        unsafe { if self.is_the_networks(atomic) { self.lane.amo_awaited(atomic) } else { self.amo_beside(atomic) } }
    }

    /// Without messages, puts, gets and the network's atomics have nothing to do with this layer. Gets have where messages gather.
    fn beneath(&self) -> LanesBeneath<'_> {
        let lane = &*self.lane;
        LanesBeneath {
            puts: self.asked.is_none().then_some(lane),
            gets: self.asked.as_ref().is_none_or(|asked| !asked.requester.service.gathers).then_some(lane),
            atomics: self.by_network.then_some(lane),
        }
    }

    unsafe fn put_signal(&self, put: &PutArguments, signal: Remote, update: SignalUpdate) -> Result<(), Busy> {
        let &PutArguments { to, source, n } = put;
        if to.pe == self.me {
            // SAFETY: the caller promises that the source is readable for `n` bytes.
            if let Err(wrong) = unsafe { self.memory.put(to.region, to.offset, source, n) } {
                self.own.fail(wrong.error(self.me));
                return Ok(());
            }
            // SAFETY: null asks for no old value; the caller promises an aligned object at `signal`.
            return unsafe {
                self.amo(&AtomicArguments { to: signal, width: Width::Eight, amo: update.amo(), old: ptr::null_mut() })
            };
        }
        if let Some(asked) = &self.asked {
            // SAFETY: the caller promises that the source is readable for `n` bytes; the message has a copy.
            let data = unsafe { bytes(source, n) };
            let task = TargetTask::Put { to: to.position(), signal: Some((signal.position(), update)) };
            return asked.request(to.pe, task, data);
        }
        // SAFETY: the arguments go unchanged to the inner lane, which asks for the promise that our caller has made.
        unsafe { self.lane.put_signal(put, signal, update) }
    }

    /// A message has a copy, too, but the wait for its source moves messages on.
    fn copied_with_signal(&self) -> usize {
        if self.asked.is_some() { 0 } else { self.lane.copied_with_signal() }
    }

    /// Atomics made of messages know nothing of the inner lane's order, unless they follow it: both sides are complete then.
    fn fence(&self) -> Result<(), Busy> {
        match &self.asked {
            Some(ByMessages { follows: false, .. }) if self.outstanding() > 0 => Err(Busy),
            Some(ByMessages { follows: false, .. }) => Ok(()),
            Some(ByMessages { requester, .. }) => {
                requester.fence();
                // The peer may wait for the flag that follows.
                requester.service.note_fence();
                self.lane.fence()
            }
            None => self.lane.fence(),
        }
    }

    /// Signals are messages, which stay in order by themselves. Where they do not follow the puts, all is complete.
    fn fence_signals(&self) -> Result<(), Busy> {
        if self.asked.is_some() { self.fence_puts() } else { self.lane.fence_signals() }
    }

    /// A message follows the puts by itself, but for those that the inner lane must wait for.
    fn fence_puts(&self) -> Result<(), Busy> {
        match &self.asked {
            Some(ByMessages { follows: false, .. }) => self.fence(),
            _ => self.lane.fence_puts(),
        }
    }

    unsafe fn amo_behind_puts(&self, to: Remote, amo: Amo) -> Result<(), Busy> {
        // SAFETY: our caller has made the promise that either function asks for.
        unsafe {
            if self.by_network { self.lane.amo_behind_puts(to, amo) } else { self.amo_behind_puts_beside(to, amo) }
        }
    }

    fn outstanding(&self) -> u64 {
        self.lane.outstanding() + self.asked.as_ref().map_or(0, |asked| asked.requester.account.outstanding())
    }

    fn account(&self) -> Option<usize> {
        self.lane.account()
    }

    /// Messages have room in common.
    fn keeps_peers_apart(&self) -> bool {
        self.asked.is_none() && self.lane.keeps_peers_apart()
    }

    fn has_failed(&self) -> bool {
        let asked = self.asked.as_ref().is_some_and(|asked| asked.requester.account.has_failed());
        asked || self.own.has_failed() || self.lane.has_failed()
    }

    fn progress(&self) -> Result<usize, Error> {
        let done = self.lane.progress()?;
        // Behind it: the provider has taken messages from the network, of which nothing else tells. This may be the caller's last look.
        let collected = self.asked.as_ref().map_or(0, |asked| asked.requester.collect());
        self.failure().map_or(Ok(collected + done), Err)
    }

    fn poll_completion(&self) -> Result<bool, Failed> {
        if self.asked.is_none() && !self.own.has_failed() {
            return self.lane.poll_completion();
        }
        self.poll_both()
    }

    fn poll_completion_for(&self, pes: &[u32]) -> Result<bool, Failed> {
        if self.asked.is_none() && !self.own.has_failed() {
            return self.lane.poll_completion_for(pes);
        }
        self.poll_both()
    }

    /// Messages have no account for what is awaited.
    fn poll_awaited(&self) -> Result<AwaitedState, Failed> {
        if self.asked.is_none() && !self.own.has_failed() {
            return self.lane.poll_awaited();
        }
        Ok(if self.poll_both()? { AwaitedState::Idle } else { AwaitedState::UnderWay })
    }

    fn poll_awaited_from(&self, pe: u32) -> Result<AwaitedState, Failed> {
        if self.asked.is_none() && !self.own.has_failed() {
            return self.lane.poll_awaited_from(pe);
        }
        self.poll_awaited()
    }

    /// A message has a copy of what it carries, but for the place of an old value.
    fn poll_local_completion(&self) -> Result<bool, Error> {
        let requester = self.asked.as_ref().map(|asked| &asked.requester);
        let expects = requester.is_some_and(Requester::expects_values);
        let free = self.lane.poll_local_completion()?;
        self.failure().map_or(Ok(free && !expects), Err)
    }

    fn poll_local_completion_to(&self, pe: u32) -> Result<bool, Error> {
        if self.asked.is_some() {
            return self.poll_local_completion();
        }
        let free = self.lane.poll_local_completion_to(pe)?;
        self.failure().map_or(Ok(free), Err)
    }
}
