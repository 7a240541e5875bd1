//! All-to-alls, of whole blocks and of blocks whose elements lie apart: what each way does, and the parts on one node.

use core::ops::Range;
use core::ptr;

use oxshmem_schedule::step::Plan;
use oxshmem_schedule::way::{CollectiveWay, StridedElements};

use crate::collectives::between_nodes;
use crate::collectives::call::Call;
use crate::collectives::limits::{FAR_APART, PIECES};
use crate::collectives::on_node::exchange_bytes;
use crate::collectives::run::{self, Arrays};
use crate::collectives::signature::{CallKind, root_of_strides};
use crate::collectives::way::{self, Asked};
use crate::diagnosis::errors;
use crate::transfers::length::{self, Cover};

/// Sends block i of the caller's source to member i, where it becomes block `my`.
///
/// # Safety
/// As the standard asks of the call: `dest` and `source` are symmetric and have the blocks.
pub(crate) unsafe fn alltoall(call: Call<'_>, dest: *mut u8, source: *const u8, bytes: usize) {
    let call = call.declare(CallKind::Alltoall, bytes, 0);
    let all = length::of(bytes, call.team.size as usize);
    if bytes == 0 {
        return;
    }
    call.require_symmetric((dest, all), (source, all));
    let blocks = StridedBlocks { dest, dest_apart: 1, source, source_apart: 1, element: 1, nelems: bytes };
    let way = way::of_bytes(call, all, Asked::Alltoall { bytes, strided: None });
    if let CollectiveWay::Schedule(schedule, piece) = way {
        let arrays = Arrays { dest, room: all, source, ..Arrays::NONE };
        // SAFETY: the caller promises symmetric arrays with `bytes` bytes for each member.
        return unsafe { run::on_node(call, schedule, piece, Plan::new(call.team.size, bytes as u64), arrays) };
    }
    // SAFETY: the caller promises the blocks on both sides.
    unsafe { blocks.exchange(call, way) };
}

/// An all-to-all of blocks of `nelems` elements, which lie `dst` apart where they arrive and `sst` apart where they come from.
///
/// # Safety
/// As the standard asks of the call: `dest` and `source` are symmetric and have the blocks.
pub(crate) unsafe fn alltoalls(
    call: Call<'_>,
    dest: *mut u8,
    source: *const u8,
    (dst, sst): (isize, isize),
    element: usize,
    nelems: usize,
) {
    let block = length::of(nelems, element);
    let call = call.declare(CallKind::Alltoalls, block, root_of_strides(dst, sst));
    if nelems == 0 {
        return;
    }
    if block > isize::MAX as usize {
        errors::longer_than_memory(call.name, "dest", dest as usize, block);
    }
    for (name, stride) in [("dst", dst), ("sst", sst)] {
        if stride < 1 {
            errors::bad_argument(call.name, name, stride as i64, "1 and more");
        }
    }
    let all = length::of(nelems, call.team.size as usize);
    let cover = |stride| Cover::strided(element, stride, 1, all).bytes;
    call.require_symmetric((dest, cover(dst)), (source, cover(sst)));
    // A single element has no next one, so its stride may be any number.
    let apart = |stride: isize| if all > 1 { stride as usize * element } else { element };
    let blocks = StridedBlocks { dest, dest_apart: apart(dst), source, source_apart: apart(sst), element, nelems };
    let together = length::of(block, call.team.size as usize);
    let strided = Some(StridedElements { bytes: element, are_apart: !blocks.are_whole() });
    let way = way::of_bytes(call, together, Asked::Alltoall { bytes: block, strided });
    // SAFETY: the caller promises the blocks on both sides.
    unsafe { blocks.exchange(call, way) };
}

/// The caller's arrays: they have a block for each member, one behind the other.
struct StridedBlocks {
    dest: *mut u8,
    /// Bytes from an element to the next one.
    dest_apart: usize,
    source: *const u8,
    source_apart: usize,
    /// Bytes of an element.
    element: usize,
    /// Elements of a block.
    nelems: usize,
}

impl StridedBlocks {
    /// Every way but a schedule on a node.
    ///
    /// # Safety
    /// Both arrays are symmetric and have a block for each member.
    unsafe fn exchange(&self, call: Call<'_>, way: CollectiveWay) {
        let (my, block) = (call.team.my, self.nelems * self.element);
        match (way, &call.team.span) {
            (CollectiveWay::Exchange | CollectiveWay::NodeEager, _) => {
                let n = self.nelems * call.team.size as usize;
                // SAFETY: the caller promises the elements of all blocks, and the way that there is room for them one behind the other.
                let write = |to| unsafe { self.pack(0, (0, n), to) };
                exchange_bytes(call, n * self.element, write, |member, theirs| {
                    let mine = theirs.wrapping_add(my as usize * block);
                    // SAFETY: the member has brought all its blocks, and the caller promises a place for each element.
                    unsafe { self.spread(member, (0, self.nelems), mine, self.element) };
                });
            }
            (CollectiveWay::Parts(parts), Some(span)) => {
                // Pieces of a block have whole elements.
                let elements = |piece: Range<usize>| (piece.start / self.element, piece.len() / self.element);
                // SAFETY: the caller promises the elements; the place has room for the piece.
                let write = |member, piece, to: *mut u8| unsafe { self.pack(member, elements(piece), to) };
                let take = |member, piece, from: *const u8| {
                    // SAFETY: the piece has come, and the caller promises a place for each element.
                    unsafe { self.spread(member, elements(piece), from, self.element) };
                };
                between_nodes::alltoall(call, span, parts, (block, self.element), write, take);
            }
            _ => {
                call.enter_to_read([("source", self.source)]);
                // SAFETY: all members have entered, and leave only after this one; the caller promises the blocks.
                unsafe { self.fetch(call) };
                call.leave();
            }
        }
    }

    /// Element `i` of the source's block for a member.
    fn element_for(&self, member: u32, i: usize) -> *const u8 {
        self.source.wrapping_add((member as usize * self.nelems + i) * self.source_apart)
    }

    /// Bytes from the first of `n` elements of a source to the end of the last.
    fn reach(&self, n: usize) -> usize {
        (n - 1) * self.source_apart + self.element
    }

    /// The place of element `i` of a member's block.
    fn place(&self, member: u32, i: usize) -> *mut u8 {
        self.dest.wrapping_add((member as usize * self.nelems + i) * self.dest_apart)
    }

    /// Whether the elements follow each other on both sides.
    fn are_whole(&self) -> bool {
        self.source_apart == self.element && self.dest_apart == self.element
    }

    /// Copies `n` elements of the block for a member, from number `first` on, to `to`, one behind the other.
    ///
    /// # Safety
    /// The source has the elements, and `to` the room.
    unsafe fn pack(&self, member: u32, (first, n): (usize, usize), to: *mut u8) {
        let from = (self.element_for(member, first), self.source_apart);
        // SAFETY: the caller promises the elements on both sides.
        unsafe { copy_elements((to, self.element), from, self.element, n) };
    }

    /// Copies `n` elements of a member's block, from number `first` on, to their places. At `from` they lie `apart` bytes apart.
    ///
    /// # Safety
    /// The elements are there, and the destination has a place for each.
    unsafe fn spread(&self, member: u32, (first, n): (usize, usize), from: *const u8, apart: usize) {
        // SAFETY: the caller promises the elements on both sides.
        unsafe { copy_elements((self.place(member, first), self.dest_apart), (from, apart), self.element, n) };
    }

    /// Fetches the caller's block of every member.
    ///
    /// # Safety
    /// The members have entered the call and do not leave it, and all arrays have the blocks.
    unsafe fn fetch(&self, call: Call<'_>) {
        let theirs = self.element_for(call.team.my, 0);
        let mut pieces = StridedPieces { blocks: self, call, pieces: Vec::new(), memory: Vec::new(), held: 0 };
        for member in call.members_from_me() {
            if self.are_whole() {
                // SAFETY: the caller promises that the member has entered, so its source is ready, and a place for the block.
                unsafe { call.fetch(member, theirs, self.place(member, 0), self.nelems * self.element) };
            } else if call.is_here(member) {
                let from = call.at(member, theirs, self.reach(self.nelems));
                // SAFETY: the caller promises that the member has entered, so its source is ready, and a place for each element.
                unsafe { self.spread(member, (0, self.nelems), from, self.source_apart) };
            } else if self.source_apart > FAR_APART {
                for i in 0..self.nelems {
                    let from = theirs.wrapping_add(i * self.source_apart);
                    // SAFETY: the caller promises a place for the element.
                    unsafe { call.fetch(member, from, self.place(member, i), self.element) };
                }
            } else {
                // SAFETY: the caller promises a place for each element.
                unsafe { pieces.fetch(member, theirs) };
            }
        }
        pieces.spread();
    }
}

/// Elements `first` to `first + n` of the block of a member on another node, fetched with the bytes between them.
struct StridedPiece {
    member: u32,
    first: usize,
    n: usize,
    /// Where its bytes are in the memory of all pieces.
    at: usize,
}

/// Pieces that are under way: elements that lie close together come with fewer messages.
struct StridedPieces<'a> {
    blocks: &'a StridedBlocks,
    call: Call<'a>,
    pieces: Vec<StridedPiece>,
    /// Room for as many bytes as may be under way at once. It has a length of zero: what is fetched is never cleared before.
    memory: Vec<u8>,
    /// Bytes that are under way.
    held: usize,
}

impl StridedPieces<'_> {
    /// Fetches the caller's block of a member, which is at `theirs`.
    ///
    /// # Safety
    /// The destination has a place for each element.
    unsafe fn fetch(&mut self, member: u32, theirs: *const u8) {
        let &StridedBlocks { source_apart, nelems, .. } = self.blocks;
        let most = (PIECES / source_apart).max(1);
        if self.memory.capacity() == 0 {
            // The pieces of each member have the same length, and none is longer than all together may be.
            let all = self.blocks.reach(nelems).saturating_mul(self.call.team.size as usize);
            self.memory.reserve_exact(all.min(PIECES));
        }
        for first in (0..nelems).step_by(most) {
            let n = most.min(nelems - first);
            let bytes = self.blocks.reach(n);
            if self.held + bytes > self.memory.capacity() {
                self.spread();
            }
            assert!(self.held + bytes <= self.memory.capacity(), "a piece has no room behind those that are under way");
            let from = theirs.wrapping_add(first * source_apart);
            let at = self.held;
            // SAFETY: the memory has room for the piece, as was just asserted, and stays where it is until all is fetched.
            unsafe { self.call.fetch(member, from, self.memory.as_mut_ptr().add(at), bytes) };
            self.pieces.push(StridedPiece { member, first, n, at });
            self.held += bytes;
        }
    }

    /// Waits for all that is fetched, and copies the elements of the pieces to their places.
    fn spread(&mut self) {
        self.call.fetched();
        for StridedPiece { member, first, n, at } in self.pieces.drain(..) {
            // SAFETY: the piece has come to its part of the memory, and its fetch has promised a place for each element.
            unsafe { self.blocks.spread(member, (first, n), self.memory.as_ptr().add(at), self.blocks.source_apart) };
        }
        self.held = 0;
    }
}

/// Copies `n` elements of `element` bytes, which lie so many bytes apart.
///
/// # Safety
/// The places are those of `n` elements, in arrays that do not overlap or are the same.
unsafe fn copy_elements(
    (to, to_apart): (*mut u8, usize),
    (from, from_apart): (*const u8, usize),
    element: usize,
    n: usize,
) {
    if to_apart == element && from_apart == element {
        // SAFETY: the elements are one block on both sides.
        return unsafe { ptr::copy(from, to, n * element) };
    }
    for i in 0..n {
        let (to, from) = (to.wrapping_add(i * to_apart), from.wrapping_add(i * from_apart));
        // SAFETY: an element on both sides, by this function's own demand.
        unsafe {
            match element {
                1 => to.write(from.read()),
                2 => to.cast::<u16>().write_unaligned(from.cast::<u16>().read_unaligned()),
                4 => to.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned()),
                8 => to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()),
                16 => to.cast::<u128>().write_unaligned(from.cast::<u128>().read_unaligned()),
                _ => ptr::copy(from, to, element),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::copy_elements;

    #[test]
    fn elements_of_every_size_are_copied_wherever_they_lie() {
        let from: Vec<u8> = (0..=255).collect();
        for element in [1, 2, 3, 4, 8, 16, 24] {
            // Neither side is aligned.
            let [(to_at, to_apart), (from_at, from_apart)] = [(3, 2 * element), (1, 3 * element)];
            let (mut to, mut expected) = (vec![0_u8; 256], vec![0_u8; 256]);
            for i in 0..4 {
                let moved = &from[from_at + i * from_apart..][..element];
                expected[to_at + i * to_apart..][..element].copy_from_slice(moved);
            }
            let places = (to.as_mut_ptr().wrapping_add(to_at), from.as_ptr().wrapping_add(from_at));
            // SAFETY: the last of the four elements ends inside both arrays, which are apart.
            unsafe { copy_elements((places.0, to_apart), (places.1, from_apart), element, 4) };
            assert_eq!(to, expected, "{element} bytes");
        }
    }
}
