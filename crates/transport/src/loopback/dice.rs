//! Chance that can be repeated.

/// Reproducible chance (xorshift).
#[derive(Clone, Debug)]
pub struct Dice(pub(super) u64);

impl Dice {
    /// With this seed.
    pub fn new(seed: u64) -> Self {
        // The golden ratio spreads neighbouring seeds.
        Self(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// A number below `n`; 0 if that is 0.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 |= 1;
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n.max(1)
    }

    /// `true` once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}
