//! Where everything lies in the memory that detectors share.

use std::sync::atomic::{AtomicU32, AtomicU64};

use oxshmem_race::cell::{CellHalf, ShadowPart};
use oxshmem_race::clock::ClockShape;
use oxshmem_race::memory::PAIRS;
use oxshmem_race::{PublishedClocks, PublishedLengths, SharedState, SignalList, WordSet};

/// The bytes of a cell, which stands for 8. Those of its back half are touched where more than two accesses are remembered.
pub(crate) const CELL: usize = 2 * size_of::<CellHalf>();

/// Where everything is in the shared memory.
pub(crate) struct SharedLayout {
    shape: ClockShape,
    heap_cells: usize,
    static_cells: usize,
    clocks: usize,
    published: PublishedLengths,
    locks: usize,
    sets: usize,
    firsts: usize,
    rests: usize,
    lost: usize,
    pairs: usize,
    signals: usize,
    /// Where the shadows begin, which are the last part.
    pub(crate) shadows: usize,
    /// All of it, in bytes.
    pub(crate) len: usize,
}

impl SharedLayout {
    /// Room for clocks of this shape, and the shadows of so many bytes of each PE's heap and static variables.
    pub(crate) fn new(shape: ClockShape, heap: usize, statics: usize) -> SharedLayout {
        let line = |offset: usize| offset.next_multiple_of(4096);
        let clocks = line((1 + shape.pes * shape.strands) * size_of::<AtomicU32>());
        let published = PublishedLengths::new(shape);
        let locks = line(clocks + shape.pes * shape.strands * shape.words() * 4);
        let sets = line(locks + published.locks * 4);
        let firsts = line(sets + published.sets * size_of::<WordSet>());
        let rests = line(firsts + published.firsts * 4);
        let pairs = line(rests + published.rests * 4);
        let signals = line(pairs + PAIRS * 8);
        let lost = line(signals + shape.pes * size_of::<SignalList>());
        let (heap_cells, static_cells) = (heap / 8, statics / 8);
        let shadows = line(lost + shape.pes * (lost_words(heap_cells) + lost_words(static_cells)) * 8);
        let len = line(shadows + shape.pes * (heap_cells + static_cells) * CELL);
        SharedLayout {
            shape,
            heap_cells,
            static_cells,
            clocks,
            published,
            locks,
            sets,
            firsts,
            rests,
            lost,
            pairs,
            signals,
            shadows,
            len,
        }
    }

    /// The parts.
    ///
    /// # Safety
    /// `len` bytes at `base` stay mapped, were zero at first, and are touched only through what this function returns.
    pub(crate) unsafe fn state(&self, base: *mut u8) -> SharedState<'static> {
        // SAFETY: the parts lie in the memory one after another, by `new`; all of their types are atomics that may be zero,
        // and the caller promises the rest.
        unsafe fn part<T>(base: *mut u8, offset: usize, count: usize) -> &'static [T] {
            // SAFETY: by the promise of the function around it.
            unsafe { std::slice::from_raw_parts(base.add(offset).cast(), count) }
        }
        let (pes, words) = (self.shape.pes, self.shape.words());
        let of_pe = |pe: usize| self.shadows + pe * (self.heap_cells + self.static_cells) * CELL;
        let bits = [self.heap_cells, self.static_cells].map(lost_words);
        // SAFETY: offsets and counts are those of `new`, which has added them up to `len`.
        unsafe {
            SharedState {
                shape: self.shape,
                used: &part::<AtomicU32>(base, 0, 1)[0],
                kinds: part::<AtomicU32>(base, size_of::<AtomicU32>(), pes * self.shape.strands),
                clocks: part::<AtomicU32>(base, self.clocks, pes * self.shape.strands * words),
                published: PublishedClocks {
                    shape: self.shape,
                    used: &part::<AtomicU32>(base, 0, 1)[0],
                    locks: part(base, self.locks, self.published.locks),
                    sets: part(base, self.sets, self.published.sets),
                    firsts: part(base, self.firsts, self.published.firsts),
                    rests: part(base, self.rests, self.published.rests),
                    lost: (0..pes)
                        .map(|pe| {
                            let start = self.lost + pe * (bits[0] + bits[1]) * 8;
                            [part(base, start, bits[0]), part(base, start + bits[0] * 8, bits[1])]
                        })
                        .collect(),
                },
                pairs: part::<AtomicU64>(base, self.pairs, PAIRS),
                signals: part(base, self.signals, pes),
                shadows: (0..pes)
                    .map(|pe| {
                        let statics = of_pe(pe) + self.heap_cells * CELL;
                        [(of_pe(pe), self.heap_cells), (statics, self.static_cells)].map(|(start, count)| {
                            let backs = start + count * size_of::<CellHalf>();
                            ShadowPart::new(part(base, start, count), part(base, backs, count))
                        })
                    })
                    .collect(),
            }
        }
    }
}

/// The words that have a bit for each of so many cells.
fn lost_words(cells: usize) -> usize {
    cells.div_ceil(64)
}
