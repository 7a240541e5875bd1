//! Maps by numbers that this process gives itself: of PEs, of messages.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map by numbers. No peer can choose numbers that collide, so one multiplication spreads them: the standard hash
/// costs more than all other work on a message here.
pub type NumberMap<N, V> = HashMap<N, V, BuildHasherDefault<NumberHasher>>;

/// The hash of a number: a product, whose upper half is the best spread.
#[derive(Clone, Copy, Default, Debug)]
pub struct NumberHasher(u64);

/// 2^64 by the golden ratio, made odd: neighbours come far apart.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

impl Hasher for NumberHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(GOLDEN);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::hash::BuildHasher;

    use super::*;

    /// The map takes its place from the low bits and compares the seven highest first.
    #[test]
    fn numbers_in_a_row_and_powers_of_two_are_spread() {
        let hash = |number: u64| BuildHasherDefault::<NumberHasher>::default().hash_one(number);
        let rows: [Vec<u64>; 2] = [(0..4096).collect(), (0..4096).map(|i| i << 32).collect()];
        for row in rows {
            let places = row.iter().map(|&number| hash(number) % 4096).collect::<HashSet<_>>();
            assert!(places.len() > 2000, "{} places of 4096", places.len());
            let tags = row.iter().map(|&number| hash(number) >> 57).collect::<HashSet<_>>();
            assert_eq!(tags.len(), 128);
        }
    }

    #[test]
    fn a_map_by_numbers_is_a_map() {
        let mut map = NumberMap::<u32, u32>::default();
        (0..1000).for_each(|number| assert_eq!(map.insert(number, !number), None));
        assert!((0..1000).all(|number| map.remove(&number) == Some(!number)));
        assert!(map.is_empty());
    }
}
