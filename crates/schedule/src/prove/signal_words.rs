//! The signal words and counters of one PE.

use super::{Fault, fault};
use alloc::vec::Vec;

/// A write to a word.
struct SetWord {
    value: u64,
    write: u32,
    issuer: u32,
    seen_at: Option<u32>,
}

/// A word: every value it was given.
#[derive(Default)]
pub(super) struct Word {
    sets: Vec<SetWord>,
}

impl Word {
    /// `issuer`, which knows the owner up to `known`, sets the word. An `inline` message needs an empty mailbox.
    pub(super) fn set(&mut self, value: u64, write: u32, issuer: u32, known: u32, inline: bool) -> Result<(), Fault> {
        if let Some(last) = self.sets.last() {
            let emptied = last.seen_at.is_some_and(|seen| seen <= known);
            if inline && (!emptied || last.value >> 16 == value >> 16) {
                return Err(fault!(
                    Race,
                    "PE {issuer} sends to a mailbox whose message of {:#x} may still be there",
                    last.value
                ));
            }
            let ordered = last.issuer == issuer || emptied;
            if !ordered {
                return Err(fault!(Ambiguous, "PE {issuer} overwrites a signal of PE {} nobody has seen", last.issuer));
            }
            if value <= last.value {
                return Err(fault!(Ambiguous, "PE {issuer} sets {value:#x} after {:#x}", last.value));
            }
        }
        self.sets.push(SetWord { value, write, issuer, seen_at: None });
        Ok(())
    }

    /// The owner waits for `value` at time `now`: the write that satisfies it, if it has come. An inline message is taken once.
    pub(super) fn wait(&mut self, value: u64, now: u32, inline: bool) -> Result<Option<u32>, Fault> {
        // The first value that is large enough: what the owner is sure to know, however late it looks.
        let first = self.sets.partition_point(|set| set.value < value);
        let Some(set) = self.sets.get_mut(first) else {
            return Ok(None);
        };
        if set.value != value {
            return Err(fault!(Ambiguous, "a wait for {value:#x} is satisfied by {:#x}", set.value));
        }
        if inline && set.seen_at.is_some() {
            return Err(fault!(Ambiguous, "two waits take the message of {value:#x}"));
        }
        set.seen_at.get_or_insert(now);
        Ok(Some(set.write))
    }

    /// Whether a signal up to `value` has not been seen.
    pub(super) fn unseen(&self, value: u64) -> bool {
        self.sets.iter().rev().take_while(|set| set.seen_at.is_none()).any(|set| set.value <= value)
    }
}

/// A counter: its arrivals, and how many of them were awaited.
#[derive(Default)]
pub(super) struct WordCounter {
    arrivals: Vec<u32>,
    call: u64,
    awaited: usize,
    awaited_at: u32,
}

impl WordCounter {
    /// An arrival of call `call` from a PE that knows the owner up to `known`.
    pub(super) fn add(&mut self, write: u32, call: u64, known: u32) -> Result<(), Fault> {
        if call != self.call && (self.unseen() || self.awaited_at > known) {
            let earlier = self.call;
            return Err(fault!(Ambiguous, "an arrival of call {call} may satisfy the wait of call {earlier}"));
        }
        self.call = call;
        self.arrivals.push(write);
        Ok(())
    }

    /// The owner waits for `total`: the writes that satisfy it.
    pub(super) fn wait(&mut self, total: u64, now: u32) -> Result<Option<&[u32]>, Fault> {
        let before = self.awaited;
        match (self.arrivals.len() as u64).cmp(&total) {
            core::cmp::Ordering::Less => return Ok(None),
            core::cmp::Ordering::Greater => {
                return Err(fault!(Ambiguous, "a counter holds {} where {total} is awaited", self.arrivals.len()));
            }
            core::cmp::Ordering::Equal => (self.awaited, self.awaited_at) = (total as usize, now),
        }
        Ok(Some(&self.arrivals[before..]))
    }

    pub(super) fn unseen(&self) -> bool {
        self.awaited < self.arrivals.len()
    }
}
