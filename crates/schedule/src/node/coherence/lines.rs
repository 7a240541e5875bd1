//! Where lines are, and what it takes to get them.

use super::Time;
use super::machine::{LineDistance, NodeMachine};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// A line: its owner, and a number among the owner's lines.
pub(super) type Name = (u32, u32);

/// A member that polls a line until it reaches a number.
#[derive(Clone, Copy)]
struct Poll {
    pe: u32,
    number: u64,
}

#[derive(Default)]
struct CacheLine {
    number: u64,
    /// When the number can be seen, and the transfers on its writer's way to it.
    seen: Time,
    path: u32,
    /// The last writer and the members that have read the line since.
    holders: Vec<u32>,
    /// When it can serve the next request from another cache.
    free: Time,
    /// When a cache that has it can serve the next request of its cores.
    local: BTreeMap<u32, Time>,
    polls: Vec<Poll>,
}

/// A poll that has ended: who, when, and the transfers on the way.
pub(super) struct RunEnd {
    pub(super) pe: u32,
    pub(super) at: Time,
    pub(super) path: u32,
}

/// All lines of the team.
pub(super) struct CacheLines<'a> {
    machine: &'a NodeMachine,
    /// The core of each member.
    seats: Vec<u32>,
    lines: BTreeMap<Name, CacheLine>,
    /// Bytes that moved, by distance.
    pub(super) bytes: [u64; 5],
}

/// Bytes of a line.
const LINE: u64 = 64;

fn picoseconds(nanoseconds: f64) -> Time {
    (nanoseconds * 1000.0) as Time
}

impl<'a> CacheLines<'a> {
    pub(super) fn new(machine: &'a NodeMachine, seats: &[u32]) -> Self {
        Self { machine, seats: seats.into(), lines: BTreeMap::new(), bytes: [0; 5] }
    }

    /// Time begins anew; lines stay where they are.
    pub(super) fn begin(&mut self) {
        self.bytes = [0; 5];
        for line in self.lines.values_mut() {
            (line.seen, line.path, line.free) = (0, 0, 0);
            line.local.clear();
        }
    }

    fn distance(&self, a: u32, b: u32) -> LineDistance {
        self.machine.distance(self.seats[a as usize], self.seats[b as usize])
    }

    /// A member asks for a line at `at`; returns when it has it, and whether it had to move.
    fn fetch(&mut self, name: Name, pe: u32, at: Time) -> (Time, bool) {
        let line = self.lines.entry(name).or_default();
        if line.holders.contains(&pe) {
            return (at.max(line.seen) + picoseconds(self.machine.hit), false);
        }
        let (seats, machine) = (&self.seats, self.machine);
        let far = |holder: &u32| machine.distance(seats[*holder as usize], seats[pe as usize]);
        // No member has touched it yet: it is memory of the owner's, at the owner's distance.
        let distance = line.holders.iter().map(far).min().unwrap_or_else(|| far(&name.0));
        let cache = machine.domains(seats[pe as usize])[0];
        let cost = picoseconds(machine.line[distance as usize] * (1.0 - machine.claim));
        let local = line.local.get(&cache).copied().unwrap_or(0);
        let done = if distance <= LineDistance::Cache {
            at.max(local).max(line.seen) + cost
        } else {
            line.free = at.max(line.free).max(line.seen) + cost;
            line.free
        };
        line.local.insert(cache, done.max(local));
        line.holders.push(pe);
        self.bytes[distance as usize] += LINE;
        (done, true)
    }

    /// A member stores `number` at `at`; returns when it is seen. Members that polled the line ask for it again.
    pub(super) fn store(&mut self, name: Name, pe: u32, at: Time, number: u64, path: u32) -> (Time, Vec<RunEnd>) {
        let seats = &self.seats;
        let machine = self.machine;
        let far = |other: &u32| machine.distance(seats[*other as usize], seats[pe as usize]);
        let line = self.lines.entry(name).or_default();
        let farthest = line.holders.iter().filter(|holder| **holder != pe).map(far).max();
        let cost = farthest.map_or(machine.hit, |distance| machine.line[distance as usize] * machine.claim);
        let busy = line.local.values().copied().max().unwrap_or(0).max(line.free);
        let seen = at.max(busy) + picoseconds(cost);
        (line.number, line.seen, line.path, line.free) = (number, seen, path, seen);
        line.holders.clear();
        line.holders.push(pe);
        line.local.clear();
        let mut polls = core::mem::take(&mut line.polls);
        polls.sort_by_key(|poll| (far(&poll.pe), poll.pe));
        let mut ended = Vec::new();
        for poll in polls {
            let (at, _) = self.fetch(name, poll.pe, seen);
            if number >= poll.number {
                ended.push(RunEnd { pe: poll.pe, at, path: path + 1 });
            } else {
                self.lines.entry(name).or_default().polls.push(poll);
            }
        }
        (seen, ended)
    }

    /// A member, with `path` transfers behind it, loads a line at `at` to see `number`: when it has, and the transfers on the
    /// way; `None` if it polls.
    pub(super) fn load(&mut self, name: Name, pe: u32, at: Time, number: u64, path: u32) -> Option<(Time, u32)> {
        let (done, moved) = self.fetch(name, pe, at);
        let line = self.lines.entry(name).or_default();
        if line.number >= number {
            return Some((done, if moved { path.max(line.path) + 1 } else { path }));
        }
        line.polls.push(Poll { pe, number });
        None
    }

    /// A member adds to a word: the line comes to it alone. Returns when, and the transfers on the way.
    pub(super) fn add(&mut self, name: Name, pe: u32, at: Time, path: u32) -> (Time, u32) {
        let line = self.lines.entry(name).or_default();
        let owner = line.holders.first().copied().unwrap_or(name.0);
        let start = at.max(line.free);
        // A request that comes while the line is with another member is served after it.
        let path = if line.free > at { line.path } else { path };
        let distance = self.distance(owner, pe);
        let line = self.lines.entry(name).or_default();
        let moved = owner != pe;
        let cost = if moved { self.machine.line[distance as usize] } else { self.machine.hit };
        let done = start + picoseconds(cost);
        line.holders.clear();
        line.holders.push(pe);
        (line.free, line.seen, line.path) = (done, done, path + u32::from(moved));
        if moved {
            self.bytes[distance as usize] += LINE;
        }
        (done, line.path)
    }
}
