//! Short letters to one PE that travel together.
//!
//! A message costs the network's software and the kernel the same work, however short it is. So the first letters go at once,
//! and those that follow in the same *step*, while no caller waits, wait for company. They go when a caller waits, when they fill
//! a message, when the network's thread has time for them, or before anything else to that PE. So whoever waits after each letter
//! loses nothing.

use std::collections::HashMap;

use super::letter::together;

/// Longest letter that waits, and how long a message becomes before it goes.
const SHORT: usize = 2 << 10;
const FULL: usize = 8 << 10;
/// So many letters of a step go at once. More than one, because what a caller waits for may come without a step: the network's
/// software may take it in while it sends.
pub(super) const AT_ONCE: u32 = 4;

/// The letters that wait, by PE.
#[derive(Default)]
pub(super) struct Company(HashMap<u32, Companions>);

#[derive(Default)]
struct Companions {
    /// The message of those that wait; empty if none does.
    message: Vec<u8>,
    /// The step in which a letter went last, and how many have gone in it.
    step: u64,
    gone: u32,
}

impl Company {
    /// Whether a letter of this step with so many bytes is to wait.
    pub(super) fn is_for(&self, pe: u32, step: u64, length: usize) -> bool {
        let has_many = |to: &Companions| to.step == step && to.gone >= AT_ONCE;
        length <= SHORT && self.0.get(&pe).is_some_and(has_many)
    }

    /// Whether the letter finds no room with those that wait, where a message has so many bytes.
    pub(super) fn is_full_for(&self, pe: u32, letter: &[u8], longest: usize) -> bool {
        let message = self.waiting(pe).unwrap_or_default();
        !message.is_empty() && together::length(message, letter) > longest.min(FULL)
    }

    /// Adds a letter to those that wait.
    pub(super) fn add(&mut self, pe: u32, letter: &[u8]) {
        together::add(&mut self.0.entry(pe).or_default().message, letter);
    }

    /// The message for those that wait for this PE.
    pub(super) fn waiting(&self, pe: u32) -> Option<&[u8]> {
        self.0.get(&pe).map(|companions| &*companions.message).filter(|message| !message.is_empty())
    }

    /// The PEs for which letters wait.
    pub(super) fn pes(&self) -> Vec<u32> {
        self.0.iter().filter(|(_, companions)| !companions.message.is_empty()).map(|(&pe, _)| pe).collect()
    }

    /// The message for this PE has gone.
    pub(super) fn clear(&mut self, pe: u32) {
        if let Some(companions) = self.0.get_mut(&pe) {
            companions.message.clear();
        }
    }

    /// A letter, or a put in its place, has gone by itself.
    pub(super) fn note(&mut self, pe: u32, step: u64) {
        let companions = self.0.entry(pe).or_default();
        companions.gone = if companions.step == step { companions.gone.saturating_add(1) } else { 1 };
        companions.step = step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_follows_in_the_same_step_waits() {
        let mut company = Company::default();
        for _ in 0..AT_ONCE {
            assert!(!company.is_for(7, 0, 40), "the first go at once");
            company.note(7, 0);
        }
        assert!(company.is_for(7, 0, 40));
        assert!(!company.is_for(8, 0, 40), "another PE");
        assert!(!company.is_for(7, 1, 40), "somebody has moved on");
        assert!(!company.is_for(7, 0, SHORT + 1), "a long one");
        company.note(7, 1);
        assert!(!company.is_for(7, 1, 40), "the first of the next step");
    }

    #[test]
    fn letters_wait_until_a_message_is_full() {
        let mut company = Company::default();
        let letter = [1; 40];
        assert!(!company.is_full_for(7, &letter, 100), "there is always room for one");
        company.add(7, &letter);
        company.add(7, &letter);
        assert!(company.is_full_for(7, &letter, 100) && !company.is_full_for(7, &letter, 1000));
        assert_eq!(company.pes(), [7]);
        let message = company.waiting(7).expect("two wait").to_vec();
        assert_eq!(together::letters(&message[1..]).collect::<Vec<_>>(), [&letter[..], &letter[..]]);
        company.clear(7);
        assert!(company.waiting(7).is_none() && company.pes().is_empty());
    }
}
