//! The bell wakes a sleeper before its time is over.

use core::sync::atomic::{Ordering::Acquire, Ordering::Relaxed, Ordering::Release, Ordering::SeqCst};
use std::time::Duration;

use crate::sync::{AtomicU32, fence, futex};

/// The word that a waiter sleeps on, which also tells others that a thread sleeps.
///
/// The sleeper counts itself in (`sleepers`), looks once more, then sleeps as long as `word` is unchanged. The thread
/// that ends the wait changes the waited-for state, then looks at `sleepers`. Both have a full fence between, so either
/// the ringer sees the sleeper or the sleeper sees the change. `word` changes by ringing only.
#[derive(Clone, Copy)]
pub(crate) struct Bell<'a> {
    /// Changes whenever sleepers should look again.
    pub(crate) word: &'a AtomicU32,
    /// How many sleep or are about to.
    pub(crate) sleepers: &'a AtomicU32,
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
        if self.sleepers.load(Relaxed) != 0 {
            self.wake();
        }
    }

    #[cold]
    #[inline(never)]
    fn wake(&self) {
        self.word.fetch_add(1, Release);
        futex::wake(self.word, u32::MAX >> 1);
    }

    /// Looks once more, then sleeps until it rings, for `most` at most. Returns whether it was `ready` before the sleep.
    pub(crate) fn sleep(&self, most: Duration, ready: &mut dyn FnMut() -> bool) -> bool {
        self.sleepers.fetch_add(1, Relaxed);
        // A read-modify-write alone would let the loads below pass it on some processors.
        fence(SeqCst);
        // With acquire: a thread that sees a ring also sees the change that it was rung for.
        let word = self.word.load(Acquire);
        let done = ready();
        if !done {
            futex::wait(self.word, word, Some(most));
        }
        self.sleepers.fetch_sub(1, Relaxed);
        done
    }
}
