//! How long to back off where nothing shows that a peer asks for something.
//!
//! Some providers (shm) need the target's processor and have nothing to sleep on, so that a thread must look from time
//! to time. Peers that have just asked are likely to ask again, and those that have been silent for long can wait a
//! little longer: the backoff is a fraction of the silence.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A backoff is the silence divided by this: the next request waits at most that much longer, and a PE in a long
/// silence wakes rarely.
const PART: u32 = 16;
/// Shortest and longest backoff. A thousand looks a second take some hundredths of a processor.
const BACKOFF: (Duration, Duration) = (Duration::from_micros(5), Duration::from_micros(800));

fn backoff_after(silence: Duration) -> Duration {
    (silence / PART).clamp(BACKOFF.0, BACKOFF.1)
}

/// The time of the last request from a peer.
pub(crate) struct Backoff {
    begin: Instant,
    /// Nanoseconds after `begin` when something came last. Relaxed: only the length of a backoff depends on it.
    last: AtomicU64,
}

impl Backoff {
    pub(crate) fn new() -> Self {
        Self { begin: Instant::now(), last: AtomicU64::new(0) }
    }

    /// Something has come.
    pub(crate) fn note(&self) {
        self.last.store(self.now(), Ordering::Relaxed);
    }

    /// How long to back off now.
    pub(crate) fn next(&self) -> Duration {
        backoff_after(Duration::from_nanos(self.now().saturating_sub(self.last.load(Ordering::Relaxed))))
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks until something comes, `comes_after` after the last; returns how late it is seen and how many looks were
    /// in vain.
    fn look_for(comes_after: Duration) -> (Duration, u32) {
        let (mut now, mut looks) = (Duration::ZERO, 0);
        while now < comes_after {
            now += backoff_after(now);
            looks += 1;
        }
        (now - comes_after, looks)
    }

    #[test]
    fn fault_P3_peers_that_have_just_asked_are_served_within_some_microseconds() {
        for silence in 1..=80 {
            let (late, _) = look_for(Duration::from_micros(silence));
            assert!(late <= Duration::from_micros(5), "{late:?} after {silence} us");
        }
    }

    #[test]
    fn fault_P3_a_peer_waits_for_a_part_of_the_silence_before_it() {
        for silence in (50..200_000).step_by(37).map(Duration::from_micros) {
            let (late, _) = look_for(silence);
            assert!(late <= (silence / 16).max(BACKOFF.0).min(BACKOFF.1), "{late:?} after {silence:?}");
        }
    }

    #[test]
    fn fault_P3_a_long_silence_is_looked_through_some_thousand_times_a_second() {
        let (_, looks) = look_for(Duration::from_secs(5));
        assert!(looks <= 6500, "{looks} looks in 5 s");
    }

    #[test]
    fn fault_P3_what_comes_makes_backoffs_short_again() {
        let begin = Instant::now().checked_sub(Duration::from_secs(1)).expect("the machine runs for longer");
        let backoff = Backoff { begin, last: AtomicU64::new(0) };
        assert_eq!(backoff.next(), BACKOFF.1);
        backoff.note();
        let before = backoff.last.load(Ordering::Relaxed);
        assert!(before >= 1_000_000_000, "{before}");
        // The clock goes on meanwhile, but not backwards.
        backoff.last.store(u64::MAX, Ordering::Relaxed);
        assert_eq!(backoff.next(), BACKOFF.0);
    }
}
