//! Regions that grow: each is registered piece by piece, and a registration never moves.

use crate::{OutOfRange, Region, Segment};
use oxshmem_base::planted;

/// A part of a region that was registered at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegionPiece<K> {
    /// Its first byte, counted from the start of the region.
    pub start: u64,
    /// Its length.
    pub len: u64,
    /// The network's name of its first byte.
    pub address: u64,
    /// The key by which the network reaches it.
    pub key: K,
}

/// How the network finds the bytes from some offset on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FoundPiece<K> {
    /// The network's name of the first of them.
    pub address: u64,
    /// The key by which it reaches them.
    pub key: K,
    /// How many bytes from there on are of the same registration.
    pub room: u64,
}

/// The registered pieces of one PE's regions.
#[derive(Clone, Debug)]
pub struct RegionPieces<K>([Vec<RegionPiece<K>>; Region::ALL.len()]);

impl<K> Default for RegionPieces<K> {
    fn default() -> Self {
        Self::NONE
    }
}

impl<K> RegionPiece<K> {
    /// How many bytes of it begin at `offset`; 0 if it does not hold that byte. An offset before its start wraps to more bytes than
    /// any piece has.
    #[inline]
    fn room(&self, offset: u64) -> u64 {
        self.len.saturating_sub(offset.wrapping_sub(self.start))
    }
}

impl<K> RegionPieces<K> {
    /// No piece of any region.
    pub const NONE: Self = Self([const { Vec::new() }; Region::ALL.len()]);

    /// Adds a piece.
    pub fn add(&mut self, region: Region, piece: RegionPiece<K>) {
        self.0[region as usize].push(piece);
    }

    /// The pieces of a region, in the order in which they were added.
    pub fn of(&self, region: Region) -> &[RegionPiece<K>] {
        &self.0[region as usize]
    }

    /// All pieces.
    pub fn all(&self) -> impl Iterator<Item = (Region, &RegionPiece<K>)> {
        Region::ALL.into_iter().flat_map(|region| self.of(region).iter().map(move |piece| (region, piece)))
    }

    /// How long a region is, as far as its pieces tell.
    pub fn len(&self, region: Region) -> u64 {
        self.of(region).iter().map(|piece| piece.start.saturating_add(piece.len)).max().unwrap_or(0)
    }

    /// The piece that holds a byte.
    #[inline]
    pub fn around(&self, region: Region, offset: u64) -> Option<&RegionPiece<K>> {
        self.of(region).iter().find(|piece| piece.room(offset) > 0)
    }

    /// How the network finds the bytes from `offset` on.
    #[inline]
    pub fn find(&self, region: Region, offset: u64) -> Option<FoundPiece<&K>> {
        let piece = self.around(region, offset)?;
        let address = piece.address.wrapping_add(offset - piece.start);
        let key = &planted!("key-of-another-piece", piece, self.of(region).first()?).key;
        Some(FoundPiece { address, key, room: piece.room(offset) })
    }

    /// The part of `segment` behind the pieces that are registered already, and its offset; `None` if there is none.
    pub fn growth(&self, region: Region, segment: Segment) -> Option<(u64, Segment)> {
        let start = usize::try_from(self.len(region)).ok().filter(|&start| start < segment.len)?;
        Some((start as u64, Segment { base: segment.base.wrapping_add(start), len: segment.len - start }))
    }

    /// The error for bytes that no piece holds.
    pub fn out_of_range(&self, region: Region, offset: u64, bytes: usize) -> OutOfRange {
        OutOfRange { region, offset, bytes, registered: self.len(region) as usize }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_found_in_the_piece_that_holds_them() {
        let mut pieces = RegionPieces::default();
        pieces.add(Region::Heap, RegionPiece { start: 0, len: 100, address: 0, key: 1 });
        pieces.add(Region::Heap, RegionPiece { start: 100, len: 50, address: 7000, key: 2 });
        let found = |offset| pieces.find(Region::Heap, offset).map(|found| (found.address, *found.key, found.room));
        assert_eq!(found(99), Some((99, 1, 1)));
        assert_eq!(found(100), Some((7000, 2, 50)));
        assert_eq!(found(149), Some((7049, 2, 1)));
        assert_eq!(found(150), None);
        assert_eq!(found(u64::MAX), None);
        assert!(pieces.find(Region::Statics, 0).is_none());
        assert_eq!((pieces.len(Region::Heap), pieces.all().count()), (150, 2));
    }

    #[test]
    fn a_region_that_grows_is_registered_behind_its_last_piece() {
        let mut pieces = RegionPieces::default();
        let base = std::ptr::without_provenance_mut::<u8>(4096);
        let growth = |pieces: &RegionPieces<()>, len| {
            pieces.growth(Region::Heap, Segment { base, len }).map(|(start, new)| (start, new.base.addr(), new.len))
        };
        assert_eq!(growth(&pieces, 100), Some((0, 4096, 100)));
        pieces.add(Region::Heap, RegionPiece { start: 0, len: 100, address: 0, key: () });
        assert_eq!(growth(&pieces, 100), None);
        assert_eq!(growth(&pieces, 101), Some((100, 4196, 1)));
    }
}
