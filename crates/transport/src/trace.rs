//! A provider around another one that counts and logs what passes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use oxshmem_base::Error;

use crate::{Amo, Capabilities, Cards, Fabric, Lane, LaneOptions, Region, Remote, Segment, SignalUpdate, Width};

/// How often each operation was called and how many bytes it moved, over all lanes of a fabric. Counting is relaxed:
/// the numbers say how much, not when.
#[derive(Default, Debug)]
#[allow(missing_docs, reason = "the names are those of the operations")]
pub struct Counts {
    pub put: Count,
    pub put_nbi: Count,
    pub get_nbi: Count,
    pub amo: Count,
    pub put_signal: Count,
    pub fence: Count,
}

/// Calls of one operation.
#[derive(Default, Debug)]
pub struct Count {
    calls: AtomicU64,
    bytes: AtomicU64,
}

impl Count {
    /// Calls and bytes until now.
    pub fn now(&self) -> (u64, u64) {
        (self.calls.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }

    fn add(&self, bytes: usize) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// A fabric that is watched.
pub struct Traced {
    fabric: Box<dyn Fabric>,
    counts: Arc<Counts>,
}

impl Traced {
    /// Watches `fabric`.
    pub fn over(fabric: Box<dyn Fabric>) -> Self {
        Self { fabric, counts: Arc::default() }
    }

    /// The operations so far.
    pub fn counts(&self) -> Arc<Counts> {
        self.counts.clone()
    }
}

impl Fabric for Traced {
    fn capabilities(&self) -> &Capabilities {
        self.fabric.capabilities()
    }

    fn register(&self, region: Region, segment: Segment) -> Result<(), Error> {
        tracing::debug!(?region, ?segment, "register");
        self.fabric.register(region, segment)
    }

    fn card(&self) -> Vec<u8> {
        self.fabric.card()
    }

    fn connect(&self, cards: Box<dyn Cards>) -> Result<(), Error> {
        tracing::debug!("connect");
        self.fabric.connect(cards)
    }

    fn lane(&self, options: LaneOptions) -> Result<Box<dyn Lane>, Error> {
        tracing::debug!(?options, "lane");
        Ok(Box::new(TracedLane { lane: self.fabric.lane(options)?, counts: self.counts.clone() }))
    }

    fn progress(&self) -> usize {
        self.fabric.progress()
    }

    fn rest(&self, most: Duration) -> Option<usize> {
        self.fabric.rest(most)
    }

    fn lost(&self) -> Option<Error> {
        self.fabric.lost()
    }

    fn close(&self) {
        tracing::debug!(counts = ?self.counts, "close");
        self.fabric.close();
    }

    fn describe(&self) -> String {
        self.fabric.describe()
    }
}

struct TracedLane {
    lane: Box<dyn Lane>,
    counts: Arc<Counts>,
}

// SAFETY: every call is handed on unchanged.
unsafe impl Lane for TracedLane {
    unsafe fn put(&mut self, to: Remote, source: *const u8, n: usize) {
        tracing::trace!(?to, n, "put");
        self.counts.put.add(n);
        // SAFETY: the arguments go unchanged to the inner lane, which asks for the promise that our caller has made.
        unsafe { self.lane.put(to, source, n) }
    }

    unsafe fn put_nbi(&mut self, to: Remote, source: *const u8, n: usize) {
        tracing::trace!(?to, n, "put_nbi");
        self.counts.put_nbi.add(n);
        // SAFETY: the arguments go unchanged to the inner lane, which asks for the promise that our caller has made.
        unsafe { self.lane.put_nbi(to, source, n) }
    }

    unsafe fn get_nbi(&mut self, dest: *mut u8, from: Remote, n: usize) {
        tracing::trace!(?from, n, "get_nbi");
        self.counts.get_nbi.add(n);
        // SAFETY: the arguments go unchanged to the inner lane, which asks for the promise that our caller has made.
        unsafe { self.lane.get_nbi(dest, from, n) }
    }

    unsafe fn amo(&mut self, to: Remote, width: Width, amo: Amo, old: *mut u8) {
        tracing::trace!(?to, ?width, ?amo, "amo");
        self.counts.amo.add(width.bytes());
        // SAFETY: the arguments go unchanged to the inner lane, which asks for the promise that our caller has made.
        unsafe { self.lane.amo(to, width, amo, old) }
    }

    unsafe fn put_signal(&mut self, to: Remote, source: *const u8, n: usize, signal: Remote, update: SignalUpdate) {
        tracing::trace!(?to, n, ?signal, ?update, "put_signal");
        self.counts.put_signal.add(n);
        // SAFETY: the arguments go unchanged to the inner lane, which asks for the promise that our caller has made.
        unsafe { self.lane.put_signal(to, source, n, signal, update) }
    }

    fn fence(&mut self) {
        tracing::trace!("fence");
        self.counts.fence.add(0);
        self.lane.fence();
    }

    fn outstanding(&self) -> u64 {
        self.lane.outstanding()
    }

    fn progress(&mut self) -> Result<usize, Error> {
        self.lane.progress().inspect_err(|error| tracing::error!(%error, "lane"))
    }
}
