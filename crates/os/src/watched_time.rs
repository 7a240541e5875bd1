//! Time that passes only while this process runs.

use std::mem;
use std::time::{Duration, Instant};

/// The longest time between two looks for an answer that counts as silence of the peer: a quarter of the shortest patience
/// (`SHMEM_PEER_TIMEOUT=1`). Chosen.
const LONGEST_GAP: Duration = Duration::from_millis(250);

/// The time since something was asked of a peer, as far as this process has looked whether the answer is there.
///
/// A job that is stopped as a whole (SIGSTOP, a batch system that suspends it) goes on after any time. No peer could answer meanwhile,
/// and each is alive. So the time between two looks counts as a quarter of a second at most.
#[derive(Clone, Copy, Debug)]
pub struct WatchedTime {
    passed: Duration,
    looked: Instant,
}

impl WatchedTime {
    /// Begins now.
    pub fn begin() -> Self {
        Self::begin_at(Instant::now())
    }

    fn begin_at(now: Instant) -> Self {
        Self { passed: Duration::ZERO, looked: now }
    }

    /// Looks, and returns the time that has passed.
    pub fn look(&mut self) -> Duration {
        self.look_at(Instant::now())
    }

    fn look_at(&mut self, now: Instant) -> Duration {
        let gap = now.saturating_duration_since(mem::replace(&mut self.looked, now));
        self.passed += gap.min(LONGEST_GAP);
        self.passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_without_a_look_hardly_counts() {
        let (begin, ms) = (Instant::now(), Duration::from_millis);
        let mut time = WatchedTime::begin_at(begin);
        // Looks every 10 ms count whole.
        for at in (10..=2_000).step_by(10) {
            assert_eq!(time.look_at(begin + ms(at)), ms(at));
        }
        // The job is stopped for an hour, and goes on.
        let resumed = 3_602_000;
        assert_eq!(time.look_at(begin + ms(resumed)), ms(2_000) + LONGEST_GAP);
        for at in (10..=2_000).step_by(10) {
            assert_eq!(time.look_at(begin + ms(resumed + at)), ms(2_000) + LONGEST_GAP + ms(at));
        }
    }
}
