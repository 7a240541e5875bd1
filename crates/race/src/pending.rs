//! The buffers of operations that have returned at once, which the program leaves alone until those are over.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use parking_lot::Mutex;

use crate::access::{AccessKind, Site};
use crate::clock::{StrandName, Stream};
use crate::memory::SymmetricPlace;

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
    /// The strand that issued the operation, and the number of the operation.
    pub(crate) by: StrandName,
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

/// The buffers of one PE, by address: they may be private memory.
#[derive(Debug)]
pub(crate) struct LentBuffers {
    buffers: Mutex<Vec<Buffer>>,
    /// An extent that holds all of them; empty if there are none. Stored under the lock, read without it: a PE's own accesses
    /// follow its operations.
    start: AtomicUsize,
    end: AtomicUsize,
}

impl LentBuffers {
    pub(crate) fn new() -> LentBuffers {
        LentBuffers { buffers: Mutex::new(Vec::new()), start: AtomicUsize::new(usize::MAX), end: AtomicUsize::new(0) }
    }

    pub(crate) fn add(&self, buffer: Buffer) {
        let mut buffers = self.buffers.lock();
        if let Some(last) = buffers.last_mut()
            && (last.bytes.end == buffer.bytes.start && last.kind == buffer.kind)
            && (last.site == buffer.site && last.until == buffer.until && last.by == buffer.by)
        {
            last.bytes.end = buffer.bytes.end;
            last.number = buffer.number;
        } else if buffers.len() < MOST {
            buffers.push(buffer.clone());
        }
        self.start.fetch_min(buffer.bytes.start, Relaxed);
        self.end.fetch_max(buffer.bytes.end, Relaxed);
    }

    /// The operations of these buffers are over. Returns whether there are buffers of others.
    pub(crate) fn end(&self, is_over: impl Fn(&Buffer) -> bool) -> bool {
        let mut buffers = self.buffers.lock();
        buffers.retain(|buffer| !is_over(buffer));
        self.start.store(buffers.iter().map(|buffer| buffer.bytes.start).min().unwrap_or(usize::MAX), Relaxed);
        self.end.store(buffers.iter().map(|buffer| buffer.bytes.end).max().unwrap_or(0), Relaxed);
        !buffers.is_empty()
    }

    /// Whether there are buffers.
    pub(crate) fn any(&self) -> bool {
        self.end.load(Relaxed) != 0
    }

    /// The buffer that an access of this kind must not touch yet.
    #[inline]
    pub(crate) fn clash(&self, address: usize, len: usize, kind: AccessKind) -> Option<Buffer> {
        if address >= self.end.load(Relaxed) || address.saturating_add(len) <= self.start.load(Relaxed) {
            return None;
        }
        let buffers = self.buffers.lock();
        let touched = |buffer: &&Buffer| address < buffer.bytes.end && buffer.bytes.start < address.saturating_add(len);
        buffers.iter().filter(touched).find(|buffer| buffer.kind.clashes(kind)).cloned()
    }
}
