//! How the members of a team find out by a bitwise and whether all have the same words.
//!
//! An and over all members keeps a bit or its complement only if all members agree about the bit: a member without the bit clears the bit, a
//! member with the bit clears the complement. So each member contributes its words and their complements. All have the same words if each
//! result of a word is the complement of the result of its complement.

use crate::memory::control::PAYLOAD_WORDS;

/// Whether all members have the same words, at most three. `and` makes the bitwise and of all members' words, and
/// returns whether it could.
pub(super) fn are_same(words: &[u64], and: impl FnOnce(&mut [u64]) -> bool) -> bool {
    let mut both = [0; PAYLOAD_WORDS - 1];
    let both = &mut both[..2 * words.len()];
    fill_with_complements(both, words);
    and(both) && had_same_words(both)
}

/// Fills `both` with the words that a member contributes to the and: `words`, and behind them their complements. `both` is twice as long as
/// `words`.
fn fill_with_complements(both: &mut [u64], words: &[u64]) {
    let (kept, complements) = both.split_at_mut(words.len());
    kept.copy_from_slice(words);
    complements.iter_mut().zip(words).for_each(|(complement, word)| *complement = !word);
}

/// Whether all members have contributed the same words, by the and of what they have contributed.
fn had_same_words(both: &[u64]) -> bool {
    let (kept, complements) = both.split_at(both.len() / 2);
    kept.iter().zip(complements).all(|(word, complement)| *word == !complement)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn and_of(members: &[[u64; 2]]) -> [u64; 4] {
        let mut sum = [u64::MAX; 4];
        for words in members {
            let mut both = [0; 4];
            fill_with_complements(&mut both, words);
            sum.iter_mut().zip(both).for_each(|(sum, word)| *sum &= word);
        }
        sum
    }

    #[test]
    fn one_bit_of_one_member_is_a_difference() {
        for words in [[0, 0], [5, u64::MAX], [1 << 63, 7]] {
            assert!(had_same_words(&and_of(&[words; 3])));
            for bit in [0, 2, 63] {
                let other = [words[0], words[1] ^ (1_u64 << bit)];
                assert!(!had_same_words(&and_of(&[words, words, other])), "{words:?} {bit}");
                assert!(!had_same_words(&and_of(&[other, words])), "{words:?} {bit}");
            }
        }
    }
}
