//! The symmetric heap of one PE: the allocator's offsets, and the pages behind them.
//!
//! A call first finds a [place](SymmetricHeap::place) and backs nothing. When all PEs have a place, each backs its own
//! ([`SymmetricHeap::back`]) with what `node_limits` has granted its node, and when all have done so the call
//! [stands](SymmetricHeap::settle). Otherwise all PEs [take it back](SymmetricHeap::take_back), the pages as well.

mod bound;
mod growth;
mod room;

use oxshmem_base::{Error, ErrorKind, size};
use oxshmem_heap::{Block, Exhausted, Heap, MIN_ALIGN, Refused, Resized};
use oxshmem_os::memory::{self as machine, SharedMemory};

use crate::memory::direct::FAST;
use crate::memory::guard::{Guard, OwnHeap, REDZONE};
use crate::network;

pub(crate) use bound::HeapBound;
pub(crate) use room::HeapSize;

/// The heap of one life.
pub(crate) struct SymmetricHeap {
    blocks: Heap,
    size: HeapSize,
    /// `None` once the life has ended.
    file: Option<SharedMemory>,
    /// Where the caller's window begins in the file.
    at: u64,
    /// How many bytes from there are backed with pages.
    committed: u64,
    page: u64,
    /// The reason for the size.
    bound: HeapBound,
    /// The call on which the PEs have not agreed yet.
    open: Option<Open>,
    /// At `SHMEM_CHECK=3`.
    guard: Option<Guard>,
}

/// A call that may be taken back.
struct Open {
    blocks: Change,
    /// How many bytes were backed before.
    committed: u64,
}

enum Change {
    /// A block was allocated.
    Placed { offset: u64, high_water: u64 },
    /// The block `before` was resized.
    Resized { before: Block, now_at: u64, high_water: u64 },
}

impl SymmetricHeap {
    pub(crate) fn new(file: SharedMemory, at: u64, size: HeapSize, page: u64, bound: HeapBound) -> Self {
        let blocks = Heap::new(size.cap);
        Self { blocks, size, file: Some(file), at, committed: 0, page, bound, open: None, guard: None }
    }

    pub(crate) fn size(&self) -> HeapSize {
        self.size
    }

    /// No PE's heap can hold more than this one: what other nodes have, before the first allocation.
    pub(crate) fn limit(&mut self, cap: u64) {
        if cap < self.size.cap {
            self.size.cap = cap;
            self.bound = HeapBound::OtherNode;
            self.blocks = Heap::new(cap);
        }
    }

    /// Guards the blocks from now on: on all PEs, before the first allocation. The guards are no part of what the program may have.
    pub(crate) fn guard(&mut self, capacity: u64) {
        self.guard = Some(Guard::default());
        self.blocks = Heap::new(capacity.min(self.size.guarded()));
    }

    pub(crate) fn is_guarded(&self) -> bool {
        self.guard.is_some()
    }

    /// Paints what guards the new block at `offset`, whose memory is there.
    pub(crate) fn paint(&mut self, offset: u64) {
        if let Some(guard) = &mut self.guard {
            guard.paint(&own_memory(), offset);
        }
    }

    /// A write that should not have been, if blocks are guarded and there was one.
    pub(crate) fn damage(&self, call: &str) -> Option<Error> {
        self.guard.as_ref()?.damage(call, &own_memory())
    }

    /// The blocks that were never freed, if blocks are guarded.
    pub(crate) fn leaks(&self) -> Vec<String> {
        self.guard.as_ref().map_or_else(Vec::new, Guard::leaks)
    }

    /// See [`Guard::set_replaced`].
    pub(crate) fn set_replaced(&mut self, offset: Option<u64>) {
        if let Some(guard) = &mut self.guard {
            guard.set_replaced(offset);
        }
    }

    /// The size of the guarded block that begins at `offset`.
    pub(crate) fn guarded_size(&self, offset: u64) -> Option<u64> {
        self.guard.as_ref()?.size(offset)
    }

    /// The end of the highest block there ever was.
    pub(crate) fn high_water(&self) -> u64 {
        self.blocks.high_water()
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.blocks.capacity()
    }

    /// The kind of the error when `asked` bytes cannot be had.
    pub(crate) fn out_of_memory(&self, asked: u64) -> ErrorKind {
        ErrorKind::out_of_memory(asked, self.blocks.largest_free(), self.capacity())
    }

    /// The size of the pages behind it.
    pub(crate) fn page(&self) -> u64 {
        self.page
    }

    /// One line for `SHMEM_INFO`.
    pub(crate) fn describe(&self) -> String {
        format!("symmetric heap of at most {} in pages of {}", size::display(self.size.cap), size::display(self.page))
    }

    /// A fingerprint of all calls so far: equal on all PEs that made the same calls.
    pub(crate) fn fingerprint(&self) -> u64 {
        self.blocks.fingerprint()
    }

    /// See [`Heap::note`].
    pub(crate) fn note(&mut self, word: u64) {
        self.blocks.note(word);
    }

    /// Finds a place for `bytes` bytes. `call` is for messages.
    pub(crate) fn place(&mut self, call: &str, bytes: u64, align: u64) -> Result<u64, Error> {
        let high_water = self.blocks.high_water();
        let in_use = self.guard.as_ref().map_or(0, Guard::in_use);
        if self.is_guarded() && bytes > self.size.cap.saturating_sub(in_use) && align <= self.capacity() {
            let capacity = self.size.cap;
            let full = Exhausted { largest_free: capacity.saturating_sub(in_use), in_use, capacity };
            return Err(self.exhausted(call, bytes, align, &full));
        }
        let (before, behind) = if self.is_guarded() { (align.max(REDZONE), REDZONE) } else { (0, 0) };
        let extent = bytes.saturating_add(before + behind);
        let mut placed = self.blocks.allocate(extent, align);
        if placed.is_err() && self.guard.is_some() {
            self.give_freed();
            placed = self.blocks.allocate(extent, align);
        }
        let offset = before
            + placed.map_err(|full| {
                if align > self.capacity() {
                    self.unaligned(call, align)
                } else {
                    self.exhausted(call, bytes, align, &full)
                }
            })?;
        if let Some(guard) = &mut self.guard {
            guard.add(offset - before, offset, bytes);
        }
        self.open = Some(Open { blocks: Change::Placed { offset, high_water }, committed: self.committed });
        Ok(offset)
    }

    /// How many bytes at the start of the new block, which has `bytes` bytes and is not agreed on yet, may not be zero. Above the
    /// former high-water mark all is as the kernel gave it: the file was made for this life, no block was ever there, and blocks
    /// that were taken back hold zeros. A program that stores beyond its blocks loses the zeros there, as with the calloc of C
    /// libraries. Guards hold patterns, also of blocks that were taken back.
    pub(crate) fn used_part(&self, bytes: u64) -> u64 {
        match &self.open {
            Some(Open { blocks: Change::Placed { offset, high_water }, .. }) if !self.is_guarded() => {
                high_water.saturating_sub(*offset).min(bytes)
            }
            _ => bytes,
        }
    }

    /// Frees the block at `offset`; `false` if there is none.
    pub(crate) fn free(&mut self, offset: u64) -> bool {
        let Some(guard) = &mut self.guard else { return self.blocks.free(offset).is_ok() };
        let Some((block, given)) = guard.free(&own_memory(), offset) else { return false };
        self.blocks.retire(block).is_ok() && given.into_iter().all(|block| self.blocks.reuse(block).is_ok())
    }

    /// Releases freed blocks that are only kept for checks.
    fn give_freed(&mut self) {
        let given = self.guard.as_mut().map_or_else(Vec::new, Guard::give_all);
        for block in given {
            self.blocks.reuse(block).expect("a block that is kept is the allocator's");
        }
    }

    /// Finds a place for a block of another size. Nothing has moved yet.
    pub(crate) fn resize(&mut self, call: &str, offset: u64, bytes: u64) -> Result<Resized, Error> {
        let high_water = self.blocks.high_water();
        // Where there is no block, the resize is refused.
        let before = Block { offset, size: self.blocks.size_of(offset).unwrap_or(0) };
        let resized = self.blocks.resize(offset, bytes).map_err(|refused| match refused {
            Refused::Exhausted(full) => self.exhausted(call, bytes, MIN_ALIGN, &full),
            Refused::NotABlock(_) => Error::new(format!("{call}: no block begins at offset {offset} of the heap"))
                .because("it was freed, or never allocated")
                .fix("pass what a symmetric allocation returned"),
        })?;
        let now_at = match resized {
            Resized::InPlace => offset,
            Resized::Moved { to, .. } => to,
        };
        self.open = Some(Open { blocks: Change::Resized { before, now_at, high_water }, committed: self.committed });
        Ok(resized)
    }

    /// The last call has succeeded on all PEs.
    pub(crate) fn settle(&mut self) {
        self.open = None;
    }

    /// Takes back the last call, which failed on some PE: the blocks are as if it had been refused here too, and pages that
    /// it brought are given back, unless a card has them registered.
    pub(crate) fn take_back(&mut self) {
        let Some(open) = self.open.take() else { return };
        match open.blocks {
            Change::Placed { offset, high_water } => {
                let block = self.guard.as_mut().and_then(|guard| guard.withdraw(offset)).unwrap_or(offset);
                self.blocks.withdraw(block, high_water)
            }
            Change::Resized { before, now_at, high_water } => self.blocks.undo_resize(now_at, before, high_water),
        }
        if self.committed > open.committed && !network::registers_growth() {
            FAST.heap.grow(open.committed as usize);
            self.release(open.committed, self.committed);
            self.committed = open.committed;
        }
    }

    /// Backs `more` bytes with pages, in pieces of at most `piece` bytes; before each but the first `look` says whether there
    /// is still memory for it. After an error it has taken nothing.
    pub(crate) fn back(
        &mut self,
        call: &str,
        more: u64,
        piece: u64,
        mut look: impl FnMut() -> Result<(), String>,
    ) -> Result<(), Error> {
        let (from, to) = (self.committed, self.committed + more);
        let piece = piece.next_multiple_of(self.page);
        let mut at = from;
        while at < to {
            let looked = if at > from { look() } else { Ok(()) };
            let bytes = piece.min(to - at);
            let backed = looked.and_then(|()| {
                self.file().commit(self.at + at, bytes).map_err(|error| format!("the kernel says: {error}"))
            });
            if let Err(why) = backed {
                self.release(from, at + bytes);
                return Err(self.refused(call, more, &why));
            }
            at += bytes;
        }
        self.committed = to;
        FAST.heap.grow(to as usize);
        machine::show_in_core(FAST.heap.own().0, to as usize);
        network::heap_has_grown(to as usize).inspect_err(|_| {
            self.committed = from;
            FAST.heap.grow(from as usize);
            self.release(from, to);
        })
    }

    /// Closes the file at the end of the life. A descriptor keeps the pages of all PEs of the node, mapped or not.
    pub(crate) fn close(&mut self) {
        self.file = None;
    }

    fn file(&self) -> &SharedMemory {
        self.file.as_ref().expect("no heap call comes after the last finalize")
    }

    fn release(&self, from: u64, to: u64) {
        if let Err(error) = self.file().release(self.at + from, to - from) {
            tracing::debug!(%error, "pages of a refused allocation stay");
        }
        machine::hide_from_core(FAST.heap.own().0 + from as usize, (to - from) as usize);
    }

    /// Why `more` bytes cannot be had here.
    pub(crate) fn refused(&self, call: &str, more: u64, why: &str) -> Error {
        let fix = if self.page > machine::page_size() as u64 {
            "reserve more huge pages (sysctl vm.nr_hugepages), or unset SHMEM_SYMMETRIC_HEAP_USE_HUGE_PAGES, or allocate less"
        } else {
            "allocate less, run fewer PEs on the node, or raise its limit of memory"
        };
        Error::new(format!("{call}: this node has no {} more for the symmetric heap", size::display(more)))
            .because(format!("{} of it are backed already; {why}", size::display(self.committed)))
            .fix(fix)
    }

    fn unaligned(&self, call: &str, align: u64) -> Error {
        if self.capacity() == 0 {
            return self.bound.without_bytes(call);
        }
        Error::new(format!("{call}: no block can begin at a multiple of {align} bytes"))
            .because(format!(
                "the symmetric heap has {}, and alignments up to that size",
                size::display(self.capacity())
            ))
            .fix("check how the program computes the alignment, or use a smaller one")
    }

    fn exhausted(&self, call: &str, bytes: u64, align: u64, full: &Exhausted) -> Error {
        if bytes > i64::MAX as u64 {
            return Error::new(format!("{call}: the size is {bytes} bytes, more than half of all addresses"))
                .because(format!("as a signed number it is {}", bytes as i64))
                .fix("check how the program computes the size: it is negative, or has overflowed");
        }
        let (bound, fix) = self.bound.when_full();
        // A free block that is long enough may lie badly.
        let place = if align > MIN_ALIGN {
            format!("at a multiple of {} in the symmetric heap", size::display(align))
        } else {
            "in the symmetric heap".to_owned()
        };
        Error::new(format!("{call}: no room for {} {place}", size::display(bytes)))
            .because(format!(
                "{} of {} ({bound}) are in use; the largest free block has {}",
                size::display(full.in_use),
                size::display(full.capacity),
                size::display(full.largest_free)
            ))
            .fix(fix)
    }

    /// Where the block around `offset` begins.
    pub(crate) fn block_around(&self, offset: u64) -> Option<u64> {
        match &self.guard {
            Some(guard) => guard.block_around(offset),
            None => self.blocks.block_at(offset).map(|block| block.offset),
        }
    }

    /// Where the block around `offset` begins, and how many bytes it has.
    pub(crate) fn sized_block_around(&self, offset: u64) -> Option<(u64, u64)> {
        match &self.guard {
            Some(guard) => guard.block_around(offset).and_then(|start| Some((start, guard.size(start)?))),
            None => self.blocks.block_at(offset).map(|block| (block.offset, block.size)),
        }
    }

    /// The block around `offset` that was freed, in words, if that is known.
    pub(crate) fn freed_block(&self, offset: u64) -> Option<String> {
        self.guard.as_ref()?.freed_block(offset)
    }

    /// Whether `offset` is known to lie in a block that was freed.
    pub(crate) fn is_freed(&self, offset: u64) -> bool {
        self.guard.as_ref().is_some_and(|guard| guard.is_freed(offset))
    }

    /// Why `bytes` bytes at `offset` are not inside one block; `None` if they are.
    pub(crate) fn outside_block(&self, offset: u64, bytes: u64) -> Option<String> {
        if let Some(guard) = &self.guard {
            return guard.refuses(offset, bytes);
        }
        match self.blocks.block_at(offset) {
            None => Some(format!("no block is allocated at offset {offset} of the heap")),
            Some(block) if offset + bytes > block.offset + block.size => Some(format!(
                "the block has {} and the transfer ends at its byte {}",
                size::counted(block.size),
                offset + bytes - block.offset
            )),
            Some(_) => None,
        }
    }
}

fn own_memory() -> OwnHeap {
    let (start, len) = FAST.heap.own();
    // SAFETY: the data path's table says what is mapped and backed; it is closed after the heap's last use.
    unsafe { OwnHeap::new(start, len) }
}

#[cfg(test)]
mod tests;
