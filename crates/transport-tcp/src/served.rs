//! The memory of this PE as the protocol reaches it.

use std::ptr;

use oxshmem_transport::{Amo, OutOfRange, Region, RegisteredMemory, Width};

use crate::lanes::LaneTable;
use crate::proto::{Host, MemoryRange};

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
        into.reserve(n);
        // SAFETY: the vector has room for `n` bytes more. They count when `get` has written them.
        unsafe {
            self.memory.get(into.as_mut_ptr().add(old), region, offset, n)?;
            into.set_len(old + n);
        }
        Ok(())
    }

    fn place(&mut self, region: Region, offset: u64, n: usize) -> Result<usize, OutOfRange> {
        Ok(self.memory.landing(region, offset, n)?.expose_provenance())
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
        self.lanes.refused(lane, &wrong.error(self.pe));
    }
}

/// Appends a copy of what is at a place.
///
/// # Safety
/// `place` is readable.
pub(crate) unsafe fn append(bytes: &mut Vec<u8>, place: MemoryRange) {
    let old = bytes.len();
    bytes.reserve(place.n);
    let from: *const u8 = ptr::with_exposed_provenance(place.at);
    // SAFETY: the caller promises that the place is readable. The vector has room for as many bytes more, which count when they are
    // written.
    unsafe {
        ptr::copy(from, bytes.as_mut_ptr().add(old), place.n);
        bytes.set_len(old + place.n);
    }
}

#[cfg(test)]
mod tests {
    use oxshmem_transport::Segment;

    use super::*;

    #[test]
    fn an_answer_has_what_was_asked_for_behind_what_was_there_and_nothing_on_error() {
        let mut owned: Vec<u8> = (0..100).collect();
        let (memory, lanes) = (RegisteredMemory::default(), LaneTable::default());
        let segment = Segment { base: owned.as_mut_ptr(), len: owned.len() };
        memory.register(Region::Heap, segment).expect("it is new");
        // SAFETY: nothing is fetched.
        let mut served = unsafe { Served::new(&memory, &lanes, 1) };
        let mut answer = vec![7; 3];
        for (offset, n) in [(0, 100), (8, 8), (5, 0)] {
            answer.truncate(3);
            served.get(Region::Heap, offset, n, &mut answer).expect("in range");
            let wanted = (offset as u8..).take(n);
            assert!(answer[..3] == [7; 3] && answer[3..].iter().copied().eq(wanted), "{offset} {n}");
        }
        answer.truncate(3);
        assert!(served.get(Region::Heap, 60, 41, &mut answer).is_err());
        assert_eq!(answer, [7; 3]);
        let place = MemoryRange { at: segment.base.expose_provenance(), n: 4 };
        // SAFETY: the place is readable.
        unsafe { append(&mut answer, place) };
        assert_eq!(answer, [7, 7, 7, 0, 1, 2, 3]);
    }
}
