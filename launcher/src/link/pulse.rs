//! Whether the other side of a pipe is still there: a side that has nothing to say sends a beat, and a side that is
//! silent for too long is lost. Time is an argument, so that tests need not wait.
//!
//! A batch system may stop a job as a whole (SIGSTOP, a frozen control group) and let it go on after any time. Nothing could be said
//! meanwhile, and both sides are alive. So a look that comes late counts as little.

use std::ops::{Add, Sub};
use std::time::Duration;

/// One side's view of the other.
#[derive(Debug)]
pub(crate) struct Pulse<I> {
    /// How long the other side may be silent.
    limit: Duration,
    /// How long it has been, as far as this side has looked, and when that was counted last.
    silence: Duration,
    counted: I,
    spoke: I,
    /// The other side has been told to stop, or we were.
    pauses: bool,
}

/// The next thing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    Nothing,
    /// Say that we are here.
    Beat,
    GiveUp,
}

impl<I: Copy + Ord + Add<Duration, Output = I> + Sub<Output = Duration>> Pulse<I> {
    pub(crate) fn new(limit: Duration, now: I) -> Self {
        Pulse { limit, silence: Duration::ZERO, counted: now, spoke: now, pauses: false }
    }

    /// How often to look.
    pub(crate) fn interval(limit: Duration) -> Duration {
        limit / 8
    }

    /// Something came, whatever it was.
    pub(crate) fn heard(&mut self, now: I) {
        (self.silence, self.counted) = (Duration::ZERO, now);
    }

    /// Something was sent.
    pub(crate) fn spoke(&mut self, now: I) {
        self.spoke = now;
    }

    /// Silence means nothing from now on.
    pub(crate) fn pause(&mut self) {
        self.pauses = true;
    }

    /// It counts again, from now on.
    pub(crate) fn resume(&mut self, now: I) {
        self.pauses = false;
        self.heard(now);
    }

    /// Looks. Between two looks two intervals pass at most: after more this side did not run, and perhaps the other neither.
    pub(crate) fn need(&mut self, now: I) -> Need {
        let interval = Self::interval(self.limit);
        if now > self.counted {
            self.silence = self.silence.saturating_add((now - self.counted).min(2 * interval));
            self.counted = now;
        }
        if !self.pauses && self.silence >= self.limit {
            return Need::GiveUp;
        }
        // A beat is due at every look, eight times within the limit, so that a late look does no harm.
        if now >= self.spoke + interval { Need::Beat } else { Need::Nothing }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMIT: Duration = Duration::from_secs(8);

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn who_is_silent_beats_and_who_is_not_heard_is_given_up() {
        let mut pulse = Pulse::new(LIMIT, seconds(100));
        assert_eq!(pulse.need(seconds(100)), Need::Nothing);
        assert_eq!(pulse.need(seconds(101)), Need::Beat);
        pulse.spoke(seconds(101));
        assert_eq!(pulse.need(seconds(101)), Need::Nothing);
        assert!((102..108).all(|at| pulse.need(seconds(at)) == Need::Beat));
        assert_eq!(pulse.need(seconds(108)), Need::GiveUp);
        pulse.heard(seconds(109));
        assert!((110..117).all(|at| pulse.need(seconds(at)) == Need::Beat));
        assert_eq!(pulse.need(seconds(117)), Need::GiveUp);
    }

    #[test]
    fn time_in_which_this_side_did_not_run_gives_nobody_up() {
        let mut pulse = Pulse::new(LIMIT, seconds(0));
        assert_eq!(pulse.need(seconds(1)), Need::Beat);
        // The whole job is stopped for an hour. When it goes on this side looks before the other one has said anything.
        assert!((3601..3606).all(|at| pulse.need(seconds(at)) == Need::Beat));
        assert_eq!(pulse.need(seconds(3606)), Need::GiveUp, "it counts from then on");
    }

    #[test]
    fn a_job_that_is_stopped_is_not_lost() {
        let mut pulse = Pulse::new(LIMIT, seconds(0));
        pulse.pause();
        assert_eq!(pulse.need(seconds(3600)), Need::Beat);
        pulse.resume(seconds(3600));
        assert!((3601..3608).all(|at| pulse.need(seconds(at)) == Need::Beat));
        assert_eq!(pulse.need(seconds(3608)), Need::GiveUp);
    }

    proptest! {
        /// Two sides with clocks of their own that look at any moments within the interval: neither gives up, and when
        /// one stops, the other does within the limit and a look.
        #[test]
        fn two_sides_keep_each_other(looks in proptest::collection::vec(0u64..1000, 10..100), delay in 0u64..2000) {
            let ms = Duration::from_millis;
            let (mut here, mut there) = (Pulse::new(LIMIT, ms(0)), Pulse::new(LIMIT, ms(0)));
            let mut now = ms(0);
            for look in looks {
                now += ms(look);
                for (speaker, listener) in [(0, 1), (1, 0)] {
                    let sides = [&mut here, &mut there];
                    prop_assert_ne!(sides[speaker].need(now), Need::GiveUp);
                    if sides[speaker].need(now) == Need::Beat {
                        sides[speaker].spoke(now);
                        sides[listener].heard(now + ms(delay));
                    }
                }
            }
            let mut looks = 1..=LIMIT.as_secs() + 2;
            prop_assert!(looks.any(|look| here.need(now + ms(delay) + seconds(look)) == Need::GiveUp));
        }
    }
}
