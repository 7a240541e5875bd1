//! Whether a peer is alive: when a silent one is asked over a new connection, and when it is given up. Time comes from outside, as the time
//! since some start.

use std::time::Duration;

use super::attempts::PauseDice;

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
    /// Something has been received since the last look.
    pub heard: bool,
    /// There is a connection or an attempt at one.
    pub connected: bool,
    /// An attempt has been taken by the peer's listener, which has not answered: another one would only stand behind it.
    pub asked: bool,
    /// All addresses refused the last attempt: nobody listens there.
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
    dice: PauseDice,
    looked: Duration,
}

/// First and longest pause between attempts. As much again is added at random, so that PEs that were sent away together do not
/// come again together.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));
/// So long may a host refuse: its PE has ended, a restart is not to be expected.
const REFUSAL: Duration = Duration::from_secs(2);

impl Liveness {
    /// Gives up after `limit`. `seed` should differ from link to link.
    pub fn new(limit: Duration, seed: u64) -> Self {
        let zero = Duration::ZERO;
        let dice = PauseDice::new(seed);
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
        let random = self.dice.below(self.pause.as_nanos() as u64);
        self.retry_at = now + self.pause + Duration::from_nanos(random);
        self.pause = (self.pause * 2).min(PAUSES.1);
    }

    /// Looks at the peer.
    pub fn look(&mut self, now: Duration, look: Look) -> Advice {
        let passed = now - std::mem::replace(&mut self.looked, now);
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
            // The clocks of silence stand still.
            self.silent_since = Some(since + passed.min(now - since));
            self.refused_since = self.refused_since.map(|since| since + passed.min(now - since));
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

    /// How long the peer has been silent.
    pub fn silence(&self, now: Duration) -> Duration {
        self.silent_since.map_or(Duration::ZERO, |since| now - since)
    }
}
