//! Chance that can be repeated, and sums that tell contents apart. Neither is for secrets.

/// Numbers without a pattern, the same for the same seed (SplitMix64). Neighbouring seeds give unlike numbers.
#[derive(Clone, Copy, Debug)]
pub struct Dice(u64);

impl Dice {
    /// With this seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// One of many streams of a seed. Seeds whose difference is a multiple of the step give the same sequence, shifted. So this
    /// function mixes both numbers first.
    pub const fn stream(seed: u64, number: u64) -> Self {
        Self(Self::new(!seed).next() ^ Self::new(number).next())
    }

    /// The next number.
    #[inline]
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `n`; 0 if that is 0.
    #[inline]
    pub const fn below(&mut self, n: usize) -> usize {
        (self.next() % if n == 0 { 1 } else { n as u64 }) as usize
    }

    /// `true` once in `n` times.
    #[inline]
    pub const fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// A sum over words or bytes that depends on each and on their order (FNV-1a).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum(u64);

impl Sum {
    /// The sum over nothing.
    pub const EMPTY: Sum = Sum(0xcbf2_9ce4_8422_2325);

    /// With one word more.
    pub const fn and(self, word: u64) -> Sum {
        Sum((self.0 ^ word).wrapping_mul(0x100_0000_01b3))
    }

    /// The sum over these.
    pub fn of<T: Into<u64>>(words: impl IntoIterator<Item = T>) -> u64 {
        words.into_iter().fold(Sum::EMPTY, |sum, word| sum.and(word.into())).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_sums_are_those_of_the_published_algorithms() {
        let mut dice = Dice::new(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([dice.next(), dice.next(), dice.next()], expected);
        // No stream continues with numbers of another one.
        let numbers: std::vec::Vec<u64> = (0..50)
            .flat_map(|number| {
                let mut dice = Dice::stream(7, number);
                (0..50).map(move |_| dice.next())
            })
            .collect();
        let mut different = numbers.clone();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), numbers.len());
        assert_eq!(Sum::of(*b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(Sum::of(*b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn a_number_is_below_its_limit_and_all_occur() {
        let mut dice = Dice::new(0);
        let thrown: std::collections::BTreeSet<usize> = (0..1_000).map(|_| dice.below(6)).collect();
        assert_eq!(thrown, (0..6).collect());
        assert_eq!(dice.below(0), 0);
        assert!(dice.one_in(1) && dice.one_in(0));
    }
}
