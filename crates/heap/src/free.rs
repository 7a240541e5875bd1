//! The free parts of the heap. Neighbours are always joined, so no two parts touch.

use std::collections::{BTreeMap, BTreeSet};

use crate::MIN_ALIGN;

/// How many of the smallest parts that are long enough are tried first. Small blocks at large alignments leave one part each
/// between them, and none of these has a place of that alignment: without a bound each call would look at all of them.
const CLOSEST: usize = 16;

#[derive(Clone, Debug)]
pub(crate) struct FreeParts {
    /// Offset to length.
    by_offset: BTreeMap<u64, u64>,
    /// (Length, offset): the same parts from the smallest to the largest, equal ones from the lowest to the highest.
    by_length: BTreeSet<(u64, u64)>,
}

impl FreeParts {
    pub(crate) fn whole(capacity: u64) -> Self {
        let mut parts = FreeParts { by_offset: BTreeMap::new(), by_length: BTreeSet::new() };
        parts.insert(0, capacity);
        parts
    }

    pub(crate) fn largest(&self) -> u64 {
        self.by_length.last().map_or(0, |&(length, _)| length)
    }

    /// The length of the part that begins here, 0 if none does.
    pub(crate) fn length_at(&self, offset: u64) -> u64 {
        self.by_offset.get(&offset).copied().unwrap_or(0)
    }

    /// A good place for `extent` bytes; `align` is at least [`MIN_ALIGN`]. Every part begins at a multiple of that, so for that the
    /// first candidate fits; a larger alignment passes over parts that are long enough but lie badly. After a few of these it
    /// takes the smallest part that is long enough wherever it lies, and looks at all only if there is none.
    pub(crate) fn fit(&self, extent: u64, align: u64) -> Option<u64> {
        let parts = |length: u64| self.by_length.range((length, 0)..);
        let place_in = |&(length, offset): &(u64, u64)| {
            let place = offset.checked_next_multiple_of(align)?;
            (place.checked_add(extent)? <= offset + length).then_some(place)
        };
        let anywhere = extent.saturating_add(align - MIN_ALIGN);
        let closest = parts(extent).take(CLOSEST).find_map(place_in);
        closest.or_else(|| parts(anywhere).find_map(place_in)).or_else(|| parts(extent).find_map(place_in))
    }

    /// Takes a range that lies inside one part.
    pub(crate) fn take(&mut self, offset: u64, extent: u64) {
        let (&start, &length) = self.by_offset.range(..=offset).next_back().expect("the range is free");
        let (end, part_end) = (offset + extent, start + length);
        assert!(end <= part_end, "the range is free");
        self.remove(start, length);
        self.insert(start, offset - start);
        self.insert(end, part_end - end);
    }

    /// Adds a range that touches no free byte, and joins it with the parts beside it.
    pub(crate) fn give(&mut self, offset: u64, extent: u64) {
        let (mut start, mut length) = (offset, extent);
        if let Some((&below, &below_length)) = self.by_offset.range(..offset).next_back()
            && below + below_length == offset
        {
            self.remove(below, below_length);
            (start, length) = (below, below_length + length);
        }
        let above = self.length_at(offset + extent);
        if above > 0 {
            self.remove(offset + extent, above);
        }
        self.insert(start, length + above);
    }

    fn insert(&mut self, offset: u64, length: u64) {
        if length > 0 {
            self.by_offset.insert(offset, length);
            self.by_length.insert((length, offset));
        }
    }

    fn remove(&mut self, offset: u64, length: u64) {
        self.by_offset.remove(&offset);
        self.by_length.remove(&(length, offset));
    }
}
