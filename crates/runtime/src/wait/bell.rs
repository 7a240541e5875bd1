//! The bell wakes a sleeper before its time is over.

use core::sync::atomic::{Ordering::Acquire, Ordering::Relaxed, Ordering::Release, Ordering::SeqCst};
use std::time::Duration;

use crate::sync::{AtomicU32, fence, futex};

/// The word that a waiter sleeps on, and a second one that tells others to ring.
///
/// The sleeper reads `word`, sets `armed`, looks once more, then sleeps as long as `word` is unchanged. The thread that ends
/// the wait changes the waited-for state, then looks at `armed`. The first ringer that finds it set takes it back, changes
/// `word` and wakes all. Those behind it have nothing to do: the sleeper that has been woken needs a while to run, and a call of
/// the kernel for each of them would wake nobody. `word` changes by ringing only.
///
/// **Why no wake-up is lost.** A sleeper whose last look misses a change has its fence before the ringer's. So the ringer reads
/// `armed` as the sleeper has set it, or later. If it takes that back, it changes `word` behind the sleeper's read: the sleeper
/// reads `word` first, then sets `armed` with release; the ringer takes that with acquire, and changes `word` after it. `armed`
/// changes by read-modify-writes only, so a ringer that takes it synchronises with all who have set it, however many. If the
/// ringer finds `armed` taken back, another one has taken it from this sleeper, and does the same. Either way the sleep ends, and
/// the sleeper looks again.
///
/// Nobody takes back what a sleeper has set whose sleep ended by itself, or who has died. The next ringer does, and wakes nobody.
/// A ringer that dies before it wakes those from whom it has taken leaves them to the end of their time.
#[derive(Clone, Copy)]
pub(crate) struct Bell<'a> {
    /// Changes whenever sleepers should look again.
    pub(crate) word: &'a AtomicU32,
    /// One if a thread sleeps, or is about to, that no ringer has found yet.
    pub(crate) armed: &'a AtomicU32,
}

impl Bell<'_> {
    /// Wakes the sleepers, if any, after the caller changed what they wait for.
    pub(crate) fn ring(&self) {
        fence(SeqCst);
        self.nudge();
    }

    /// Rings if a thread seems to sleep. Without a fence a sleeper may be missed; its sleep ends by timeout.
    #[inline(always)]
    pub(crate) fn nudge(&self) {
        if self.armed.load(Relaxed) != 0 {
            self.wake();
        }
    }

    #[cold]
    #[inline(never)]
    fn wake(&self) {
        if self.armed.swap(0, Acquire) != 0 {
            self.word.fetch_add(1, Release);
            futex::wake(self.word, u32::MAX >> 1);
        }
    }

    /// Looks once more, then sleeps until it rings, for `most` at most. Returns whether it was `ready` before the sleep.
    pub(crate) fn sleep(&self, most: Duration, ready: &mut dyn FnMut() -> bool) -> bool {
        // First: whoever takes `armed` back changes the word afterwards. With acquire: a thread that sees a ring also sees the
        // change that it was rung for.
        let word = self.word.load(Acquire);
        self.armed.swap(1, Release);
        // A read-modify-write alone would let the loads below pass it on some processors.
        fence(SeqCst);
        let done = ready();
        if !done {
            futex::wait(self.word, word, Some(most));
        }
        done
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_sleeper_is_rung_for_once() {
        let (word, armed) = (AtomicU32::new(0), AtomicU32::new(0));
        let bell = Bell { word: &word, armed: &armed };
        bell.ring();
        assert_eq!(word.load(Relaxed), 0, "nobody sleeps");
        for sleep in 1..=3 {
            // Ringers come while the sleeper, awake already, is yet to leave its sleep.
            let was_ready = bell.sleep(Duration::from_secs(60), &mut || {
                (0..5).for_each(|_| bell.ring());
                false
            });
            assert!(!was_ready);
            bell.nudge();
            assert_eq!(word.load(Relaxed), sleep, "rings of {sleep} sleeps");
        }
    }
}
