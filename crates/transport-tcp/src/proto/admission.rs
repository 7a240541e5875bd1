//! Which new connections a listener keeps while they have not proven that they belong to the job. Time comes from outside, as
//! the time since some start.
//!
//! A connection is *silent* until it has said a hello, whose proof can only be made with the job's secret. Few silent
//! connections are kept: a further one displaces the oldest. A connection that has said hello is a PE of the job, or
//! repeats what a PE has said. It is never displaced: it stays until it has proven itself, closes, or its time is over.
//! So any number of strangers cannot displace a PE in the middle of its handshake, and any number of PEs cannot
//! displace each other.

use std::collections::BTreeMap;
use std::time::Duration;

use super::handshake::Route;

/// Silent connections that are kept. Each costs a descriptor.
pub const MOST_SILENT: usize = 256;
/// Descriptors that are no connections: those of the program, of the node's PEs, and of connections that have not proven themselves.
pub const OTHER_FILES: u64 = 200 + MOST_SILENT as u64;
/// Connections of one route that are kept behind their hello. A PE makes one at a time; those before it may not have been
/// seen to close yet. More are repetitions.
pub const MOST_OF_ROUTE: usize = 4;
/// How long a connection may be silent.
pub const SILENCE: Duration = Duration::from_secs(5);
/// The clock of the connections stands still when this PE has not looked at it for this time. Then this PE did not run,
/// and on the same overloaded host other PEs did not either: those sent away would only come again.
pub const STANDS_STILL: Duration = Duration::from_secs(2);

/// The connections that have not proven themselves.
#[derive(Default, Debug)]
pub struct Admission {
    /// Since when each is silent. Tokens grow, so the first is the oldest.
    silent: BTreeMap<usize, Duration>,
    /// By token: the route that the hello has named, and when the connection was accepted.
    greeted: BTreeMap<usize, (Route, Duration)>,
    /// How many of `greeted` each route has, by PE and rail.
    of_route: BTreeMap<(u32, u16), usize>,
    /// How long a handshake may take behind its hello.
    patience: Duration,
    /// When the clock was looked at last.
    looked: Duration,
    /// For how long it stood still.
    still: Duration,
}

impl Admission {
    /// No connections yet. A handshake may take `patience` behind its hello.
    pub fn new(patience: Duration) -> Self {
        Self { patience, ..Self::default() }
    }

    /// A connection has been accepted; its token is greater than all before. Returns the token of a silent one that has to go
    /// for it.
    pub fn accept(&mut self, token: usize, now: Duration) -> Option<usize> {
        self.silent.insert(token, self.clock(now));
        if self.silent.len() > MOST_SILENT { self.displace() } else { None }
    }

    /// The oldest silent connection has to go. `None`: there is none.
    pub fn displace(&mut self) -> Option<usize> {
        self.silent.pop_first().map(|(token, _)| token)
    }

    /// A connection has said a proven hello. Returns whether it is kept.
    pub fn greet(&mut self, token: usize, route: Route) -> bool {
        let Some(since) = self.silent.remove(&token) else { return self.greeted.contains_key(&token) };
        let count = self.of_route.entry((route.from, route.rail)).or_default();
        if *count >= MOST_OF_ROUTE {
            return false;
        }
        *count += 1;
        self.greeted.insert(token, (route, since));
        true
    }

    /// A connection has proven itself, or is gone.
    pub fn end(&mut self, token: usize) {
        self.silent.remove(&token);
        if let Some((route, _)) = self.greeted.remove(&token) {
            let of_route = (route.from, route.rail);
            match self.of_route.get_mut(&of_route) {
                Some(count) if *count > 1 => *count -= 1,
                _ => drop(self.of_route.remove(&of_route)),
            }
        }
    }

    /// The connections whose time is over. They have ended.
    pub fn expire(&mut self, now: Duration) -> Vec<usize> {
        let passed = now.saturating_sub(std::mem::replace(&mut self.looked, now));
        self.still += passed.saturating_sub(STANDS_STILL);
        let now = self.clock(now);
        let is_over = |since: Duration, stay: Duration| now.saturating_sub(since) > stay;
        let silent = self.silent.iter().filter(|&(_, &since)| is_over(since, SILENCE)).map(|(&token, _)| token);
        let greeted =
            self.greeted.iter().filter(|&(_, &(_, since))| is_over(since, self.patience)).map(|(&token, _)| token);
        let over: Vec<usize> = silent.chain(greeted).collect();
        over.iter().for_each(|&token| self.end(token));
        over
    }

    fn clock(&self, now: Duration) -> Duration {
        now.saturating_sub(self.still)
    }

    /// How many connections there are.
    pub fn len(&self) -> usize {
        self.silent.len() + self.greeted.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    fn from(pe: u32) -> Route {
        Route { from: pe, to: 0, rail: 0 }
    }

    #[test]
    fn fault_R1_no_number_of_pes_displaces_one_that_has_said_hello() {
        let mut admission = Admission::new(PATIENCE);
        for pe in 0..5_000 {
            assert_eq!(admission.accept(pe, Duration::ZERO), None);
            assert!(admission.greet(pe, from(pe as u32)));
        }
        assert_eq!(admission.len(), 5_000);
        assert!(admission.expire(PATIENCE).is_empty());
    }

    #[test]
    fn fault_R1_strangers_displace_only_each_other() {
        let mut admission = Admission::new(PATIENCE);
        let mut displaced = Vec::new();
        for token in 0..50_000 {
            displaced.extend(admission.accept(token, Duration::from_micros(token as u64)));
            if token % 100 == 0 {
                assert!(admission.greet(token, from(token as u32)), "a PE in the middle of the flood");
            }
        }
        assert_eq!(admission.len(), 500 + MOST_SILENT);
        assert!(displaced.iter().all(|token| token % 100 != 0));
        assert!(displaced.is_sorted(), "the oldest goes first");
        // A PE that says nothing yet has the time in which `MOST_SILENT` others come.
        assert_eq!(*displaced.last().expect("a flood displaces"), 49_999 - MOST_SILENT - MOST_SILENT.div_ceil(100) + 1);
    }

    #[test]
    fn a_repeated_hello_takes_no_more_than_the_place_of_its_route() {
        let mut admission = Admission::new(PATIENCE);
        for token in 0..1_000 {
            admission.accept(token, Duration::ZERO);
            assert_eq!(admission.greet(token, from(7)), token < MOST_OF_ROUTE);
        }
        assert_eq!(admission.len(), MOST_OF_ROUTE);
        // Its other rails and other PEs are not concerned.
        admission.accept(1_000, Duration::ZERO);
        assert!(admission.greet(1_000, Route { rail: 1, ..from(7) }));
        admission.accept(1_001, Duration::ZERO);
        assert!(admission.greet(1_001, from(8)));
        admission.end(0);
        admission.accept(1_002, Duration::ZERO);
        assert!(admission.greet(1_002, from(7)), "one has closed");
    }

    #[test]
    fn fault_R1_time_in_which_this_pe_did_not_run_sends_nobody_away() {
        let mut admission = Admission::new(PATIENCE);
        admission.accept(1, Duration::ZERO);
        admission.accept(2, Duration::ZERO);
        assert!(admission.greet(2, from(3)));
        // This PE runs once in twenty seconds.
        assert!(admission.expire(Duration::from_secs(20)).is_empty());
        assert!(admission.expire(Duration::from_secs(40)).is_empty());
        assert_eq!(admission.expire(Duration::from_secs(60)), [1]);
        let over = (4..100).find(|turn| !admission.expire(Duration::from_secs(20 * turn)).is_empty());
        assert_eq!(over, Some(PATIENCE.as_secs() / STANDS_STILL.as_secs() + 1));
    }

    #[test]
    fn silence_and_handshakes_end_in_time() {
        let mut admission = Admission::new(PATIENCE);
        admission.accept(1, Duration::ZERO);
        admission.accept(2, Duration::ZERO);
        assert!(admission.greet(2, from(3)) && admission.greet(2, from(3)));
        let mut expired_until = |end: Duration| {
            (1..).map(Duration::from_secs).take_while(|&at| at < end).for_each(|at| {
                assert!(admission.expire(at).is_empty() || at > SILENCE, "{at:?}");
            });
            admission.expire(end)
        };
        assert!(expired_until(SILENCE).is_empty());
        let moment = Duration::from_millis(1);
        assert_eq!(expired_until(SILENCE + moment), [1]);
        assert!(expired_until(PATIENCE).is_empty());
        assert_eq!(expired_until(PATIENCE + moment), [2]);
        assert!(admission.is_empty() && !admission.greet(2, from(3)));
        assert_eq!(admission.displace(), None);
    }
}
