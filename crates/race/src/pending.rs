//! The buffers of operations that have returned at once, which the program leaves alone until those are over.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use parking_lot::Mutex;

use crate::access::{AccessKind, Site};
use crate::clock::{StrandName, Stream};
use crate::place::SymmetricPlace;

/// More are not watched.
const MOST: usize = 1024;

/// The call that ends an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Completion {
    /// A quiet on this stream.
    Quiet(Stream),
    /// A wait for the request with this number.
    Request(u64),
}

/// A buffer of an operation that is under way.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    pub(crate) bytes: Range<usize>,
    /// The operation's own access to it.
    pub(crate) kind: AccessKind,
    pub(crate) until: Completion,
    pub(crate) site: Site,
    /// The strand that issued the operation, and the number of the operation. One that was joined by later ones has the number of the last.
    pub(crate) by: StrandName,
    pub(crate) first: u32,
    pub(crate) number: u32,
}

/// An array of a collective.
#[derive(Clone, Copy, Debug)]
pub struct CallBuffer {
    /// Where it is in the caller's memory.
    pub address: usize,
    /// The same as a place; none if it is not symmetric.
    pub place: Option<SymmetricPlace>,
    /// Its bytes.
    pub len: usize,
    /// The collective's access to it.
    pub kind: AccessKind,
}

/// A collective whose request has not ended.
#[derive(Debug)]
pub(crate) struct RequestedCall {
    /// The number of the members' meeting.
    pub(crate) meeting: Option<u64>,
    pub(crate) site: Site,
    /// The strand that has called.
    pub(crate) by: StrandName,
    /// Each with the time of its access.
    pub(crate) buffers: Vec<(CallBuffer, u32)>,
}

/// An atomic without an end so far: its value comes with a quiet on the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AwaitedFetch {
    pub(crate) stream: Stream,
    pub(crate) place: SymmetricPlace,
    pub(crate) len: usize,
}

/// An extent of addresses that holds buffers; empty if its end is 0.
#[repr(C)]
#[derive(Debug)]
pub struct LentExtent {
    start: AtomicUsize,
    end: AtomicUsize,
}

impl LentExtent {
    fn new() -> LentExtent {
        LentExtent { start: AtomicUsize::new(usize::MAX), end: AtomicUsize::new(0) }
    }

    fn is_empty(&self) -> bool {
        self.end.load(Relaxed) == 0
    }

    fn clear(&self) {
        self.start.store(usize::MAX, Relaxed);
        self.end.store(0, Relaxed);
    }

    #[inline]
    fn touches(&self, address: usize, len: usize) -> bool {
        address < self.end.load(Relaxed) && self.start.load(Relaxed) < address.saturating_add(len)
    }

    /// How many addresses more it would have with these.
    fn growth(&self, bytes: &Range<usize>) -> usize {
        if self.is_empty() {
            return bytes.len();
        }
        let (start, end) = (self.start.load(Relaxed), self.end.load(Relaxed));
        start.saturating_sub(bytes.start).saturating_add(bytes.end.saturating_sub(end))
    }

    fn add(&self, bytes: &Range<usize>) {
        self.start.fetch_min(bytes.start, Relaxed);
        self.end.fetch_max(bytes.end, Relaxed);
    }
}

/// The number of extents: enough to keep the borders of two arrays apart from what lies between. The shim has the same number.
pub const EXTENTS: usize = 4;

/// The buffers of one PE, by address: they may be private memory.
#[derive(Debug)]
pub(crate) struct LentBuffers {
    buffers: Mutex<Vec<Buffer>>,
    /// Each buffer lies in one of these. Stored under the lock, read without it: a PE's own accesses follow its operations. They
    /// only grow as long as there are buffers, so that every buffer always lies in one of them.
    extents: [LentExtent; EXTENTS],
}

impl LentBuffers {
    pub(crate) fn new() -> LentBuffers {
        LentBuffers { buffers: Mutex::new(Vec::new()), extents: std::array::from_fn(|_| LentExtent::new()) }
    }

    /// See [`LentBuffers::extents`].
    pub(crate) fn extents(&self) -> &[LentExtent; EXTENTS] {
        &self.extents
    }

    pub(crate) fn add(&self, buffer: Buffer) {
        let mut buffers = self.buffers.lock();
        let bytes = buffer.bytes.clone();
        if let Some(last) = buffers.last_mut()
            && (last.bytes.end == buffer.bytes.start && last.kind == buffer.kind)
            && (last.site == buffer.site && last.until == buffer.until && last.by == buffer.by)
        {
            last.bytes.end = buffer.bytes.end;
            last.number = buffer.number;
        } else if buffers.len() < MOST {
            buffers.push(buffer);
        }
        if let Some(extent) = self.extents.iter().min_by_key(|extent| extent.growth(&bytes)) {
            extent.add(&bytes);
        }
    }

    /// The operations of these buffers are over. Returns whether there are buffers of others.
    pub(crate) fn end(&self, is_over: impl Fn(&Buffer) -> bool) -> bool {
        let mut buffers = self.buffers.lock();
        buffers.retain(|buffer| !is_over(buffer));
        if buffers.is_empty() {
            self.extents.iter().for_each(LentExtent::clear);
        }
        !buffers.is_empty()
    }

    /// Whether there are buffers.
    pub(crate) fn any(&self) -> bool {
        !self.extents.iter().all(LentExtent::is_empty)
    }

    /// The buffer that an access of this kind must not touch yet.
    #[inline]
    pub(crate) fn clash(&self, address: usize, len: usize, kind: AccessKind) -> Option<Buffer> {
        if !self.extents.iter().any(|extent| extent.touches(address, len)) {
            return None;
        }
        let buffers = self.buffers.lock();
        let touched = |buffer: &&Buffer| address < buffer.bytes.end && buffer.bytes.start < address.saturating_add(len);
        buffers.iter().filter(touched).find(|buffer| buffer.kind.clashes(kind)).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(bytes: Range<usize>) -> Buffer {
        let (until, by) = (Completion::Quiet(Stream::Default), StrandName { pe: 0, strand: 0 });
        Buffer { bytes, kind: AccessKind::Write, until, site: Site { pc: 0, call: 0 }, by, first: 1, number: 1 }
    }

    #[test]
    fn extents_hold_all_buffers_and_little_else() {
        let lent = LentBuffers::new();
        let is_touched = |address| lent.extents().iter().any(|extent| extent.touches(address, 8));
        // Rows at both ends of two arrays, one of them in two pieces.
        let rows = [1000..1064, 9000..9064, 1064..1128, 20_000..20_064, 29_000..29_064];
        rows.iter().for_each(|row| lent.add(buffer(row.clone())));
        assert!(rows.iter().all(|row| row.clone().step_by(8).all(is_touched)));
        assert!([992, 1128, 8992, 9064, 25_000].into_iter().all(|address| !is_touched(address)));
        // There are no more extents: the nearest one grows.
        lent.add(buffer(9128..9192));
        assert!(is_touched(9128) && is_touched(9100) && !is_touched(15_000));
        assert!(lent.clash(9100, 8, AccessKind::Read).is_none() && lent.clash(9128, 8, AccessKind::Read).is_some());
        assert!(lent.end(|buffer| buffer.bytes.start > 1000) && is_touched(1000));
        assert!(!lent.end(|_| true) && !lent.any() && !is_touched(1000));
    }
}
