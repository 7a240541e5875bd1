//! The distributed lock: a queue of waiting PEs whose links live in the lock variable itself.
//!
//! Every PE has a copy of the variable. One PE's copy (the *home*, spread over the PEs by address) holds the queue's
//! tail: which PE asked last. In every copy, the home's too, another half belongs to that PE's place in the queue: who comes next,
//! and whether it is its turn. A free lock is taken and released by one compare-and-swap at its home; a waiting PE
//! looks at its own copy only, and PEs are served in the order in which they asked (LCK-2).
//!
//! The protocol is written over [`QueueWords`], so that the model checker runs these very lines.

/// The turn bit of a place; the rest names the successor.
pub(crate) const TURN: u32 = 1;

/// The words of one lock as one PE reaches them. PE numbers are stored plus one; zero is no PE.
pub(crate) trait QueueWords {
    /// Makes `to` the last in the queue if `from` is; returns the former last.
    fn exchange_tail_if(&self, from: u32, to: u32) -> u32;
    /// Makes `to` the last in the queue; returns the former last.
    fn swap_tail(&self, to: u32) -> u32;
    /// The PE's own place.
    fn place(&self) -> u32;
    /// Takes the turn out of the PE's own place.
    fn take_turn(&self);
    /// Takes the successor out of the PE's own place.
    fn clear_place(&self);
    /// Adds bits to the place of PE `owner` (plus one), and wakes it if it sleeps.
    fn add_to_place(&self, owner: u32, bits: u32);
    /// Returns when `ready` says so; the wait is for PE `owner` (plus one).
    fn wait(&self, owner: u32, ready: &mut dyn FnMut() -> bool);
    /// Returns when `ready` says so. The PE behind the caller brings that about: some PE up to `last` (plus one) in the queue.
    fn wait_for_next(&self, last: u32, ready: &mut dyn FnMut() -> bool);
}

/// Takes the lock for PE `me` (plus one), after all PEs that asked before.
pub(crate) fn set(words: &impl QueueWords, me: u32) {
    let before = words.swap_tail(me);
    if before != 0 {
        // The place is clear: no PE can know us as successor before this.
        words.add_to_place(before, me << 1);
        words.wait(before, &mut || words.place() & TURN != 0);
        words.take_turn();
    }
}

/// Takes the lock if it is free. Returns 0 then, and otherwise the PE (plus one) that has asked last.
pub(crate) fn test(words: &impl QueueWords, me: u32) -> u32 {
    words.exchange_tail_if(0, me)
}

/// Hands the lock on. Returns `false` if PE `me` does not hold it, as far as can be seen.
pub(crate) fn clear(words: &impl QueueWords, me: u32) -> bool {
    if words.place() == 0 {
        // From a successful exchange on, any PE may use the variable, or it may be freed (LCK-6): our place is clear already, and
        // stays so, because a successor would have become the tail first.
        let tail = words.exchange_tail_if(me, 0);
        if tail == me {
            return true;
        }
        if tail == 0 {
            return false;
        }
        // A PE is queued behind us and is about to store its number.
        words.wait_for_next(tail, &mut || words.place() != 0);
    }
    let next = words.place() >> 1;
    words.clear_place();
    words.add_to_place(next, TURN);
    true
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    /// The words of PE 1, behind which PE 2 and then PE 3 have asked for the lock.
    #[derive(Default)]
    struct Crowd {
        place: Cell<u32>,
        calls: RefCell<Vec<(&'static str, u32)>>,
    }

    impl QueueWords for Crowd {
        fn exchange_tail_if(&self, _from: u32, _to: u32) -> u32 {
            3
        }

        fn swap_tail(&self, _to: u32) -> u32 {
            unreachable!("PE 1 has the lock")
        }

        fn place(&self) -> u32 {
            self.place.get()
        }

        fn take_turn(&self) {
            unreachable!("PE 1 has the lock")
        }

        fn clear_place(&self) {
            self.place.set(0);
        }

        fn add_to_place(&self, owner: u32, bits: u32) {
            self.calls.borrow_mut().push(("adds", owner << 1 | bits));
        }

        fn wait(&self, owner: u32, _ready: &mut dyn FnMut() -> bool) {
            self.calls.borrow_mut().push(("waits", owner));
        }

        fn wait_for_next(&self, last: u32, ready: &mut dyn FnMut() -> bool) {
            assert!(!ready());
            self.place.set(2 << 1);
            assert!(ready());
            self.calls.borrow_mut().push(("waits for the next", last));
        }
    }

    /// The last PE in the queue may be on this node, where it would ring, and the next one elsewhere.
    #[test]
    fn who_hands_on_a_lock_waits_for_the_next_and_not_for_the_last() {
        let words = Crowd::default();
        assert!(clear(&words, 1));
        assert_eq!(*words.calls.borrow(), [("waits for the next", 3), ("adds", 2 << 1 | TURN)]);
    }
}
