//! The memory of this PE as the protocol reaches it.

use oxshmem_transport::{Amo, OutOfRange, Region, RegisteredMemory, Width};
use std::ptr;

use crate::lanes::LaneTable;
use crate::proto::Host;

/// The host of one connection while its bytes are executed.
pub(crate) struct Served<'f> {
    memory: &'f RegisteredMemory,
    lanes: &'f LaneTable,
    pe: u32,
}

impl<'f> Served<'f> {
    /// The host of the connection to `pe`.
    ///
    /// # Safety
    /// Ranges to which the session of this connection fetches are writable until their answer has come.
    pub(crate) unsafe fn new(memory: &'f RegisteredMemory, lanes: &'f LaneTable, pe: u32) -> Self {
        Self { memory, lanes, pe }
    }
}

impl Host for Served<'_> {
    fn put(&mut self, region: Region, offset: u64, data: &[u8]) -> Result<(), OutOfRange> {
        // SAFETY: the source is a slice.
        unsafe { self.memory.put(region, offset, data.as_ptr(), data.len()) }
    }

    fn get(&mut self, region: Region, offset: u64, n: usize, into: &mut Vec<u8>) -> Result<(), OutOfRange> {
        let old = into.len();
        into.resize(old + n, 0);
        // SAFETY: the destination has just been made `n` bytes longer.
        let got = unsafe { self.memory.get(into.as_mut_ptr().add(old), region, offset, n) };
        got.inspect_err(|_| into.truncate(old))
    }

    fn place(&mut self, region: Region, offset: u64, n: usize) -> Result<usize, OutOfRange> {
        Ok(self.memory.find(region, offset, n)?.expose_provenance())
    }

    fn amo(&mut self, region: Region, offset: u64, width: Width, amo: Amo) -> Result<u64, OutOfRange> {
        self.memory.amo(region, offset, width, amo)
    }

    fn fill(&mut self, at: usize, data: &[u8]) {
        let at: *mut u8 = ptr::with_exposed_provenance_mut(at);
        // SAFETY: a place is memory that `Host::place` has bounded and that stays mapped while the fabric is open, or a range to
        // which the session fetches, which is writable as `new` demands; the protocol hands on no more bytes than the place has.
        unsafe { ptr::copy(data.as_ptr(), at, data.len()) }
    }

    fn refused(&mut self, lane: u16, wrong: OutOfRange) {
        self.lanes.refused(lane, wrong.error(self.pe));
    }
}

/// Appends a copy of what is at a place.
///
/// # Safety
/// `place` is readable.
pub(crate) unsafe fn append(bytes: &mut Vec<u8>, place: crate::proto::MemoryRange) {
    let old = bytes.len();
    bytes.resize(old + place.n, 0);
    let from: *const u8 = ptr::with_exposed_provenance(place.at);
    // SAFETY: the caller promises that the place is readable; the destination has just been made long enough.
    unsafe { ptr::copy(from, bytes.as_mut_ptr().add(old), place.n) }
}
