//! The memory that the PEs of a node share: clocks, lists of signals, shadow cells.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::cell::{ShadowCell, ShadowPart};
use crate::clock::{Clock, ClockShape, StrandKind, StrandName};
use crate::place::{MemoryPart, SymmetricPlace};
use crate::published::{PublishedClocks, mix};
use crate::signals::SignalList;

/// How many pairs of sites can be reported.
pub const PAIRS: usize = 1 << 12;

/// The memory that the node's PEs share, zero at first.
#[derive(Debug)]
pub struct SharedState<'m> {
    /// The shape of all clocks.
    pub shape: ClockShape,
    /// How many strands a PE of the node has had at most.
    pub used: &'m AtomicU32,
    /// See [`StrandKind`], by strand: those of the PEs' first strands come first.
    pub kinds: &'m [AtomicU32],
    /// The strands' clocks, [`ClockShape::words`] each. Only the strand writes its own, but for the program's time, which others let
    /// go on when they have learnt it; others read it.
    pub clocks: &'m [AtomicU32],
    /// Clocks that synchronisation leaves behind.
    pub published: PublishedClocks<'m>,
    /// The pairs of sites that have been reported.
    pub pairs: &'m [AtomicU64],
    /// A list for each PE.
    pub signals: &'m [SignalList],
    /// The shadows of each PE's heap and static variables.
    pub shadows: Vec<[ShadowPart<'m>; 2]>,
}

impl<'m> SharedState<'m> {
    #[inline]
    pub(crate) fn clock(&self, of: StrandName) -> Clock<'m> {
        let all = self.shape.words();
        let words = &self.clocks[(of.strand * self.shape.pes + of.pe) * all..][..all];
        Clock::of(self.shape, words, self.used)
    }

    /// The words of a clock that belongs to no strand and knows nothing.
    pub(crate) fn empty_clock(&self) -> Vec<AtomicU32> {
        (0..self.shape.used(self.strands())).map(|_| AtomicU32::new(0)).collect()
    }

    /// Another strand has this name from now on.
    pub(crate) fn set_kind(&self, of: StrandName, kind: StrandKind) {
        self.kinds[of.strand * self.shape.pes + of.pe].store(kind as u32, Relaxed);
    }

    /// The kind of the last strand with this name.
    pub fn kind(&self, of: StrandName) -> StrandKind {
        match self.kinds[of.strand * self.shape.pes + of.pe].load(Relaxed) {
            1 => StrandKind::Task,
            2 => StrandKind::Section,
            _ => StrandKind::Thread,
        }
    }

    /// The numbers that strands of the node's PEs have.
    pub(crate) fn strands(&self) -> usize {
        (self.used.load(Relaxed) as usize).clamp(1, self.shape.strands)
    }

    /// The cells of `len` bytes, and which bytes of each.
    pub(crate) fn cells(&self, place: SymmetricPlace, len: usize) -> impl Iterator<Item = (usize, ShadowCell<'m>, u8)> {
        let shadow = self.shadows[place.pe][(place.segment == MemoryPart::Statics) as usize];
        let (start, end) = (place.offset, place.offset.saturating_add(len).min(shadow.count() * 8));
        (start / 8..end.div_ceil(8)).filter_map(move |index| {
            let (first, last) = (start.max(index * 8) % 8, (end.min(index * 8 + 8) - 1) % 8);
            let mask = (0xff_u8 << first) & (0xff_u8 >> (7 - last));
            shadow.get(index).map(|cell| (index * 8 + first, cell, mask))
        })
    }

    /// Whether this pair of sites has not been reported before. The memory of pairs is small; when it is full, nothing is new.
    pub fn is_new(&self, one: (u64, u16), other: (u64, u16)) -> bool {
        let number = |(pc, call): (u64, u16)| mix(pc << 16 | u64::from(call));
        let pair = number(one).wrapping_add(number(other)) | 1;
        for turn in 0..64 {
            let at = &self.pairs[(pair as usize).wrapping_add(turn) % self.pairs.len()];
            match at.compare_exchange(0, pair, Relaxed, Relaxed) {
                Ok(_) => return true,
                Err(there) if there == pair => return false,
                Err(_) => {}
            }
        }
        false
    }
}

/// The bytes from the first one of `count` pieces to behind the last one, gaps included: pieces have `len` bytes, and their beginnings are
/// `stride` bytes apart from `start` on. `None`: there are not so many bytes before or behind it.
pub fn extent(start: usize, stride: isize, len: usize, count: usize) -> Option<Range<usize>> {
    let Some(more) = count.checked_sub(1).filter(|_| len > 0) else { return Some(start..start) };
    let between = stride.unsigned_abs().checked_mul(more)?;
    let first = if stride < 0 { start.checked_sub(between)? } else { start };
    Some(first..first.checked_add(between)?.checked_add(len)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_have_their_gaps_between_them_and_none_begins_before_the_memory() {
        assert_eq!(extent(64, 0, 24, 1), Some(64..88));
        assert_eq!(extent(64, 16, 8, 3), Some(64..104));
        assert_eq!(extent(64, -16, 8, 3), Some(32..72));
        assert_eq!((extent(64, -16, 8, 5), extent(64, -16, 8, 6)), (Some(0..72), None));
        // Nothing is nowhere beyond, whatever the stride.
        assert_eq!((extent(64, isize::MIN, 8, 0), extent(64, isize::MAX, 0, 9)), (Some(64..64), Some(64..64)));
        for (stride, len, count) in [(8, 8, usize::MAX), (isize::MAX, 8, 4), (isize::MIN, 8, 4), (0, usize::MAX, 1)] {
            assert_eq!(extent(64, stride, len, count), None, "{stride} {len} {count}");
        }
    }
}
