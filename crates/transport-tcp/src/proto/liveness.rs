//! Whether a peer is alive: when a silent one is asked over a new connection, and when it is given up. Time comes from outside, as the time
//! since some start.

use std::time::Duration;

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
    /// Something has been received since the last look.
    pub heard: bool,
    /// There is a connection or an attempt at one.
    pub connected: bool,
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
}

/// First and longest pause between attempts.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));
/// So long may a host refuse: its PE has ended, a restart is not to be expected.
const REFUSAL: Duration = Duration::from_secs(2);

impl Liveness {
    /// Gives up after `limit`.
    pub fn new(limit: Duration) -> Self {
        let zero = Duration::ZERO;
        Self { limit, silent_since: None, cut_at: zero, refused_since: None, retry_at: zero, pause: PAUSES.0 }
    }

    /// Looks at the peer.
    pub fn look(&mut self, now: Duration, look: Look) -> Advice {
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
        if look.refused && !look.connected {
            self.refused_since.get_or_insert(now);
        } else if look.connected && !look.refused {
            self.refused_since = None;
        }
        let refused = self.refused_since.is_some_and(|since| now - since >= REFUSAL.min(self.limit));
        if refused || now - since >= self.limit {
            Advice::GiveUp
        } else if look.connected && now - since.max(self.cut_at) >= self.limit / 3 {
            self.cut_at = now;
            Advice::Reconnect
        } else if !look.connected && now >= self.retry_at {
            self.retry_at = now + self.pause;
            self.pause = (self.pause * 2).min(PAUSES.1);
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
