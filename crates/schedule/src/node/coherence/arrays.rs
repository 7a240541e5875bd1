//! The cost of moving the elements of arrays.

use super::Time;
use super::machine::{LineDistance, NodeMachine};
use crate::node::{NodePlace, Spot};
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

/// The caches that hold parts of the arrays, and the times at which boundaries are free.
pub(super) struct ModelledArrays<'a> {
    machine: &'a NodeMachine,
    seats: Vec<u32>,
    /// Copies in caches beside the owner's: the owner, the array, the first byte, and the cache.
    copies: BTreeSet<(u32, bool, u64, u32)>,
    /// When the boundary of each NUMA node is free: what leaves it, and what enters it.
    numa: Vec<[Time; 2]>,
    /// The same of each socket.
    sockets: Vec<[Time; 2]>,
    /// Bytes that moved, by distance.
    pub(super) bytes: [u64; 5],
}

impl<'a> ModelledArrays<'a> {
    pub(super) fn new(machine: &'a NodeMachine, seats: &[u32]) -> Self {
        let numa = (machine.sockets * machine.numa) as usize;
        Self {
            machine,
            seats: seats.into(),
            copies: BTreeSet::new(),
            numa: vec![[0; 2]; numa],
            sockets: vec![[0; 2]; machine.sockets as usize],
            bytes: [0; 5],
        }
    }

    /// Member `pe` reads `bytes` bytes at `at`; returns when it has them.
    pub(super) fn read(&mut self, pe: u32, from: Spot, bytes: u64, at: Time) -> Time {
        if from.place == NodePlace::Hand || bytes == 0 {
            return at;
        }
        let (to, home) = (self.seats[pe as usize], self.seats[from.of as usize]);
        let mut distance = self.machine.distance(home, to);
        if distance > LineDistance::Cache {
            let [cache, ..] = self.machine.domains(to);
            // Another core of this cache may have fetched it already.
            if !self.copies.insert((from.of, from.place == NodePlace::Dest, from.at, cache)) {
                distance = LineDistance::Cache;
            }
        }
        self.moves(home, to, distance, bytes, at)
    }

    /// Member `pe` writes `bytes` bytes at `at`; returns when it has done so.
    pub(super) fn write(&mut self, pe: u32, into: Spot, bytes: u64, at: Time) -> Time {
        if into.place == NodePlace::Hand || bytes == 0 {
            return at;
        }
        let array = (into.of, into.place == NodePlace::Dest);
        let old: Vec<_> = self
            .copies
            .range((array.0, array.1, into.at, 0)..=(array.0, array.1, into.at, u32::MAX))
            .copied()
            .collect();
        for copy in &old {
            self.copies.remove(copy);
        }
        if into.of == pe {
            // With what was read: a core stores beside its loads.
            return at;
        }
        let (from, to) = (self.seats[pe as usize], self.seats[into.of as usize]);
        self.moves(from, to, self.machine.distance(from, to), bytes, at)
    }

    fn moves(&mut self, from: u32, to: u32, distance: LineDistance, bytes: u64, at: Time) -> Time {
        self.bytes[distance as usize] += bytes;
        let picoseconds = |each: f64| (each * bytes as f64 * 1000.0) as Time;
        let mut done = at + picoseconds(self.machine.byte[distance as usize]);
        let ([_, numa, socket], [_, numa2, socket2]) = (self.machine.domains(from), self.machine.domains(to));
        let mut through = |boundary: &mut Time, each: f64| {
            *boundary = at.max(*boundary) + picoseconds(each);
            done = done.max(*boundary);
        };
        if distance >= LineDistance::Socket {
            through(&mut self.numa[numa as usize][0], self.machine.boundary[0]);
            through(&mut self.numa[numa2 as usize][1], self.machine.boundary[0]);
        }
        if distance == LineDistance::Node {
            through(&mut self.sockets[socket as usize][0], self.machine.boundary[1]);
            through(&mut self.sockets[socket2 as usize][1], self.machine.boundary[1]);
        }
        // The first line comes as any line does.
        done + (self.machine.line[distance as usize] * (1.0 - self.machine.claim) * 1000.0) as Time
    }
}
