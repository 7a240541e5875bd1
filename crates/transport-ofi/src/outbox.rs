//! Messages that the endpoint could not take yet, by PE. It takes none for a PE to which it is being connected, and for as long as that PE
//! does not answer; those for other PEs do not wait for that.

use std::collections::VecDeque;

use oxshmem_transport::NumberMap;

/// The PEs that are tried at a time. A try costs a call of libfabric, also in vain. Chosen.
const TRIED: usize = 16;

#[derive(Default)]
pub(crate) struct Outbox {
    /// The messages for each PE, in their order. A PE without messages has no entry.
    messages: NumberMap<u32, VecDeque<Vec<u8>>>,
    /// The PEs with messages, in the order in which they are tried.
    turns: VecDeque<u32>,
}

impl Outbox {
    pub(crate) fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Whether a message for this PE has to wait for others.
    pub(crate) fn has(&self, pe: u32) -> bool {
        !self.is_empty() && self.messages.contains_key(&pe)
    }

    /// Whether more PEs have messages than one flush tries.
    pub(crate) fn leaves_some_out(&self) -> bool {
        self.turns.len() > TRIED
    }

    /// Adds a message. A PE that had none is the next to be tried: nothing says yet that it takes none.
    pub(crate) fn add(&mut self, pe: u32, message: Vec<u8>) {
        let messages = self.messages.entry(pe).or_default();
        if messages.is_empty() {
            self.turns.push_front(pe);
        }
        messages.push_back(message);
    }

    /// Sends the messages of some PEs in turn, each PE's in their order up to the first that does not go. `send` returns whether one has
    /// gone. Returns how many have.
    pub(crate) fn flush(&mut self, mut send: impl FnMut(u32, &[u8]) -> bool) -> usize {
        let mut sent = 0;
        for _ in 0..self.turns.len().min(TRIED) {
            let Some(pe) = self.turns.pop_front() else { break };
            let Some(messages) = self.messages.get_mut(&pe) else { continue };
            while messages.front().is_some_and(|message| send(pe, message)) {
                messages.pop_front();
                sent += 1;
            }
            if messages.is_empty() {
                self.messages.remove(&pe);
            } else {
                self.turns.push_back(pe);
            }
        }
        sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_for_a_pe_that_takes_none_do_not_hold_up_others() {
        let mut outbox = Outbox::default();
        for (pe, message) in [(7, 1), (8, 2), (7, 3), (8, 4)] {
            outbox.add(pe, vec![message]);
        }
        let mut gone = Vec::new();
        let mut flush = |outbox: &mut Outbox, takes: &dyn Fn(u32, usize) -> bool| {
            gone.clear();
            outbox.flush(|pe, message| {
                let goes = takes(pe, gone.len());
                if goes {
                    gone.push(message[0]);
                }
                goes
            });
            gone.clone()
        };
        assert_eq!(flush(&mut outbox, &|pe, _| pe == 8), [2, 4]);
        assert!(outbox.has(7) && !outbox.has(8) && !outbox.is_empty());
        outbox.add(7, vec![5]);
        assert_eq!(flush(&mut outbox, &|_, before| before < 2), [1, 3], "they stay in order");
        assert_eq!(flush(&mut outbox, &|_, _| true), [5]);
        assert!(outbox.is_empty() && !outbox.has(7));
    }

    #[test]
    fn every_pe_has_its_turn() {
        const PES: u32 = 5 * TRIED as u32;
        let mut outbox = Outbox::default();
        (0..PES).for_each(|pe| outbox.add(pe, vec![0]));
        let mut tries = vec![0; PES as usize];
        for _ in 0..5 {
            let sent = outbox.flush(|pe, _| {
                tries[pe as usize] += 1;
                false
            });
            assert_eq!(sent, 0);
        }
        assert!(tries.iter().all(|&tries| tries == 1), "{tries:?}");
        // The last one alone takes messages.
        let sent: usize = (0..5).map(|_| outbox.flush(|pe, _| pe == PES - 1)).sum();
        assert_eq!((sent, outbox.has(PES - 1), outbox.has(0)), (1, false, true));
    }

    /// Its message waited behind those for all PEs that took none, 16 of which the thread tried before each sleep.
    #[test]
    fn a_pe_that_takes_messages_does_not_wait_for_the_turns_of_others() {
        const BLOCKED: u32 = 5 * TRIED as u32;
        let mut outbox = Outbox::default();
        (0..BLOCKED).for_each(|pe| outbox.add(pe, vec![0]));
        assert!(outbox.leaves_some_out());
        outbox.add(BLOCKED, vec![1]);
        assert_eq!(outbox.flush(|pe, _| pe == BLOCKED), 1);
        // Those that were left out have their turns although new ones come all the time.
        let mut tried = vec![false; BLOCKED as usize];
        for new in 0..BLOCKED {
            outbox.add(BLOCKED + 1 + new, vec![2]);
            outbox.flush(|pe, _| {
                if let Some(tried) = tried.get_mut(pe as usize) {
                    *tried = true;
                }
                pe > BLOCKED
            });
        }
        assert!(tried.iter().all(|&tried| tried), "{tried:?}");
        assert_eq!(outbox.turns.len(), BLOCKED as usize);
        let sent: usize = (0..4).map(|_| outbox.flush(|_, _| true)).sum();
        assert_eq!((sent, outbox.leaves_some_out(), outbox.is_empty()), (4 * TRIED, false, false));
    }
}
