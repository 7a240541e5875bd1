//! Strided transfers between nodes whose blocks travel together: an operation of the network for each short block costs more than a copy.

use core::ffi::c_int;
use core::mem::MaybeUninit;

use oxshmem_transport::WORD_BY_WORD;

use crate::teams::via::Via;
use crate::transfers::element::copy;
use crate::transfers::indirect;

/// Longest block that travels with others. Chosen.
const SHORT_BLOCK: usize = 1 << 10;
/// Bytes that a get has in its own memory at a time. Chosen.
const ROOM: usize = 256 << 10;
/// Blocks come with the bytes between them if all are at most so many times as many. Two processors: a get of 1,024 doubles, every second
/// one, took 6,000 us over UCX's TCP with an operation for each, and takes 37.
const COVERED: usize = 8;

/// Short blocks, the same on both sides: how many bytes each has, how far they begin apart, and how many there are.
#[derive(Clone, Copy)]
pub(super) struct FarBlocks {
    pub(super) bytes: usize,
    pub(super) dest_apart: isize,
    pub(super) source_apart: isize,
    pub(super) count: usize,
}

impl FarBlocks {
    /// Of elements of this type, whose strides count elements.
    pub(super) fn of<T>(bytes: usize, dst: isize, sst: isize, count: usize) -> Self {
        let element = size_of::<T>() as isize;
        Self { bytes, dest_apart: dst.wrapping_mul(element), source_apart: sst.wrapping_mul(element), count }
    }

    /// Whether a put takes several of them at once: they follow each other where they go to.
    pub(super) fn are_put_together(&self) -> bool {
        self.count > 1 && self.bytes <= SHORT_BLOCK && self.dest_apart == self.bytes as isize
    }

    /// Whether a get does, of `cover` bytes with those between the blocks.
    pub(super) fn are_got_together(&self, cover: usize) -> bool {
        self.count > 1
            && self.bytes <= SHORT_BLOCK
            && self.source_apart != 0
            && cover <= self.bytes.saturating_mul(self.count).saturating_mul(COVERED)
    }

    /// Puts them, packed.
    ///
    /// # Safety
    /// They are [put together](Self::are_put_together), lie inside of the caller's symmetric array and are readable at `source`.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn put<V: Via>(&self, via: V, dest: *mut u8, source: *const u8, pe: c_int) {
        let mut room = [MaybeUninit::<u64>::uninit(); WORD_BY_WORD / 8];
        let room = room.as_mut_ptr().cast::<u8>();
        let most = WORD_BY_WORD / self.bytes;
        for first in (0..self.count).step_by(most) {
            let count = most.min(self.count - first);
            for i in 0..count {
                let from = source.wrapping_offset(((first + i) as isize).wrapping_mul(self.source_apart));
                // SAFETY: the caller promises the block, and the room has so many.
                unsafe { copy(from, room.add(i * self.bytes), self.bytes) };
            }
            let to = dest.wrapping_add(first * self.bytes);
            // SAFETY: the blocks are part of the caller's promise. The room is free again when this returns.
            unsafe { indirect::put::<V, false>(via.call(), via.given(), to, room, count * self.bytes, pe) };
        }
    }

    /// Gets them, with what lies between them.
    ///
    /// # Safety
    /// They are [got together](Self::are_got_together). All from the lowest to the highest one lies inside of the caller's symmetric array, and
    /// `dest` is writable for each.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn get<V: Via>(&self, via: V, dest: *mut u8, source: *const u8, pe: c_int) {
        let apart = self.source_apart.unsigned_abs();
        let most = ((ROOM - self.bytes) / apart + 1).min(self.count);
        let mut room: Vec<u64> = Vec::with_capacity(((most - 1) * apart + self.bytes).div_ceil(8));
        let room = room.as_mut_ptr().cast::<u8>();
        for first in (0..self.count).step_by(most) {
            let count = most.min(self.count - first);
            let bytes = (count - 1) * apart + self.bytes;
            let lowest = if self.source_apart < 0 { first + count - 1 } else { first };
            let from = source.wrapping_offset((lowest as isize).wrapping_mul(self.source_apart));
            for at in (0..bytes).step_by(WORD_BY_WORD) {
                let (to, n) = (room.wrapping_add(at), WORD_BY_WORD.min(bytes - at));
                // SAFETY: a part of the caller's promise; the room has it, and lives until `await_gets` has returned.
                unsafe {
                    let from = from.wrapping_add(at);
                    indirect::get::<V, { indirect::WHEN_AWAITED }>(via.call(), via.given(), to, from, n, pe);
                }
            }
            indirect::await_gets(via.call(), via.context(), pe);
            for i in 0..count {
                let place = if self.source_apart < 0 { count - 1 - i } else { i };
                let to = dest.wrapping_offset(((first + i) as isize).wrapping_mul(self.dest_apart));
                // SAFETY: the room has got the block, and the caller promises its place.
                unsafe { copy(room.add(place * apart), to, self.bytes) };
            }
        }
    }
}
