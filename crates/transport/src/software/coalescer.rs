//! Coalescing of short messages to one PE.
//!
//! A message costs the network's software and the kernel the same work, however short it is. So the first messages go at once.
//! Those that follow in the same *step*, while no caller waits and no fence comes, are held back in a batch. A batch goes when a
//! caller waits, when it is full, when the network's thread has time for it, or before anything else to that PE. So a caller that
//! waits after each message loses nothing.
//!
//! Behind a fence a message may be a flag, for which the peer waits while the caller computes. So a few of each step and PE go at once. More
//! are a stream with fences in it, in which a call of the kernel for each message would be most of the cost.

use crate::limits::{AT_ONCE, COALESCED, FULL_BATCH};
use crate::{NumberMap, batch};

/// The first byte of a batch. No [`ActiveMessage`](crate::ActiveMessage) begins so.
pub(super) const BATCH: u8 = 7;

/// The steps of callers and the fences of lanes before a message.
#[derive(Clone, Copy)]
pub(super) struct SendMoment {
    pub(super) step: u64,
    pub(super) fences: u64,
}

/// The messages that wait, by PE.
pub(super) struct Coalescer {
    batches: NumberMap<u32, PeerBatch>,
    /// Bytes of the longest batch.
    longest: usize,
}

#[derive(Default)]
struct PeerBatch {
    /// The batch of those that wait; empty if none does.
    bytes: Vec<u8>,
    /// The step in which a message went last, and how many have gone in it.
    step: u64,
    gone: u32,
    /// How many have gone behind these, because a fence stood before each; since the thread has sent a batch.
    flags: u32,
    /// The fences before the last message.
    fences: u64,
}

impl PeerBatch {
    /// Whether the next message waits for others, if it is short.
    fn holds_back(&self, moment: SendMoment) -> bool {
        let may_be_flag = self.fences != moment.fences && self.flags < AT_ONCE;
        self.step == moment.step && self.gone >= AT_ONCE && !may_be_flag
    }
}

impl Coalescer {
    /// One whose batches fit messages of `longest` bytes.
    pub(super) fn new(longest: usize) -> Self {
        Self { batches: NumberMap::default(), longest: longest.min(FULL_BATCH) }
    }

    /// Whether a message of this moment with `length` bytes is to wait. One that has no room in a batch of its own never waits.
    pub(super) fn holds_back(&self, pe: u32, moment: SendMoment, length: usize) -> bool {
        let fits = length <= COALESCED && batch::length(size_of_val(&BATCH), length) <= self.longest;
        fits && self.batches.get(&pe).is_some_and(|to| to.holds_back(moment))
    }

    /// Whether the message has no room beside those that wait.
    pub(super) fn is_full_for(&self, pe: u32, message: &[u8]) -> bool {
        self.waiting(pe).is_some_and(|batch| batch::length(batch.len(), message.len()) > self.longest)
    }

    /// Adds a message to those that wait.
    pub(super) fn add(&mut self, pe: u32, moment: SendMoment, message: &[u8]) {
        let to = self.batches.entry(pe).or_default();
        to.fences = moment.fences;
        let batch = &mut to.bytes;
        if batch.is_empty() {
            batch.push(BATCH);
        }
        batch::add(batch, &[], message);
    }

    /// The batch for those that wait for this PE.
    pub(super) fn waiting(&self, pe: u32) -> Option<&[u8]> {
        self.batches.get(&pe).map(|batch| &*batch.bytes).filter(|batch| !batch.is_empty())
    }

    /// The PEs for which messages wait.
    pub(super) fn pes(&self) -> Vec<u32> {
        self.batches.iter().filter(|(_, batch)| !batch.bytes.is_empty()).map(|(&pe, _)| pe).collect()
    }

    /// The batch for this PE has gone.
    pub(super) fn clear(&mut self, pe: u32) {
        if let Some(batch) = self.batches.get_mut(&pe) {
            batch.bytes.clear();
        }
    }

    /// The thread has sent the batch for this PE, because no caller has moved on: the next flags go at once.
    pub(super) fn allow_flags(&mut self, pe: u32) {
        if let Some(batch) = self.batches.get_mut(&pe) {
            batch.flags = 0;
        }
    }

    /// A message, or a put in its place, has gone by itself.
    pub(super) fn note(&mut self, pe: u32, moment: SendMoment) {
        let to = self.batches.entry(pe).or_default();
        if to.step != moment.step {
            (to.step, to.gone, to.flags) = (moment.step, 0, 0);
        }
        let count = if to.gone < AT_ONCE { &mut to.gone } else { &mut to.flags };
        *count = count.saturating_add(1);
        to.fences = moment.fences;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ActiveMessage;
    use crate::batch::Batch;

    #[test]
    fn a_batch_is_no_message() {
        let mut message = [0; ActiveMessage::BYTES];
        message[0] = BATCH;
        assert_eq!(ActiveMessage::decode(&message), None);
    }

    #[test]
    fn only_what_follows_in_the_same_step_waits() {
        let mut coalescer = Coalescer::new(FULL_BATCH);
        for _ in 0..AT_ONCE {
            assert!(!coalescer.holds_back(7, in_step(0), 40), "the first go at once");
            coalescer.note(7, in_step(0));
        }
        assert!(coalescer.holds_back(7, in_step(0), 40));
        assert!(!coalescer.holds_back(8, in_step(0), 40), "another PE");
        assert!(!coalescer.holds_back(7, in_step(1), 40), "somebody has moved on");
        assert!(!coalescer.holds_back(7, in_step(0), COALESCED + 1), "a long one");
        coalescer.note(7, in_step(1));
        assert!(!coalescer.holds_back(7, in_step(1), 40), "the first of the next step");
    }

    /// Each put of a stream with fences in it went by itself: a call of the kernel for 8 bytes.
    #[test]
    fn behind_fences_a_few_go_at_once_to_each_pe() {
        let mut coalescer = Coalescer::new(FULL_BATCH);
        let behind = |fences| SendMoment { step: 0, fences };
        // Returns whether it has gone by itself.
        let send = |coalescer: &mut Coalescer, pe, moment| {
            let waits = coalescer.holds_back(pe, moment, 40);
            if waits {
                coalescer.add(pe, moment, &[1; 40]);
            } else {
                coalescer.note(pe, moment);
            }
            !waits
        };
        let at_once = |coalescer: &mut Coalescer, pe, fences: std::ops::Range<u64>| {
            fences.filter(|&fences| send(coalescer, pe, behind(fences))).count() as u32
        };
        assert_eq!(at_once(&mut coalescer, 7, 0..100), 2 * AT_ONCE);
        assert_eq!(at_once(&mut coalescer, 8, 100..101), 1, "the flag of a neighbour");
        assert!((0..3).all(|_| send(&mut coalescer, 9, behind(200))) && send(&mut coalescer, 9, behind(200)));
        assert!(
            !send(&mut coalescer, 9, behind(200)) && send(&mut coalescer, 9, behind(201)),
            "a flag behind a stream"
        );
        assert!(!send(&mut coalescer, 9, behind(201)), "what follows the flag");
        coalescer.allow_flags(7);
        assert_eq!(at_once(&mut coalescer, 7, 300..400), AT_ONCE, "the caller computes, and the thread sends");
        assert_eq!(coalescer.pes().len(), 2);
    }

    const fn in_step(step: u64) -> SendMoment {
        SendMoment { step, fences: 0 }
    }

    #[test]
    fn messages_wait_until_a_batch_is_full() {
        let mut coalescer = Coalescer::new(100);
        let message = [1; 40];
        assert!(!coalescer.is_full_for(7, &message), "there is always room for one");
        coalescer.add(7, in_step(0), &message);
        assert!(!coalescer.is_full_for(7, &message), "there is room for two");
        coalescer.add(7, in_step(0), &message);
        assert!(coalescer.is_full_for(7, &message));
        assert_eq!(coalescer.pes(), [7]);
        let (&first, messages) = coalescer.waiting(7).and_then(<[u8]>::split_first).expect("two wait");
        assert_eq!(first, BATCH);
        assert_eq!(Batch(messages).collect::<Vec<_>>(), [&message[..], &message[..]]);
        coalescer.clear(7);
        assert!(coalescer.waiting(7).is_none() && coalescer.pes().is_empty());
    }

    #[test]
    fn a_message_that_would_make_a_batch_too_long_does_not_wait() {
        let mut coalescer = Coalescer::new(100);
        for _ in 0..AT_ONCE {
            coalescer.note(7, in_step(0));
        }
        let longest = [1; 95];
        assert!(
            coalescer.holds_back(7, in_step(0), longest.len())
                && !coalescer.holds_back(7, in_step(0), longest.len() + 1)
        );
        coalescer.add(7, in_step(0), &longest);
        assert_eq!(coalescer.waiting(7).map(<[u8]>::len), Some(100));
    }
}
