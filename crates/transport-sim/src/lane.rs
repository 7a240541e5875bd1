//! The operations of one context: each call is a step, and what it issues waits in the queue of its PE.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use oxshmem_base::Error;
use oxshmem_transport::{
    Account, AtomicArguments, AwaitedState, Busy, Failed, GetArguments, Lane, OperationLock, PutArguments, Remote,
    SignalUpdate, WORD_BY_WORD, Width,
};

use crate::network::{Pe, describe};
use crate::operation::{LanePlace, Movement, Operation, PutSource, parts};
use crate::queue::OperationQueue;
use crate::turns::StepKind;

/// The bytes of a destination to which a get or a fetch has not delivered.
const POISON: u8 = 0xA5;

/// The operations of one context.
pub(crate) struct SimLane {
    pe: Arc<Pe>,
    number: u64,
    account: Arc<Account>,
    /// The operations for whose results callers wait.
    awaited: Arc<Account>,
    /// Taken once for an operation, as by every provider.
    issuing: OperationLock<()>,
    /// Fences so far, and those with the fences of puts and of signals. Relaxed: a thread orders its own operations.
    era: AtomicU64,
    put_era: AtomicU64,
    signal_era: AtomicU64,
}

impl SimLane {
    pub(crate) fn new(pe: Arc<Pe>) -> Self {
        let number = pe.queue.lock().new_lane();
        let [era, put_era, signal_era] = [0; 3].map(AtomicU64::new);
        let [account, awaited] = [(); 2].map(|()| Arc::default());
        Self { pe, number, account, awaited, issuing: OperationLock::default(), era, put_era, signal_era }
    }

    /// Issues what `begin` puts into the queue, unless there is no room, or the network pretends that there is none.
    fn issue<R>(&self, begin: impl FnOnce(&mut OperationQueue) -> R) -> Result<R, Busy> {
        let pe = &self.pe;
        let is_full = pe.queue.lock().is_full(self.number);
        // A caller that finds no room waits for the network, as in a look in vain.
        pe.step(if is_full { StepKind::LookAgain } else { StepKind::Act });
        let _operation = self.issuing.lock();
        let mut queue = pe.queue.lock();
        if queue.is_full(self.number) || self.is_moody() && pe.chance().one_in(24) {
            return Err(Busy);
        }
        let result = begin(&mut queue);
        pe.count(&queue);
        drop(queue);
        // A kind network has done it before its caller goes on. No thread takes the turn from a caller that waits for
        // the memory of a peer.
        if !self.is_moody() {
            pe.hold_turn();
            while self.outstanding() > 0 {
                pe.effect();
            }
            pe.arena().inside.store(0, Relaxed);
        }
        Ok(result)
    }

    /// Whether the network does what it may do, and not what it should.
    fn is_moody(&self) -> bool {
        !self.pe.plan.is_kind(self.pe.arena().step.load(Relaxed))
    }

    fn place(&self, after: Option<u64>) -> LanePlace {
        let eras = [&self.era, &self.put_era, &self.signal_era];
        let [era, put_era, signal_era] = eras.map(|counter| counter.load(Relaxed));
        LanePlace { since: self.pe.arena().step.load(Relaxed), lane: self.number, era, put_era, signal_era, after }
    }

    /// Adds an operation on `n` bytes to the queue, in parts as the network cuts them; an object is updated as a whole. A signal comes
    /// `after` its put. Returns the number of the operation.
    fn push(
        &self,
        queue: &mut OperationQueue,
        account: &Arc<Account>,
        after: Option<u64>,
        to: Remote,
        action: Movement,
        n: usize,
    ) -> u64 {
        let whole = matches!(action, Movement::Amo(..)) || !self.is_moody();
        let parts = parts(n, to.offset, whole, &self.pe.chance());
        let target = self.pe.story.as_ref().map_or_else(String::new, |story| story.target(to, n));
        let (number, place, account) = (queue.new_operation(), self.place(after), account.clone());
        let is_awaited = Arc::ptr_eq(&account, &self.awaited);
        let issued = Operation { number, place, account, to, action, is_awaited, parts, kept: false, target };
        self.pe.note(|| format!("issues {} of {n} bytes", describe(&issued)));
        queue.push(issued);
        number
    }

    /// How much of `n` bytes is issued at once: sometimes less than all of them, in whole words where words must land whole.
    fn at_once(&self, n: usize, offset: u64) -> usize {
        let chance = self.pe.chance();
        if n <= 16 || !self.is_moody() || !chance.one_in(8) {
            return n;
        }
        let less = 1 + chance.below(n - 1);
        if n > WORD_BY_WORD { less } else { n.min((8 - offset as usize % 8) + less / 8 * 8) }
    }

    /// A step of a caller that waits for the lane.
    fn poll(&self) {
        if self.outstanding() > 0 {
            self.pe.step(StepKind::Poll);
        }
    }

    fn error(&self) -> Result<(), Error> {
        self.account.error().or_else(|| self.awaited.error()).map_or(Ok(()), Err)
    }

    /// Begins a get, which counts on this account.
    ///
    /// # Safety
    /// As for `Lane::get_nbi`.
    unsafe fn fetch(&self, get: &GetArguments, account: &Arc<Account>) -> usize {
        let &GetArguments { dest, from, n } = get;
        get.left(self.issue(|queue| {
            let n = self.at_once(n, from.offset);
            if self.is_moody() {
                // SAFETY: the caller promises that the destination is writable until completion, and reads it after that.
                unsafe { ptr::write_bytes(dest, POISON, n) };
            }
            self.push(queue, account, None, from, Movement::Get(dest), n);
            n
        }))
    }

    /// Issues an atomic, which counts on this account.
    ///
    /// # Safety
    /// As for `Lane::amo`.
    unsafe fn update(&self, atomic: &AtomicArguments, account: &Arc<Account>) -> Result<(), Busy> {
        let &AtomicArguments { to, width, amo, old } = atomic;
        self.issue(|queue| {
            if self.is_moody() && !old.is_null() {
                // SAFETY: the caller promises that `old` is writable for `width` bytes until completion.
                unsafe { ptr::write_bytes(old, POISON, width.bytes()) };
            }
            self.push(queue, account, None, to, Movement::Amo(width, amo, old), width.bytes());
        })
    }
}

// SAFETY: buffers are touched only while the operation is in the queue, or in the call; remote memory only through
// `RegisteredMemory` of its owner.
unsafe impl Lane for SimLane {
    unsafe fn put(&self, put: &PutArguments) -> usize {
        let &PutArguments { to, source, n } = put;
        put.left(self.issue(|queue| {
            let n = self.at_once(n, to.offset);
            let mut copy = vec![0; n].into_boxed_slice();
            // SAFETY: the caller promises that the source is readable for at least `n` bytes; `copy` has as many.
            unsafe { ptr::copy(source, copy.as_mut_ptr(), n) };
            self.push(queue, &self.account, None, to, Movement::Put(PutSource::Copied(copy)), n);
            n
        }))
    }

    unsafe fn put_nbi(&self, put: &PutArguments) -> usize {
        let &PutArguments { to, source, n } = put;
        put.left(self.issue(|queue| {
            let n = self.at_once(n, to.offset);
            self.push(queue, &self.account, None, to, Movement::Put(PutSource::Borrowed(source)), n);
            n
        }))
    }

    unsafe fn get_nbi(&self, get: &GetArguments) -> usize {
        // SAFETY: our caller has made the same promise.
        unsafe { self.fetch(get, &self.account) }
    }

    unsafe fn get_awaited(&self, get: &GetArguments) -> usize {
        // SAFETY: our caller has made the same promise.
        unsafe { self.fetch(get, &self.awaited) }
    }

    unsafe fn amo(&self, atomic: &AtomicArguments) -> Result<(), Busy> {
        // SAFETY: our caller has made the same promise.
        unsafe { self.update(atomic, &self.account) }
    }

    unsafe fn amo_awaited(&self, atomic: &AtomicArguments) -> Result<(), Busy> {
        // SAFETY: our caller has made the same promise.
        unsafe { self.update(atomic, &self.awaited) }
    }

    unsafe fn put_signal(&self, put: &PutArguments, signal: Remote, update: SignalUpdate) -> Result<(), Busy> {
        let &PutArguments { to, source, n } = put;
        self.issue(|queue| {
            let put = Movement::Put(PutSource::Signalled(source));
            let data = (n > 0).then(|| self.push(queue, &self.account, None, to, put, n));
            let action = Movement::Amo(Width::Eight, update.amo(), ptr::null_mut());
            self.push(queue, &self.account, data, signal, action, Width::Eight.bytes());
        })
    }

    fn fence(&self) -> Result<(), Busy> {
        self.pe.step(StepKind::Act);
        for era in [&self.era, &self.put_era, &self.signal_era] {
            era.fetch_add(1, Relaxed);
        }
        Ok(())
    }

    fn fence_puts(&self) -> Result<(), Busy> {
        self.pe.step(StepKind::Act);
        self.put_era.fetch_add(1, Relaxed);
        Ok(())
    }

    fn fence_signals(&self) -> Result<(), Busy> {
        self.pe.step(StepKind::Act);
        self.put_era.fetch_add(1, Relaxed);
        self.signal_era.fetch_add(1, Relaxed);
        Ok(())
    }

    fn outstanding(&self) -> u64 {
        self.account.outstanding() + self.awaited.outstanding()
    }

    fn has_failed(&self) -> bool {
        self.account.has_failed() || self.awaited.has_failed()
    }

    fn progress(&self) -> Result<usize, Error> {
        self.poll();
        self.error().map(|()| 0)
    }

    fn poll_awaited(&self) -> Result<AwaitedState, Failed> {
        if self.awaited.outstanding() > 0 {
            self.poll();
        }
        self.awaited_state(self.awaited.outstanding())
    }

    fn poll_local_completion(&self) -> Result<bool, Error> {
        self.poll();
        self.error()?;
        let mut queue = self.pe.queue.lock();
        let its = || queue.operations.iter().filter(|operation| operation.place.lane == self.number);
        let is_free = !its().any(|operation| operation.needs_caller());
        if is_free {
            let its = queue.operations.iter_mut().filter(|operation| operation.place.lane == self.number);
            its.for_each(|operation| operation.kept = true);
        }
        Ok(is_free)
    }
}
