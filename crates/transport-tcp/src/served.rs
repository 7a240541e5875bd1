//! The memory of this PE as the protocol reaches it.

use oxshmem_transport::{Amo, OutOfRange, Region, RegisteredMemory, Width};
use std::ptr;

use crate::lanes::LaneTable;
use crate::proto::Host;

/// The host of one connection while its bytes are executed.
pub(crate) struct Served<'f> {
    pub(crate) memory: &'f RegisteredMemory,
    pub(crate) lanes: &'f LaneTable,
    pub(crate) pe: u32,
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
        // SAFETY: places are made from memory that `Host::place` has bounded and that stays mapped while the fabric is
        // open, and from destinations that the callers of `Lane` keep until completion; the protocol hands on no more
        // bytes than the place has.
        unsafe { ptr::copy(data.as_ptr(), at, data.len()) }
    }

    fn refused(&mut self, lane: u16, wrong: OutOfRange) {
        self.lanes.refused(lane, wrong.error(self.pe));
    }
}

/// Appends a copy of what is at a place.
pub(crate) fn append(bytes: &mut Vec<u8>, place: crate::proto::MemoryRange) {
    let old = bytes.len();
    bytes.resize(old + place.n, 0);
    let from: *const u8 = ptr::with_exposed_provenance(place.at);
    // SAFETY: places that are sent are sources of puts that are not complete, which their lane's caller keeps, or parts
    // of registered memory; the destination has just been made long enough.
    unsafe { ptr::copy(from, bytes.as_mut_ptr().add(old), place.n) }
}
