//! The operations of one context.

use std::sync::Arc;

use oxshmem_base::Error;
use oxshmem_transport::{Amo, Lane, OutOfRange, Remote, SignalUpdate, Width, deliver_old};

use crate::account::Account;
use crate::device::Delivery;
use crate::engine::Transfer;
use crate::operation::ROOM;
use crate::progress::Net;
use crate::rails::Count;

pub(crate) struct OfiLane {
    net: Arc<Net>,
    account: Arc<Account>,
    /// What it has on further rails.
    further: Arc<Account>,
    number: u32,
    issued: Count,
    /// Where the last put to each PE went by each rail, if completed puts have to be read back before they can be relied on.
    unread: Vec<Unread>,
    reads_back: bool,
    /// A fence was free because the first rail keeps order: no later put may take another rail and overtake it.
    fenced: bool,
    /// Atomics have been issued since the last wait that a fence cannot leave to the endpoint: it does not order them, or
    /// they are on this PE's own memory, which puts reach without it.
    unordered: bool,
}

struct Unread {
    rail: usize,
    place: Remote,
}

impl OfiLane {
    pub(crate) fn new(net: Arc<Net>) -> Self {
        let (account, further) = (Arc::new(Account::default()), Arc::new(Account::default()));
        let mut engine = net.lock();
        let number = engine.enlist(account.clone(), &further);
        let reads_back = engine.port.info.delivery == Delivery::ReadBack;
        drop(engine);
        Self {
            net,
            account,
            further,
            number,
            issued: Count::default(),
            unread: Vec::new(),
            reads_back,
            fenced: false,
            unordered: false,
        }
    }

    /// # Safety
    /// As for the operations of a `Lane`.
    unsafe fn transfer(&mut self, remote: Remote, transfer: Transfer, n: usize) {
        if n >= self.net.spread {
            // SAFETY: the caller's promise.
            return unsafe { self.spread(remote, transfer, n) };
        }
        let mut engine = self.net.lock();
        // SAFETY: the caller's promise.
        let outcome = unsafe { engine.transfer(self.number, remote, transfer, n, &mut self.issued.first) };
        drop(engine);
        if let Err(error) = outcome {
            self.account.fail(error);
        } else if self.reads_back && matches!(transfer, Transfer::Put(..)) && n > 0 {
            self.note_unread(0, Remote { offset: remote.offset + n as u64 - 1, ..remote });
        }
    }

    /// A long transfer, over all rails.
    ///
    /// # Safety
    /// As for the operations of a `Lane`.
    #[cold]
    unsafe fn spread(&mut self, remote: Remote, transfer: Transfer, n: usize) {
        let put = matches!(transfer, Transfer::Put(..));
        if put && std::mem::take(&mut self.fenced) {
            self.wait();
        }
        let net = self.net.clone();
        let mut engine = net.lock();
        // SAFETY: the caller's promise.
        if let Err(error) = unsafe { engine.spread(self.number, remote, transfer, n, &mut self.issued) } {
            self.account.fail(error);
        } else if self.reads_back && put {
            let last = Remote { offset: remote.offset + n as u64 - 1, ..remote };
            engine.rails_to(remote.pe).for_each(|rail| self.note_unread(rail, last));
        }
    }

    fn note_unread(&mut self, rail: usize, last: Remote) {
        match self.unread.iter_mut().rev().find(|unread| unread.place.pe == last.pe && unread.rail == rail) {
            Some(unread) => unread.place = last,
            None => self.unread.push(Unread { rail, place: last }),
        }
    }

    /// An operation of this PE on itself.
    fn here(&mut self, outcome: Result<(), OutOfRange>) {
        if let Err(wrong) = outcome {
            self.account.fail(wrong.error(self.net.me));
        }
    }

    fn under_way(&self) -> u64 {
        self.issued.first - self.account.completed() + self.further_under_way()
    }

    fn further_under_way(&self) -> u64 {
        self.issued.further - self.further.completed()
    }

    /// Whether the first rail's order says nothing of some put, because it took another rail.
    fn is_abroad(&self) -> bool {
        self.further_under_way() > 0 || (self.issued.further > 0 && self.unread.iter().any(|unread| unread.rail > 0))
    }

    /// When all puts are complete where that is not enough: reads one byte of each PE, which comes after them.
    fn read_back(&mut self) {
        if self.unread.is_empty() || self.under_way() > 0 {
            return;
        }
        let (number, issued, scrap) = (self.number, &mut self.issued, self.net.scrap());
        let mut engine = self.net.lock();
        self.unread.retain(|&Unread { rail, place }| {
            // SAFETY: the scrap is the fabric's and as long as it is open; nobody reads it.
            match unsafe { engine.read_behind(number, rail, place, scrap, issued) } {
                Ok(went) => !went,
                Err(error) => {
                    self.account.fail(error);
                    false
                }
            }
        });
    }

    fn wait(&mut self) {
        while self.outstanding() > 0 && self.net.failure().is_none() {
            if self.net.lock().drain() == 0 {
                std::thread::yield_now();
            }
            self.read_back();
        }
        self.unordered = false;
    }

    /// An atomic of the endpoint.
    ///
    /// # Safety
    /// As for `Lane::amo`.
    unsafe fn atomic(&mut self, to: Remote, width: Width, amo: Amo, old: *mut u8) {
        // SAFETY: the caller's promise.
        let outcome = unsafe { self.net.lock().atomic(self.number, to, width, amo, old) };
        match outcome {
            Ok(()) => self.issued.first += 1,
            Err(error) => self.account.fail(error),
        }
        self.unordered |= !self.net.atomics_ordered || to.pe == self.net.me;
    }
}

// SAFETY: sources are copied, or read by the endpoint until it reports completion, which comes before `outstanding` says
// so; destinations likewise. Remote memory is bounded by the windows that its owner has registered.
unsafe impl Lane for OfiLane {
    unsafe fn put(&mut self, to: Remote, source: *const u8, n: usize) {
        if to.pe == self.net.me || n <= ROOM {
            if to.pe == self.net.me {
                // SAFETY: the caller's promise.
                let outcome = unsafe { self.net.memory.put(to.region, to.offset, source, n) };
                return self.here(outcome);
            }
            // SAFETY: the caller's promise; the source is copied.
            return unsafe { self.transfer(to, Transfer::Put(source, true), n) };
        }
        // SAFETY: the caller's promise holds until `wait` returns.
        unsafe { self.transfer(to, Transfer::Put(source, false), n) };
        self.wait();
    }

    unsafe fn put_nbi(&mut self, to: Remote, source: *const u8, n: usize) {
        if to.pe == self.net.me {
            // SAFETY: the caller's promise.
            let outcome = unsafe { self.net.memory.put(to.region, to.offset, source, n) };
            return self.here(outcome);
        }
        // SAFETY: the caller's promise. What is so short that it is sent from the call is cheaper to copy.
        unsafe { self.transfer(to, Transfer::Put(source, n <= self.net.inject), n) };
    }

    unsafe fn get_nbi(&mut self, dest: *mut u8, from: Remote, n: usize) {
        if from.pe == self.net.me {
            // SAFETY: the caller's promise.
            let outcome = unsafe { self.net.memory.get(dest, from.region, from.offset, n) };
            return self.here(outcome);
        }
        // SAFETY: the caller's promise.
        unsafe { self.transfer(from, Transfer::Get(dest), n) };
    }

    /// In the network's domain every atomic is the endpoint's. Otherwise this PE's own memory is updated here, and atomics on
    /// others are messages (see `amo`), which software above this makes.
    unsafe fn amo(&mut self, to: Remote, width: Width, amo: Amo, old: *mut u8) {
        if self.net.atomics {
            // SAFETY: the caller's promise.
            return unsafe { self.atomic(to, width, amo, old) };
        }
        if to.pe != self.net.me {
            self.account
                .fail(Error::new("an atomic on another PE has come to a provider that leaves them to software"));
            return;
        }
        let outcome = self.net.memory.amo(to.region, to.offset, width, amo);
        // SAFETY: the caller's promise.
        let outcome = outcome.map(|value| unsafe { deliver_old(old, width, value) });
        self.here(outcome);
    }

    unsafe fn put_signal(&mut self, to: Remote, source: *const u8, n: usize, signal: Remote, update: SignalUpdate) {
        // SAFETY: the caller's promise.
        unsafe { self.put_nbi(to, source, n) };
        self.fence();
        // SAFETY: null asks for no old value.
        unsafe { self.amo(signal, Width::Eight, update.amo(), std::ptr::null_mut()) };
    }

    /// Free where the endpoint keeps the order and everything went by it; otherwise what is under way is waited for.
    fn fence(&mut self) {
        let ordered = if self.net.atomics { self.net.atomics_ordered && !self.unordered } else { self.net.ordered };
        if !ordered || self.is_abroad() {
            self.wait();
        } else {
            self.fenced = true;
        }
    }

    fn outstanding(&self) -> u64 {
        self.under_way() + self.unread.len() as u64
    }

    fn progress(&mut self) -> Result<usize, Error> {
        let before = self.under_way();
        self.net.drain();
        let done = before - self.under_way();
        self.read_back();
        match self.account.error().or_else(|| self.further.error()).or_else(|| self.net.failure()) {
            Some(error) => Err(error),
            None => Ok(done as usize),
        }
    }
}

impl Drop for OfiLane {
    fn drop(&mut self) {
        // The endpoint may still read and write the buffers of what is under way.
        self.wait();
        self.net.lock().delist(self.number);
    }
}
