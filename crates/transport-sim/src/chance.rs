//! Chance that can be repeated: the generator of a job lives in the arena, and only the holder of the turn throws.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use oxshmem_base::chance::Dice;

/// A generator in shared memory (xorshift).
pub(crate) struct Chance<'a>(pub(crate) &'a AtomicU64);

/// The state of a generator with this seed, which is never zero. Neighbouring seeds give unlike states.
pub(crate) fn seeded(seed: u64) -> u64 {
    Dice::new(seed).next() | 1
}

impl Chance<'_> {
    /// A number below `n`; 0 if that is 0.
    pub(crate) fn below(&self, n: usize) -> usize {
        let mut state = self.0.load(Relaxed);
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        self.0.store(state, Relaxed);
        ((state >> 11) % n.max(1) as u64) as usize
    }

    /// `true` once in `n` times.
    pub(crate) fn one_in(&self, n: usize) -> bool {
        self.below(n) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_throws_the_same_and_another_one_does_not() {
        let thrown = |seed| {
            let state = AtomicU64::new(seeded(seed));
            let chance = Chance(&state);
            (0..32).map(|_| chance.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(thrown(3), thrown(3));
        assert_ne!(thrown(3), thrown(4));
        assert!(thrown(0).iter().any(|&number| number != thrown(0)[0]));
    }
}
