//! Whether the other side of a pipe is still there: a side that has nothing to say sends a beat, and a side that is
//! silent for too long is lost. Time is an argument, so that tests need not wait.

use std::time::Duration;

/// One side's view of the other.
#[derive(Debug)]
pub(crate) struct Pulse<I> {
    /// How long the other side may be silent.
    limit: Duration,
    heard: I,
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
    /// Give the other side up.
    GiveUp,
}

impl<I: Copy + Ord + std::ops::Add<Duration, Output = I>> Pulse<I> {
    pub(crate) fn new(limit: Duration, now: I) -> Self {
        Pulse { limit, heard: now, spoke: now, pauses: false }
    }

    /// How often to look.
    pub(crate) fn interval(limit: Duration) -> Duration {
        limit / 8
    }

    /// Something came, whatever it was.
    pub(crate) fn heard(&mut self, now: I) {
        self.heard = now;
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
        self.heard = now;
    }

    pub(crate) fn need(&self, now: I) -> Need {
        let interval = Self::interval(self.limit);
        if !self.pauses && now >= self.heard + self.limit {
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
        assert_eq!(pulse.need(seconds(108)), Need::GiveUp);
        pulse.heard(seconds(107));
        assert_eq!(pulse.need(seconds(114)), Need::Beat);
        assert_eq!(pulse.need(seconds(115)), Need::GiveUp);
    }

    #[test]
    fn a_job_that_is_stopped_is_not_lost() {
        let mut pulse = Pulse::new(LIMIT, seconds(0));
        pulse.pause();
        assert_eq!(pulse.need(seconds(3600)), Need::Beat);
        pulse.resume(seconds(3600));
        assert_eq!(pulse.need(seconds(3607)), Need::Beat);
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
            prop_assert_eq!(here.need(now + LIMIT + ms(delay) + seconds(2)), Need::GiveUp);
        }
    }
}
