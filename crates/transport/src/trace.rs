//! A provider around another one that counts and logs what passes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use oxshmem_base::Error;

use crate::driver::Drive;
use crate::{
    AddressBook, Amo, Busy, Capabilities, Fabric, Lane, LaneOptions, Region, Remote, Segment, SignalUpdate, Width,
};

/// How often each operation was issued and how many bytes it moved, over all lanes of a fabric. Counting is relaxed:
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

    fn address(&self) -> Vec<u8> {
        self.fabric.address()
    }

    fn connect(&self, book: Box<dyn AddressBook>) -> Result<(), Error> {
        tracing::debug!("connect");
        self.fabric.connect(book)
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

    fn drive(&self) -> Option<Arc<dyn Drive>> {
        self.fabric.drive()
    }

    fn lost(&self) -> Option<Error> {
        self.fabric.lost()
    }

    fn leave(&self) {
        self.fabric.leave();
    }

    fn has_left(&self) -> bool {
        self.fabric.has_left()
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
    unsafe fn put(&self, to: Remote, source: *const u8, n: usize) -> Result<usize, Busy> {
        tracing::trace!(?to, n, "put");
        // SAFETY: the arguments go unchanged to the inner lane, which asks for the promise that our caller has made.
        unsafe { self.lane.put(to, source, n) }.inspect(|&issued| self.counts.put.add(issued))
    }

    unsafe fn put_nbi(&self, to: Remote, source: *const u8, n: usize) -> Result<usize, Busy> {
        tracing::trace!(?to, n, "put_nbi");
        // SAFETY: the arguments go unchanged to the inner lane, which asks for the promise that our caller has made.
        unsafe { self.lane.put_nbi(to, source, n) }.inspect(|&issued| self.counts.put_nbi.add(issued))
    }

    unsafe fn get_nbi(&self, dest: *mut u8, from: Remote, n: usize) -> Result<usize, Busy> {
        tracing::trace!(?from, n, "get_nbi");
        // SAFETY: the arguments go unchanged to the inner lane, which asks for the promise that our caller has made.
        unsafe { self.lane.get_nbi(dest, from, n) }.inspect(|&issued| self.counts.get_nbi.add(issued))
    }

    unsafe fn amo(&self, to: Remote, width: Width, amo: Amo, old: *mut u8) -> Result<(), Busy> {
        tracing::trace!(?to, ?width, ?amo, "amo");
        // SAFETY: the arguments go unchanged to the inner lane, which asks for the promise that our caller has made.
        unsafe { self.lane.amo(to, width, amo, old) }.inspect(|()| self.counts.amo.add(width.bytes()))
    }

    unsafe fn put_signal(
        &self,
        to: Remote,
        source: *const u8,
        n: usize,
        signal: Remote,
        update: SignalUpdate,
    ) -> Result<(), Busy> {
        tracing::trace!(?to, n, ?signal, ?update, "put_signal");
        // SAFETY: the arguments go unchanged to the inner lane, which asks for the promise that our caller has made.
        unsafe { self.lane.put_signal(to, source, n, signal, update) }.inspect(|()| self.counts.put_signal.add(n))
    }

    fn fence(&self) -> Result<(), Busy> {
        tracing::trace!("fence");
        self.lane.fence().inspect(|()| self.counts.fence.add(0))
    }

    fn fence_puts(&self) -> Result<(), Busy> {
        tracing::trace!("fence_puts");
        self.lane.fence_puts().inspect(|()| self.counts.fence.add(0))
    }

    fn outstanding(&self) -> u64 {
        self.lane.outstanding()
    }

    fn progress(&self) -> Result<usize, Error> {
        self.lane.progress().inspect_err(|error| tracing::error!(%error, "lane"))
    }

    fn let_go(&self) -> Result<bool, Error> {
        self.lane.let_go().inspect_err(|error| tracing::error!(%error, "lane"))
    }
}
