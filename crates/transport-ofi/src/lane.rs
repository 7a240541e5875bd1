//! The operations of one context.

use std::ptr;
use std::sync::Arc;

use oxshmem_base::Error;
use oxshmem_transport::{
    Account, Amo, AtomicArguments, Busy, Failed, GetArguments, Lane, NotIssued, PutArguments, Remote, SignalUpdate,
    Width,
};
use parking_lot::MutexGuard;

use crate::address::MOST_RAILS;
use crate::delivery::Delivery;
use crate::endpoint::Transfer;
use crate::engine::Engine;
use crate::lane_state::LaneState;
use crate::progress::Net;
use crate::striping::end_of;

pub(crate) struct OfiLane {
    net: Arc<Net>,
    account: Arc<Account>,
    /// Its operations on further rails, if there are any.
    further: Arc<Account>,
    has_further: bool,
    number: u32,
    reads_back: bool,
    /// The longest transfer that may go the straight way (`endpoint::straight`); 0: none.
    straight: usize,
    /// Atomics on other PEs may go the straight way.
    straight_atomics: bool,
    /// Atomics are noted, because a fence cannot leave them to the endpoint.
    notes_atomics: bool,
}

impl OfiLane {
    pub(crate) fn new(net: Arc<Net>) -> Self {
        let (account, further) = (Arc::new(Account::default()), Arc::new(Account::default()));
        let mut engine = net.lock();
        let number = engine.enlist(account.clone(), &further);
        let reads_back = engine.first.objects.info.delivery == Delivery::ReadBack;
        // With several rails the bytes that each moves are counted, but for the shortest transfers.
        let straight = match reads_back || engine.first.counts_datagrams() {
            true => 0,
            false if net.spread < usize::MAX => net.inject,
            false => engine.first.longest,
        };
        drop(engine);
        let (has_further, notes_atomics) = (net.spread < usize::MAX, !net.atomics_ordered);
        let straight_atomics = net.atomics && !notes_atomics && straight >= Width::Eight.bytes();
        Self { net, account, further, has_further, number, reads_back, straight, straight_atomics, notes_atomics }
    }

    /// The account of its operations on further rails, if there are any.
    #[inline(always)]
    fn further(&self) -> Option<&Account> {
        self.has_further.then_some(&*self.further)
    }

    /// Whether a transfer of `n` bytes may go the straight way.
    #[inline(always)]
    fn may_go_straight(&self, n: usize) -> bool {
        n.wrapping_sub(1) < self.straight
    }

    /// A transfer that does not go the straight way.
    ///
    /// # Safety
    /// As for the operations of a `Lane`.
    #[inline(never)]
    unsafe fn transfer(
        &self,
        engine: MutexGuard<'_, Engine>,
        remote: Remote,
        transfer: Transfer,
        n: usize,
    ) -> Result<usize, Busy> {
        let mut engine = self.net.keep(engine);
        let spread = n >= self.net.spread;
        let put = transfer.is_put();
        if spread && put && self.state(&mut engine).fenced {
            if self.outstanding() > 0 {
                return Err(Busy);
            }
            self.state(&mut engine).fenced = false;
        }
        let delivery = self.delivery(&mut engine, put && !spread);
        // Where the last piece went by each rail. Another rail may have no window for that place.
        let mut last = [None; MOST_RAILS];
        // SAFETY: the local buffer has `n` bytes until completion, which this function demands; pieces lie inside of it.
        let issued = unsafe {
            if spread {
                engine.spread(self.number, remote, transfer, n, &mut last)
            } else {
                let issued = engine.transfer(self.number, remote, transfer, delivery, n);
                issued.inspect(|&done| last[0] = end_of(remote, done))
            }
        };
        if self.reads_back && put && issued.is_ok() {
            self.state(&mut engine).habit.note_message();
        }
        if delivery == Delivery::ReadBack && put && issued.is_ok() {
            let places = (0..).zip(last).filter_map(|(rail, place)| Some((rail, place?)));
            places.for_each(|(rail, place)| self.note_unread(self.state(&mut engine), rail, place));
        }
        drop(engine);
        self.account.settle(issued, n)
    }

    /// When the next transfer completes. A put for whose completion the program is likely to wait next is acknowledged, which takes one
    /// message less than a read behind it.
    fn delivery(&self, engine: &mut Engine, may_be_acknowledged: bool) -> Delivery {
        if !self.reads_back {
            return Delivery::Complete;
        }
        let acknowledges = may_be_acknowledged && engine.first.objects.info.acknowledges;
        if acknowledges && self.state(engine).habit.expects_wait() { Delivery::Complete } else { Delivery::ReadBack }
    }

    /// A put that does not go the straight way. Returns how many bytes at the end are left.
    ///
    /// # Safety
    /// The source has its bytes; until completion unless it is `copied`.
    #[inline(never)]
    unsafe fn put_apart(&self, engine: MutexGuard<'_, Engine>, put: &PutArguments, copied: bool) -> usize {
        let &PutArguments { to, source, n } = put;
        // A put that is so short that the call sends it is cheaper to copy.
        let copied = copied || n <= self.net.inject;
        let transfer = if copied { Transfer::PutCopied(source) } else { Transfer::PutInPlace(source) };
        // SAFETY: the source has `n` bytes as long as our caller promises.
        put.left(unsafe { self.transfer(engine, to, transfer, n) })
    }

    /// A get likewise.
    ///
    /// # Safety
    /// The destination has its bytes until completion.
    #[inline(never)]
    unsafe fn get_apart(&self, engine: MutexGuard<'_, Engine>, get: &GetArguments) -> usize {
        // SAFETY: the destination has its bytes until completion, by the caller's promise.
        get.left(unsafe { self.transfer(engine, get.from, Transfer::Get(get.dest), get.n) })
    }

    /// An atomic that does not go the straight way.
    ///
    /// # Safety
    /// As for `Lane::amo`.
    #[inline(never)]
    unsafe fn update(&self, engine: MutexGuard<'_, Engine>, atomic: &AtomicArguments) -> Result<(), Busy> {
        let &AtomicArguments { to, width, amo, old } = atomic;
        let mut engine = self.net.keep(engine);
        if !self.net.atomics {
            let error = Error::new("an atomic has come to a provider that leaves them to software");
            return self.account.settle(Err(error.into()), ());
        }
        // SAFETY: `old` is null or stays until completion, which this function demands.
        let issued = unsafe { engine.atomic(self.number, to, width, amo, old) };
        self.state(&mut engine).unordered |= self.notes_atomics || to.pe == self.net.me;
        drop(engine);
        self.account.settle(issued, ())
    }

    /// The first error of the lane, or the end of the endpoint.
    fn failure(&self) -> Option<Error> {
        if !self.has_failed() {
            return None;
        }
        self.account.error().or_else(|| self.further.error()).or_else(|| self.net.failure())
    }

    fn state<'e>(&self, engine: &'e mut Engine) -> &'e mut LaneState {
        &mut engine.states[self.number as usize]
    }

    fn note_unread(&self, state: &mut LaneState, rail: usize, last: Remote) {
        if state.unread.note(rail, last) {
            self.account.issue_locked(1);
        }
    }

    /// When all puts are complete where that is not enough: reads one byte of each PE, which comes after them.
    #[inline(never)]
    fn read_back(&self, engine: &mut Engine) {
        let count = self.state(engine).unread.count();
        if count == 0 || self.outstanding() > count {
            return;
        }
        let mut unread = std::mem::take(&mut self.state(engine).unread);
        unread.retain(|rail, place| {
            // SAFETY: the scrap is the fabric's and as long as it is open; nobody reads it.
            match unsafe { engine.read_behind(self.number, rail, place, self.net.scrap()) } {
                Err(NotIssued::Busy) => return true,
                Err(NotIssued::Failed(error)) => self.account.fail(*error),
                Ok(()) => {}
            }
            self.account.complete_locked(1);
            false
        });
        self.state(engine).unread = unread;
    }

    /// Whether the first rail's order says nothing of some put, because it took another rail.
    fn is_abroad(&self, state: &LaneState) -> bool {
        self.further().is_some_and(|further| further.outstanding() > 0 || state.unread.are_abroad())
    }
}

// SAFETY: sources are copied, or read by the endpoint until it reports completion, which comes before the account says
// so; destinations likewise. Remote memory is bounded by the windows that its owner has registered.
unsafe impl Lane for OfiLane {
    unsafe fn put(&self, put: &PutArguments) -> usize {
        let mut engine = self.net.lock_briefly();
        // SAFETY: the source is copied; the caller promises its bytes.
        if self.may_go_straight(put.n) && unsafe { engine.first.put_straight(&self.account, put, true) } {
            return 0;
        }
        // SAFETY: the source is copied; the caller promises its bytes.
        unsafe { self.put_apart(engine, put, true) }
    }

    unsafe fn put_nbi(&self, put: &PutArguments) -> usize {
        let mut engine = self.net.lock_briefly();
        // SAFETY: the source stays until completion, by the caller's promise.
        if self.may_go_straight(put.n) && unsafe { engine.first.put_straight(&self.account, put, false) } {
            return 0;
        }
        // SAFETY: the source stays until completion, by the caller's promise.
        unsafe { self.put_apart(engine, put, false) }
    }

    unsafe fn get_nbi(&self, get: &GetArguments) -> usize {
        let mut engine = self.net.lock_briefly();
        // SAFETY: the destination stays until completion, by the caller's promise.
        if self.may_go_straight(get.n) && unsafe { engine.first.get_straight(&self.account, get) } {
            return 0;
        }
        // SAFETY: the destination stays until completion, by the caller's promise.
        unsafe { self.get_apart(engine, get) }
    }

    /// In the network's domain every atomic is the endpoint's. Otherwise atomics are messages (see `amo`), which the software
    /// around this provider makes.
    unsafe fn amo(&self, atomic: &AtomicArguments) -> Result<(), Busy> {
        let mut engine = self.net.lock_briefly();
        if self.straight_atomics
            && atomic.to.pe != self.net.me
            // SAFETY: `old` is null or stays until completion, by the caller's promise.
            && unsafe { engine.first.update_straight(&self.account, atomic) }
        {
            return Ok(());
        }
        // SAFETY: `old` is null or stays until completion, by the caller's promise.
        unsafe { self.update(engine, atomic) }
    }

    unsafe fn put_signal(&self, _put: &PutArguments, _signal: Remote, _update: SignalUpdate) -> Result<(), Busy> {
        let error = Error::new("a put with signal has come to a provider that has none");
        self.account.settle(Err(error.into()), ())
    }

    /// Free where the endpoint keeps the order and everything went by it; otherwise the lane must be empty.
    fn fence(&self) -> Result<(), Busy> {
        let mut engine = self.net.lock();
        if self.outstanding() == 0 {
            // Nothing is unread either, because that counts as outstanding.
            let state = self.state(&mut engine);
            (state.fenced, state.unordered) = (false, false);
            return Ok(());
        }
        let state = self.state(&mut engine);
        let ordered = if self.net.atomics { self.net.atomics_ordered && !state.unordered } else { self.net.ordered };
        if !ordered || self.is_abroad(state) {
            return Err(Busy);
        }
        state.fenced = true;
        Ok(())
    }

    unsafe fn amo_behind_puts(&self, to: Remote, amo: Amo) -> Result<(), Busy> {
        let (width, old) = (Width::Eight, ptr::null_mut());
        let mut engine = self.net.lock_briefly();
        if self.has_failed() {
            return Ok(());
        }
        // The endpoint keeps puts and atomics in order, and no put is on another rail.
        if self.straight_atomics
            && to.pe != self.net.me
            && self.further().is_none_or(|further| further.outstanding() == 0)
            // SAFETY: no old value is asked for.
            && unsafe { engine.first.update_straight(&self.account, &AtomicArguments { to, width, amo, old }) }
        {
            return Ok(());
        }
        drop(engine);
        self.fence_puts()?;
        // An operation that was outstanding may have failed meanwhile.
        if self.has_failed() {
            return Ok(());
        }
        // SAFETY: no old value is asked for; our caller has made the promise about the object.
        unsafe { self.amo(&AtomicArguments { to, width, amo, old }) }
    }

    /// The message's answer stands for a read behind the puts. That is so on one rail without atomics of the network's: a fence of the
    /// others takes it that puts have arrived when nothing of the lane is outstanding, and the answer is still to come then.
    fn send_behind_puts(&self, pe: u32, send: &mut dyn FnMut() -> Result<(), Busy>) -> Result<(), Busy> {
        if !self.reads_back || !self.net.messages_follow || self.has_further || self.net.atomics {
            return send();
        }
        // Before the message: another thread may issue a put while it is sent, which is noted for itself.
        let unread = self.state(&mut self.net.lock()).unread.take(0, pe);
        let sent = send();
        if let Some(place) = unread {
            let mut engine = self.net.lock();
            if sent.is_ok() || !self.state(&mut engine).unread.note(0, place) {
                self.account.complete_locked(1);
            }
        }
        sent
    }

    fn outstanding(&self) -> u64 {
        self.account.outstanding() + self.further().map_or(0, Account::outstanding)
    }

    #[inline(always)]
    fn has_failed(&self) -> bool {
        self.account.has_failed() || self.further().is_some_and(Account::has_failed) || self.net.is_broken()
    }

    fn progress(&self) -> Result<usize, Error> {
        let before = self.outstanding();
        self.net.drain_with(|engine| {
            if self.reads_back {
                self.read_back(engine);
            }
        });
        self.failure().map_or(Ok(before.saturating_sub(self.outstanding()) as usize), Err)
    }

    fn poll_completion(&self) -> Result<bool, Failed> {
        self.net.poll_with(|engine| {
            if self.reads_back {
                self.state(engine).habit.note_wait();
                self.read_back(engine);
            }
        });
        self.completion()
    }

    /// A put that is to be read back has left its source before.
    fn poll_local_completion(&self) -> Result<bool, Error> {
        // Both numbers under one lock: another thread may take a put from those that are unread meanwhile.
        let mut is_free = false;
        self.net.drain_with(|engine| is_free = self.outstanding() == self.state(engine).unread.count());
        self.failure().map_or(Ok(is_free), Err)
    }
}

impl Drop for OfiLane {
    fn drop(&mut self) {
        // Completions that still come must not find another lane under this number.
        if self.outstanding() == 0 {
            self.net.lock().delist(self.number);
        }
    }
}
