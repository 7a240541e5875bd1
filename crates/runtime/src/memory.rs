//! The symmetric heap of one PE: the allocator's offsets, and the pages behind them.

use oxshmem_base::{Error, size};
use oxshmem_heap::{Exhausted, Heap, Refused, Resized};
use oxshmem_os::memory::{self as machine, SharedMemory};

use crate::fast::FAST;
use crate::network;

/// Grows in steps of this many bytes, so that small allocations do not each ask the kernel.
const STEP: u64 = 1 << 20;

/// The heap of one life.
pub(crate) struct SymmetricHeap {
    blocks: Heap,
    file: SharedMemory,
    /// Where the caller's window begins in the file.
    at: u64,
    /// How many bytes from there are backed with pages.
    committed: u64,
    page: u64,
    /// Whether the cap is the user's.
    limited: bool,
    /// The blocks before a resize on which the PEs have not agreed yet.
    before_resize: Option<Heap>,
}

/// A block that was allocated, or what stood in the way.
pub(crate) type Allocation = Result<u64, Error>;

impl SymmetricHeap {
    pub(crate) fn new(file: SharedMemory, at: u64, cap: u64, page: u64, limited: bool) -> Self {
        Self { blocks: Heap::new(cap), file, at, committed: 0, page, limited, before_resize: None }
    }

    /// The most it can hold.
    pub(crate) fn capacity(&self) -> u64 {
        self.blocks.capacity()
    }

    /// One line for `SHMEM_INFO`.
    pub(crate) fn describe(&self) -> String {
        format!("symmetric heap of at most {} in pages of {}", size::display(self.capacity()), size::display(self.page))
    }

    /// A hash of all calls so far: equal on all PEs that made the same calls.
    pub(crate) fn sequence(&self) -> u64 {
        self.blocks.sequence()
    }

    /// Allocates `bytes` bytes and backs them with memory. `call` is for messages.
    pub(crate) fn allocate(&mut self, call: &str, bytes: u64, align: u64) -> Allocation {
        let offset = self.blocks.allocate(bytes, align).map_err(|full| self.exhausted(call, bytes, &full))?;
        if let Err(error) = self.back(call) {
            let _ = self.blocks.free(offset);
            return Err(error);
        }
        Ok(offset)
    }

    /// Frees the block at `offset`; `false` if there is none.
    pub(crate) fn free(&mut self, offset: u64) -> bool {
        self.blocks.free(offset).is_ok()
    }

    /// Changes the size of a block. Nothing has moved yet; [`Self::undo`] takes it back.
    pub(crate) fn resize(&mut self, call: &str, offset: u64, bytes: u64) -> Result<Resized, Error> {
        let before = self.blocks.clone();
        let resized = self.blocks.resize(offset, bytes).map_err(|refused| match refused {
            Refused::Exhausted(full) => self.exhausted(call, bytes, &full),
            Refused::NotABlock(_) => Error::new(format!("{call}: no block begins at offset {offset} of the heap"))
                .because("it was freed, or never allocated")
                .fix("pass what a symmetric allocation returned"),
        })?;
        let backed = self.back(call);
        self.before_resize = Some(before);
        backed.map(|()| resized)
    }

    /// Takes back the last resize, which failed on some PE.
    pub(crate) fn undo(&mut self) {
        if let Some(before) = self.before_resize.take() {
            self.blocks = before;
        }
    }

    /// The last resize has succeeded on all PEs.
    pub(crate) fn settle(&mut self) {
        self.before_resize = None;
    }

    /// Backs everything up to the allocator's high-water mark with pages.
    fn back(&mut self, call: &str) -> Result<(), Error> {
        let need = self.blocks.high_water();
        if need <= self.committed {
            return Ok(());
        }
        let step = STEP.max(self.page);
        let rounded = |need: u64| need.next_multiple_of(step).min(self.capacity().next_multiple_of(self.page));
        let free = machine::available();
        // Registrations are few if each is a part of what is there already.
        let roomy = rounded(need + need / 8);
        let to = match network::registers_growth() && roomy - self.committed <= free.bytes / 2 {
            true => roomy,
            false => rounded(need),
        };
        let more = to - self.committed;
        // Beyond a control group's limit the kernel kills instead of refusing, so ask first. Huge pages are a reserve
        // of their own, which refuses.
        if self.page <= machine::page_size() as u64 && more > free.bytes {
            return Err(self.refused(
                call,
                more,
                &format!("{} are free ({})", size::display(free.bytes), free.limited_by),
            ));
        }
        let backed = self.file.commit(self.at + self.committed, more);
        backed.map_err(|error| self.refused(call, more, &format!("the kernel says: {error}")))?;
        self.committed = to;
        FAST.heap.grow(self.committed as usize);
        network::heap_has_grown(self.committed as usize)
    }

    fn refused(&self, call: &str, more: u64, why: &str) -> Error {
        Error::new(format!("{call}: this node has no {} more for the symmetric heap", size::display(more)))
            .because(format!("{} of it are backed already; {why}", size::display(self.committed)))
            .fix("allocate less, run fewer PEs on the node, or raise its limit of memory")
    }

    fn exhausted(&self, call: &str, bytes: u64, full: &Exhausted) -> Error {
        let cap = if self.limited { "SHMEM_SYMMETRIC_SIZE" } else { "the memory of this machine" };
        Error::new(format!("{call}: no room for {} in the symmetric heap", size::display(bytes)))
            .because(format!(
                "{} of {} ({cap}) are in use; the largest free block has {}",
                size::display(full.in_use),
                size::display(full.capacity),
                size::display(full.largest_free)
            ))
            .fix("set SHMEM_SYMMETRIC_SIZE to what each PE needs in all, or allocate less")
    }

    /// Where the block around `offset` begins.
    pub(crate) fn block_around(&self, offset: u64) -> Option<u64> {
        self.blocks.block_at(offset).map(|block| block.offset)
    }

    /// Why `bytes` bytes at `offset` are not inside one block; `None` if they are.
    pub(crate) fn outside_block(&self, offset: u64, bytes: u64) -> Option<String> {
        match self.blocks.block_at(offset) {
            None => Some(format!("no block is allocated at offset {offset} of the heap")),
            Some(block) if offset + bytes > block.offset + block.size => Some(format!(
                "the block has {} bytes and the transfer ends at its byte {}",
                block.size,
                offset + bytes - block.offset
            )),
            Some(_) => None,
        }
    }
}
