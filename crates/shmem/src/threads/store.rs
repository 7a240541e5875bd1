//! The PEs' memory: for each a heap, and its copies of the static variables that the program has used.

use core::ptr;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};

use oxshmem_heap::Heap;
use oxshmem_transport::loopback::Loopback;
use oxshmem_transport::{Fabric, Region, Segment};
use parking_lot::{Mutex, MutexGuard};

use crate::{Error, ErrorKind, reactor};

/// Of everything: what a page has, which is more than any type asks for.
const ALIGNMENT: usize = 4096;

pub(super) struct ThreadMemory {
    heaps: Vec<Arena>,
    statics: Vec<Arena>,
    /// The heaps' blocks are the same everywhere; each call is made once, by the first of its PEs.
    plan: Mutex<SharedPlan>,
}

struct SharedPlan {
    heap: Heap,
    known: Vec<Static>,
}

/// A static variable of the program, which is the first value of each PE's copy and never written.
struct Static {
    address: usize,
    bytes: usize,
    offset: usize,
}

/// Zeroed memory.
struct Arena {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: memory that its owner gives back, wherever that is; a thread that touches it has the turn.
unsafe impl Send for Arena {}
// SAFETY: references to an arena give away its address only; a thread that reads or writes the memory has the turn.
unsafe impl Sync for Arena {}

impl ThreadMemory {
    pub(super) fn new(pes: usize, bytes: usize) -> Result<Self, Error> {
        let layout = Layout::from_size_align(bytes.max(ALIGNMENT), ALIGNMENT).map_err(|reason| {
            Error::new(format!("a world of threads cannot have {bytes} bytes for each PE"))
                .because(reason)
                .fix("ask for less")
        })?;
        let arenas = || (0..pes).map(|_| Arena::new(layout)).collect();
        let plan = SharedPlan { heap: Heap::new(layout.size() as u64), known: Vec::new() };
        Ok(Self { heaps: arenas(), statics: arenas(), plan: Mutex::new(plan) })
    }

    pub(super) fn register(&self, pe: usize, fabric: &Loopback) -> Result<(), Error> {
        for (region, arena) in [(Region::Heap, &self.heaps[pe]), (Region::Statics, &self.statics[pe])] {
            fabric.register(region, Segment { base: arena.start, len: arena.bytes })?;
        }
        Ok(())
    }

    fn plan(&self) -> MutexGuard<'_, SharedPlan> {
        self.plan.lock()
    }

    /// A block in every PE's heap, by its offset.
    pub(super) fn allocate(&self, bytes: usize) -> Option<u64> {
        self.plan().heap.allocate(bytes as u64, 64).ok()
    }

    /// Why `bytes` bytes cannot be had.
    pub(super) fn exhausted(&self, call: &str, bytes: usize) -> Error {
        let plan = self.plan();
        let (free, all) = (plan.heap.largest_free(), plan.heap.capacity());
        Error::new(format!("{call}: no room for {bytes} bytes in the symmetric heap"))
            .because(format!("its {all} bytes have a largest free block of {free}"))
            .fix("give the world of threads more with Threads::memory, or allocate less")
            .of_kind(ErrorKind::out_of_memory(bytes as u64, free, all))
    }

    pub(super) fn free(&self, offset: u64) -> Result<(), Error> {
        self.plan().heap.free(offset).map(drop).map_err(|reason| {
            Error::new("shmem_free: not a block").because(reason).fix("free what shmem_malloc has returned, once")
        })
    }

    /// The address of an offset of PE `pe`'s heap.
    pub(super) fn in_heap(&self, pe: usize, offset: u64) -> *mut u8 {
        self.heaps[pe].start.wrapping_add(offset as usize)
    }

    /// Where `bytes` bytes at PE `pe`'s `address` are, for all PEs.
    pub(super) fn locate(&self, pe: usize, address: *const u8, bytes: usize) -> Option<(Region, u64)> {
        let of = |region, arena: &Arena| arena.offset_of(address, bytes).map(|offset| (region, offset as u64));
        of(Region::Heap, &self.heaps[pe]).or_else(|| of(Region::Statics, &self.statics[pe]))
    }

    /// PE `pe`'s copy of what is at `address`: that itself if it is in the PE's memory, otherwise of a static variable.
    pub(super) fn own_copy(&self, pe: usize, address: *mut u8, bytes: usize) -> *mut u8 {
        if bytes == 0 || self.locate(pe, address, bytes).is_some() {
            return address;
        }
        let mut plan = self.plan();
        let place = address.addr();
        let known = plan.known.iter().find(|known| known.address == place && known.bytes >= bytes);
        let offset = known.map_or_else(|| self.place_for(&plan.known, bytes), |known| known.offset);
        if known.is_none() {
            for arena in &self.statics {
                // SAFETY: the variable has the bytes, as the caller that names its type promises, and the arena has
                // room for them.
                unsafe { ptr::copy_nonoverlapping(address, arena.start.wrapping_add(offset), bytes) }
            }
            plan.known.push(Static { address: place, bytes, offset });
        }
        self.statics[pe].start.wrapping_add(offset)
    }

    /// Room for another static variable.
    fn place_for(&self, known: &[Static], bytes: usize) -> usize {
        let offset = known.last().map_or(0, |last| (last.offset + last.bytes).next_multiple_of(64));
        let room = self.statics[0].bytes;
        if offset + bytes > room {
            panic!("the static variables have more than the {room} bytes of a world of threads: ask for more");
        }
        offset
    }
}

impl Drop for ThreadMemory {
    fn drop(&mut self) {
        for heap in &self.heaps {
            // A task that was forgotten may still wait for a variable there.
            reactor::forget(ptr::slice_from_raw_parts(heap.start, heap.bytes));
        }
        // References to static variables live for ever, and so do the copies that they may have led to.
        if !self.plan().known.is_empty() {
            static KEPT: Mutex<Vec<Arena>> = Mutex::new(Vec::new());
            KEPT.lock().append(&mut self.statics);
        }
    }
}

impl Arena {
    fn new(layout: Layout) -> Self {
        // SAFETY: the layout has a size.
        let start = unsafe { alloc_zeroed(layout) };
        if start.is_null() {
            handle_alloc_error(layout);
        }
        Self { start, bytes: layout.size() }
    }

    fn offset_of(&self, address: *const u8, bytes: usize) -> Option<usize> {
        let offset = address.addr().wrapping_sub(self.start.addr());
        (offset < self.bytes && bytes <= self.bytes - offset).then_some(offset)
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: made by `new` with this layout, which was checked then; no reference to it is left.
        unsafe { dealloc(self.start, Layout::from_size_align_unchecked(self.bytes, ALIGNMENT)) }
    }
}
