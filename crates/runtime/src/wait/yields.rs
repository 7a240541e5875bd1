//! Yields: when a wait gives the processor to whoever wants it, and when it does without.
//!
//! PEs that share a processor yield to one another in microseconds. Beside another process that computes, a yield is a bad bargain:
//! the other process keeps the processor for a whole slice, and Linux also takes from the thread that yields what is left of its
//! own. A thread that sleeps loses nothing, and goes ahead of the other process when it is woken. So after a yield that took as long
//! as a slice, waits that a bell ends do without yields for a while: longer each time, as long as the next yield takes that long again.
//!
//! Waits without a bell always yield. They would wake again and again from short sleeps, each time ahead of the threads that work: 193
//! threads of six PEs that waited for others took 17 to 37 s in place of 7.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use oxshmem_os::time;

/// When waits do without yields: none of it is published with the words (relaxed), and threads that change them at once make a wait
/// yield once more, or once less.
pub(crate) struct Yields {
    /// The end of the last respite in [`time::cycles`]; 0: there was none.
    until: AtomicU64,
    /// Its length.
    period: AtomicU64,
    /// Waits always yield: so many PEs share a processor that yields among them take as long.
    always: AtomicBool,
}

impl Yields {
    pub(crate) const fn new() -> Self {
        Self { until: AtomicU64::new(0), period: AtomicU64::new(0), always: AtomicBool::new(false) }
    }

    /// Whether waits always yield from now on.
    pub(crate) fn always(&self, always: bool) {
        self.always.store(always, Relaxed);
    }

    /// Lets others run, unless a wait with a bell does without yields now. Returns whether the wait may yield again.
    pub(crate) fn give_way(&self, has_bell: bool) -> bool {
        if !has_bell {
            std::thread::yield_now();
            return true;
        }
        let begin = time::cycles();
        let until = self.until.load(Relaxed);
        if until != 0 && until.wrapping_sub(begin).cast_signed() > 0 {
            return false;
        }
        std::thread::yield_now();
        let end = time::cycles();
        if end.wrapping_sub(begin) < LONG_YIELD || self.always.load(Relaxed) {
            return true;
        }
        self.note_a_long_one(end);
        false
    }

    /// A yield has been long, and is over.
    #[cold]
    fn note_a_long_one(&self, now: u64) {
        let since = now.wrapping_sub(self.until.load(Relaxed)).cast_signed();
        let period = match self.period.load(Relaxed) {
            period if period != 0 && since < SOON.cast_signed() => (period * 2).min(LONGEST),
            _ => SHORTEST,
        };
        self.period.store(period, Relaxed);
        self.until.store(now.wrapping_add(period).max(1), Relaxed);
    }
}

/// A yield of as many [`time::cycles`], 0.75 to 3 ms, shows another process. Linux 6.18, 250 ticks a second: another process keeps the
/// processor for 2 to 5 ms, and of 650,000 yields of 16 PEs on two processors 8 took more than 1 ms.
const LONG_YIELD: u64 = 3_000_000;
/// The first respite: 4 to 16 ms. Chosen.
const SHORTEST: u64 = 16_000_000;
/// The longest one: 0.1 to 0.4 s. Chosen.
const LONGEST: u64 = 400_000_000;
/// A long yield that comes so soon after a respite, within 15 to 60 ms, shows that the other process still is there. Chosen.
const SOON: u64 = 60_000_000;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// One that has noted a long yield `ago` cycles ago.
    fn noted(ago: u64) -> Yields {
        let yields = Yields::new();
        yields.note_a_long_one(time::cycles().wrapping_sub(ago));
        yields
    }

    #[test]
    fn waits_yield_unless_a_yield_has_just_been_long() {
        // Beside other programs any yield may be long.
        let does = |yields: &Yields| yields.give_way(true) || yields.period.load(Relaxed) != 0;
        assert!(does(&Yields::new()));
        assert!(does(&noted(SHORTEST)) && does(&noted(LONGEST)) && does(&noted(u64::MAX / 4)));
        let yields = Yields::new();
        yields.note_a_long_one(time::cycles().wrapping_add(LONGEST));
        assert!(!yields.give_way(true) && yields.give_way(false));
    }

    #[test]
    fn waits_that_always_yield_do_so_after_a_long_yield_too() {
        let yields = Yields::new();
        yields.always(true);
        assert!((0..100).all(|_| yields.give_way(true)));
    }

    /// Beside a process that always computes, nearly all waits sleep; a single long yield costs no more than the shortest respite.
    #[test]
    fn respites_grow_beside_a_process_that_stays_and_only_then() {
        let yields = Yields::new();
        let (mut now, mut without) = (7_u64, 0);
        for _ in 0..100 {
            now += 4 * LONG_YIELD;
            yields.note_a_long_one(now);
            let period = yields.period.load(Relaxed);
            assert_eq!(yields.until.load(Relaxed), now + period);
            without += period;
            now += period;
        }
        assert_eq!(yields.period.load(Relaxed), LONGEST);
        assert!(without > now / 10 * 9, "{without} of {now} cycles without yields");
        yields.note_a_long_one(now + SOON);
        assert_eq!(yields.period.load(Relaxed), SHORTEST);
    }
}
