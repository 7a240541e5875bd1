//! Whether a peer is alive: when a silent one is asked over a new connection, and when it is given up. Time comes from outside, as the time
//! since some start.

use std::time::Duration;

use oxshmem_base::chance::Dice;

/// The next step towards a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Advice {
    /// Nothing.
    Wait,
    /// Cut the connection, which may be dead without knowing, and make a new one.
    Reconnect,
    /// Make a connection: there is none, and the last attempt is long enough ago.
    Connect,
    /// The peer is gone.
    GiveUp,
}

/// How a peer looks at the moment.
#[derive(Clone, Copy, Default, Debug)]
pub struct Look {
    /// It owes us something.
    pub waiting: bool,
    /// An attempt to reach it waits for its turn at this PE: the peer has not been asked, and its silence means nothing.
    pub queued: bool,
    /// How long after the last look this one was to come.
    pub interval: Duration,
    /// Something has been received since the last look.
    pub heard: bool,
    /// There is a connection or an attempt at one.
    pub connected: bool,
    /// An attempt has been taken by the peer's listener, which has not answered: another one would only stand behind it.
    pub asked: bool,
    /// All addresses refused the last attempt: no process listens there.
    pub refused: bool,
}

/// How long one peer has been silent, and what has been tried since.
#[derive(Clone, Copy, Debug)]
pub struct Liveness {
    limit: Duration,
    silent_since: Option<Duration>,
    /// When the silent connection was last replaced.
    cut_at: Duration,
    refused_since: Option<Duration>,
    retry_at: Duration,
    pause: Duration,
    dice: Dice,
    looked: Duration,
}

/// First and longest pause between attempts. As much again is added at random, so that PEs that were sent away together do not
/// come again together.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));
/// How late a look may come so that the time since the last one counts. If this PE looks later, it has not run: it was stopped, or its
/// host is overloaded and so may be the peer's. Of 1,024 PEs on two busy processors each runs every few seconds.
const DELAY: Duration = Duration::from_millis(100);
/// The longest time in which a host may refuse: its PE has ended, and no restart is expected.
const REFUSAL: Duration = Duration::from_secs(2);

impl Liveness {
    /// Gives up after `limit`. `seed` should differ from link to link.
    pub fn new(limit: Duration, seed: u64) -> Self {
        let zero = Duration::ZERO;
        let dice = Dice::new(seed);
        Self {
            limit,
            silent_since: None,
            cut_at: zero,
            refused_since: None,
            retry_at: zero,
            pause: PAUSES.0,
            dice,
            looked: zero,
        }
    }

    /// The peer has answered that it does not want this connection now: the next attempt is made after a pause.
    pub fn put_off(&mut self, now: Duration) {
        let random = self.dice.below(self.pause.as_nanos() as usize) as u64;
        self.retry_at = now + self.pause + Duration::from_nanos(random);
        self.pause = (self.pause * 2).min(PAUSES.1);
    }

    /// Looks at the peer.
    pub fn look(&mut self, now: Duration, look: Look) -> Advice {
        let passed = now - std::mem::replace(&mut self.looked, now);
        self.forget(now, if look.queued { passed } else { passed.saturating_sub(look.interval + DELAY) });
        if look.heard {
            self.pause = PAUSES.0;
        }
        if !look.waiting || look.heard {
            (self.silent_since, self.refused_since) = (None, None);
        }
        if !look.waiting {
            return Advice::Wait;
        }
        let since = *self.silent_since.get_or_insert(now);
        if look.queued {
            return Advice::Wait;
        }
        if look.refused && !look.connected {
            self.refused_since.get_or_insert(now);
        } else if look.connected && !look.refused {
            self.refused_since = None;
        }
        let refused = self.refused_since.is_some_and(|since| now - since >= REFUSAL.min(self.limit));
        if refused || now - since >= self.limit {
            Advice::GiveUp
        } else if look.connected && now - since.max(self.cut_at) >= self.limit / if look.asked { 2 } else { 3 } {
            self.cut_at = now;
            Advice::Reconnect
        } else if !look.connected && now >= self.retry_at {
            self.put_off(now);
            Advice::Connect
        } else {
            Advice::Wait
        }
    }

    /// The clocks of silence have stood still for this time.
    fn forget(&mut self, now: Duration, still: Duration) {
        let later = |since: Duration| (since + still).min(now);
        self.silent_since = self.silent_since.map(later);
        self.refused_since = self.refused_since.map(later);
        self.cut_at = later(self.cut_at);
    }

    /// How long the peer has been silent.
    pub fn silence(&self, now: Duration) -> Duration {
        self.silent_since.map_or(Duration::ZERO, |since| now - since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_ends_in_time_and_not_before() {
        let (limit, ms) = (Duration::from_secs(9), Duration::from_millis);
        let waiting = Look { waiting: true, ..Look::default() };
        // A cable that is cut for good: a new connection is tried, then the peer is given up.
        let mut patience = Liveness::new(limit, 1);
        let connected = Look { connected: true, ..waiting };
        // Looks every 20 ms, of which the last one counts.
        let advice = |patience: &mut Liveness, from: u64, to: u64, look| {
            (from..to).step_by(20).for_each(|at| assert_ne!(patience.look(ms(at), look), Advice::GiveUp, "at {at} ms"));
            patience.look(ms(to), look)
        };
        assert_eq!(advice(&mut patience, 0, 0, connected), Advice::Wait);
        assert_eq!(advice(&mut patience, 20, 2_999, connected), Advice::Wait);
        assert_eq!(advice(&mut patience, 3_000, 3_000, connected), Advice::Reconnect);
        assert_eq!(advice(&mut patience, 3_010, 3_010, waiting), Advice::Connect);
        assert_eq!(advice(&mut patience, 3_020, 3_020, waiting), Advice::Wait, "attempts are not made in a hurry");
        assert_eq!(advice(&mut patience, 3_040, 5_999, connected), Advice::Wait);
        assert_eq!(advice(&mut patience, 6_000, 6_000, connected), Advice::Reconnect);
        assert_eq!(advice(&mut patience, 6_020, 8_999, connected), Advice::Wait);
        assert_eq!(advice(&mut patience, 9_000, 9_000, connected), Advice::GiveUp);
        // One that comes back after five seconds.
        let mut patience = Liveness::new(limit, 1);
        for at in (0..5_000).step_by(20) {
            assert_ne!(advice(&mut patience, at, at, waiting), Advice::GiveUp);
        }
        assert_eq!(advice(&mut patience, 5_000, 5_000, Look { heard: true, ..connected }), Advice::Wait);
        assert_eq!(advice(&mut patience, 5_020, 8_000, connected), Advice::Reconnect);
        // A host on which no process listens any more is given up sooner.
        let mut patience = Liveness::new(limit, 1);
        let refused = Look { refused: true, ..waiting };
        assert_eq!(advice(&mut patience, 0, 0, refused), Advice::Connect);
        assert_ne!(advice(&mut patience, 20, 1_900, refused), Advice::GiveUp);
        assert_eq!(advice(&mut patience, 1_920, 2_000, refused), Advice::GiveUp);
        // A side that is owed nothing waits for ever.
        assert_eq!(advice(&mut patience, 900_000, 900_000, Look::default()), Advice::Wait);
    }

    #[test]
    fn fault_R1_an_answer_and_the_queue_of_this_pe_do_not_count_as_silence() {
        let (limit, ms) = (Duration::from_secs(9), Duration::from_millis);
        let waiting = Look { waiting: true, ..Look::default() };
        // A peer that always answers "later" is there.
        let mut patience = Liveness::new(limit, 1);
        for at in (0..60_000).step_by(20) {
            let heard = at % 500 == 0;
            if heard {
                patience.put_off(ms(at));
            }
            assert_ne!(patience.look(ms(at), Look { heard, ..waiting }), Advice::GiveUp, "at {at} ms");
        }
        // Attempts that wait a minute for their turn do not count, and the time before and after does.
        let mut patience = Liveness::new(limit, 2);
        let queued = Look { queued: true, ..waiting };
        for at in (0..4_000).step_by(20) {
            patience.look(ms(at), waiting);
        }
        for at in (4_000..64_000).step_by(20) {
            assert_eq!(patience.look(ms(at), queued), Advice::Wait);
        }
        for at in (64_000..69_000).step_by(20) {
            assert_ne!(patience.look(ms(at), waiting), Advice::GiveUp, "at {at} ms");
        }
        assert_eq!(patience.look(ms(69_000), waiting), Advice::GiveUp);
    }

    #[test]
    fn fault_R1_time_in_which_this_pe_did_not_run_does_not_count_as_silence() {
        let (limit, waiting) = (
            Duration::from_secs(30),
            Look { waiting: true, connected: true, interval: Duration::from_millis(900), ..Look::default() },
        );
        // An overloaded host lets this PE look every five seconds, and the peer answer after a minute.
        let mut patience = Liveness::new(limit, 1);
        for look in 0..12 {
            assert_ne!(patience.look(Duration::from_secs(5 * look), waiting), Advice::GiveUp, "look {look}");
        }
        // A peer that never answers is given up all the same.
        let given_up = (12..100).find(|look| patience.look(Duration::from_secs(5 * look), waiting) == Advice::GiveUp);
        assert!(given_up.is_some_and(|look| (29..=33).contains(&look)), "{given_up:?}");
    }

    #[test]
    fn fault_R1_pes_that_are_put_off_together_do_not_come_back_together() {
        let next = |seed| {
            let mut patience = Liveness::new(Duration::from_secs(30), seed);
            patience.put_off(Duration::ZERO);
            let advice = |at| patience.look(at, Look { waiting: true, ..Look::default() });
            (0..1_000).map(Duration::from_millis).map(advice).position(|advice| advice == Advice::Connect)
        };
        let mut times: Vec<usize> = (0..100).map(|seed| next(seed).expect("it comes back")).collect();
        assert!(times.iter().all(|ms| (20..=40).contains(ms)), "{times:?}");
        times.sort_unstable();
        times.dedup();
        assert!(times.len() > 10, "{times:?}");
    }
}
