//! The symmetric heap's allocator, on offsets: same calls, same offsets on every PE.
//!
//! It never touches the memory it hands out. Every PE runs it on its own and all come to the same result, because the
//! calls are collective and nothing else enters: no address, no time, no randomness.
#![forbid(unsafe_code)]

mod free;

use free::FreeParts;
use std::collections::BTreeMap;
use std::fmt;

/// Offsets and extents of blocks are multiples of this, which suits every C type and vectors. All calls use it: with a smaller
/// alignment, small blocks would leave free parts between them that fit no block, and each call would look at all of these parts.
pub const MIN_ALIGN: u64 = 64;

/// Blocks from this size on begin at a page, where there is room, so that few of them share a (huge) page.
const BIG: u64 = 2 << 20;
const PAGE: u64 = 4096;

/// The heap of one PE.
#[derive(Clone, Debug)]
pub struct Heap {
    capacity: u64,
    /// The size that was asked for, by offset.
    blocks: BTreeMap<u64, u64>,
    free: FreeParts,
    /// The bytes that all blocks take together.
    in_use: u64,
    high_water: u64,
    fingerprint: u64,
}

/// A block that is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Where it begins.
    pub offset: u64,
    /// How many bytes were asked for.
    pub size: u64,
}

impl Block {
    /// Where it ends.
    pub fn end(&self) -> u64 {
        self.offset + self.size
    }
}

/// The result of a resize.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Resized {
    /// It is where it was.
    InPlace,
    /// It is at `to` now. The first `copy` bytes have to be moved there; the places may overlap.
    Moved {
        /// Where it begins now.
        to: u64,
        /// How many bytes were used before and still are.
        copy: u64,
    },
}

/// The reason for a refusal. The heap is as it was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// No free part fits the block.
    Exhausted(Exhausted),
    /// There is no block at this offset.
    NotABlock(NotABlock),
}

/// No free part has the size and alignment asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted {
    /// The largest block that still fits, with the least alignment.
    pub largest_free: u64,
    /// The bytes that all blocks take together.
    pub in_use: u64,
    /// The size of the heap.
    pub capacity: u64,
}

/// No block in use begins here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotABlock {
    /// The offset that was given.
    pub offset: u64,
    /// The block it lies inside of, if any.
    pub inside: Option<Block>,
}

impl Heap {
    /// An empty heap of `capacity` bytes; less than a whole multiple of [`MIN_ALIGN`] at the end is not used.
    pub fn new(capacity: u64) -> Self {
        let capacity = capacity & !(MIN_ALIGN - 1);
        let free = FreeParts::whole(capacity);
        Heap { capacity, blocks: BTreeMap::new(), free, in_use: 0, high_water: 0, fingerprint: 0 }
    }

    /// Takes `size` bytes that begin at a multiple of `align`, a power of two. An alignment that exceeds the capacity is refused,
    /// because the heap's own start has no such alignment. Of the free parts where they fit it takes
    /// the smallest, of equal ones the lowest. With an alignment beyond [`MIN_ALIGN`] it may pass over a part that lies well by
    /// chance for a longer one, unless there is no other. A size of zero takes the least block there is.
    pub fn allocate(&mut self, size: u64, align: u64) -> Result<u64, Exhausted> {
        self.record([1, size, align]);
        self.place(size, align)
    }

    /// Adds a word about the next call to the fingerprint, which changes nothing else.
    pub fn note(&mut self, word: u64) {
        self.record([4, word, 0]);
    }

    /// Gives a block back. Returns the size it was asked for with.
    pub fn free(&mut self, offset: u64) -> Result<u64, NotABlock> {
        self.record([2, offset, 0]);
        self.remove(offset)
    }

    /// A call gives a block back whose memory stays out of use until [`Self::reuse`]. The fingerprint includes the call from now on, so
    /// that it does not depend on when the memory is used again.
    pub fn retire(&mut self, offset: u64) -> Result<(), NotABlock> {
        self.record([2, offset, 0]);
        self.size_of(offset).map(drop)
    }

    /// Makes the memory of a block that was retired available.
    pub fn reuse(&mut self, offset: u64) -> Result<(), NotABlock> {
        self.remove(offset).map(drop)
    }

    /// Changes a block's size, in place if possible. A moved block is aligned to [`MIN_ALIGN`] again.
    pub fn resize(&mut self, offset: u64, new_size: u64) -> Result<Resized, Refused> {
        self.record([3, offset, new_size]);
        let old_size = self.size_of(offset).map_err(Refused::NotABlock)?;
        if self.resize_in_place(offset, old_size, new_size) {
            return Ok(Resized::InPlace);
        }
        let copy = old_size.min(new_size);
        // A place apart from the old one is tried first: it leaves what lies between free for other blocks.
        let apart = self.place(new_size, MIN_ALIGN);
        self.remove(offset).expect("looked up above");
        // A refusal tells what is free beside the old block, which stays then.
        let placed = apart.or_else(|exhausted| self.place(new_size, MIN_ALIGN).map_err(|_| exhausted));
        placed.map(|to| Resized::Moved { to, copy }).map_err(|exhausted| {
            self.insert(offset, old_size);
            Refused::Exhausted(exhausted)
        })
    }

    /// Takes back the last allocation, which is at `offset`: the heap is as if there had been no room for it. `high_water` is
    /// what it was before.
    pub fn withdraw(&mut self, offset: u64, high_water: u64) {
        self.remove(offset).expect("the caller has just allocated it");
        self.high_water = high_water;
    }

    /// Takes back the last resize, by which the block `before` came to be at `now_at`: the heap is as if there had been no room
    /// for it. The fingerprint keeps the call, which was made. `high_water` is what it was before.
    pub fn undo_resize(&mut self, now_at: u64, before: Block, high_water: u64) {
        self.remove(now_at).expect("the caller has just resized it");
        self.insert(before.offset, before.size);
        self.high_water = high_water;
    }

    /// The block that contains this offset.
    pub fn block_at(&self, offset: u64) -> Option<Block> {
        let (&start, &size) = self.blocks.range(..=offset).next_back()?;
        Some(Block { offset: start, size }).filter(|block| offset < block.end())
    }

    /// The size that the block at this offset was asked for with.
    pub fn size_of(&self, offset: u64) -> Result<u64, NotABlock> {
        let size = self.blocks.get(&offset).copied();
        size.ok_or_else(|| NotABlock { offset, inside: self.block_at(offset) })
    }

    /// The size of the heap.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The end of the highest block there ever was: no memory behind it was ever used.
    pub fn high_water(&self) -> u64 {
        self.high_water
    }

    /// The largest block that fits, with the least alignment.
    pub fn largest_free(&self) -> u64 {
        self.free.largest()
    }

    /// A fingerprint of all calls so far. Where it differs between PEs, their calls differed.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    fn place(&mut self, size: u64, align: u64) -> Result<u64, Exhausted> {
        let exhausted = Exhausted { largest_free: self.free.largest(), in_use: self.in_use, capacity: self.capacity };
        let extent = extent(size).ok_or(exhausted)?;
        let align = Some(align.max(MIN_ALIGN))
            .filter(|align| align.is_power_of_two() && *align <= self.capacity())
            .ok_or(exhausted)?;
        let preferred = if size >= BIG { align.max(PAGE) } else { align };
        let place = self.free.fit(extent, preferred).or_else(|| self.free.fit(extent, align)).ok_or(exhausted)?;
        self.insert(place, size);
        Ok(place)
    }

    /// Makes a block at a place known to be free.
    fn insert(&mut self, offset: u64, size: u64) {
        let extent = extent(size).expect("it fits the heap");
        self.free.take(offset, extent);
        self.blocks.insert(offset, size);
        self.in_use += extent;
        self.high_water = self.high_water.max(offset + extent);
    }

    fn remove(&mut self, offset: u64) -> Result<u64, NotABlock> {
        let size = self.size_of(offset)?;
        let extent = extent(size).expect("it fits the heap");
        self.blocks.remove(&offset);
        self.free.give(offset, extent);
        self.in_use -= extent;
        Ok(size)
    }

    fn resize_in_place(&mut self, offset: u64, old_size: u64, new_size: u64) -> bool {
        let old = extent(old_size).expect("it fits the heap");
        let Some(new) = extent(new_size) else {
            return false;
        };
        let room = old + self.free.length_at(offset + old);
        if new > room {
            return false;
        }
        self.remove(offset).expect("the caller looked it up");
        self.insert(offset, new_size);
        true
    }

    fn record(&mut self, call: [u64; 3]) {
        for word in call {
            let mixed = (self.fingerprint ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            self.fingerprint = (mixed ^ mixed >> 32).wrapping_add(1);
        }
    }
}

/// The bytes that a block of this size takes.
fn extent(size: u64) -> Option<u64> {
    size.max(1).checked_next_multiple_of(MIN_ALIGN)
}

impl fmt::Display for NotABlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let offset = self.offset;
        match self.inside {
            Some(block) => {
                let into = offset - block.offset;
                write!(f, "it lies {into} bytes inside a block of {} bytes", block.size)
            }
            None => write!(f, "no block contains offset {offset} of the symmetric heap; was it freed before?"),
        }
    }
}

#[cfg(test)]
mod tests;
