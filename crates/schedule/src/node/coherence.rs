//! The simulator of the node's protocols: what a call costs on a model of a machine's caches.
//!
//! A line is in the cache of the last writer and of the members that have read it since. A store claims the line from
//! all that share it, which takes the longer the farther they are; after that every member that polls the line asks for
//! it again. A line serves one request at a time: its owner those from other caches, a shared cache those of its own
//! cores. Loads of different lines overlap, stores of one member are seen in their order. Arrays move at the rate of a
//! core, and all that crosses a NUMA node's or a socket's boundary in one direction shares that boundary.
//!
//! The very steps of the protocols run, in the order of simulated time, so that a simulation gives the same figures
//! every time. All of them are simulated, never measured; a machine's description says where its times come from.

mod arrays;
mod lines;
mod machine;
mod report;

#[cfg(test)]
mod tests;

pub use machine::{LineDistance, MACHINES, MachineMistake, NodeMachine};
pub use report::{NodeEntry, NodeQuestion, compare, svg, table};

use self::arrays::ModelledArrays;
use self::lines::CacheLines;
use super::{Move, NodePlan, Protocol, Shape};
use crate::step::{Traffic, Turn};
use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// A time in picoseconds.
type Time = u64;

/// The result of a simulation; nothing in it is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NodeOutcome {
    /// From the first entry of a member to the last departure, in nanoseconds; all enter at once.
    pub time: f64,
    /// Transfers of lines, one after the other, on the way to the last departure.
    pub path: u32,
    /// Bytes that moved, by [`LineDistance`]. The last one is what crossed between sockets.
    pub bytes: [u64; 5],
}

/// A protocol that waits for a number that no member writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stuck;

/// Elements of a call: what its plan says in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelledCall {
    /// Bytes of the array.
    pub bytes: u64,
    /// Bytes of an element.
    pub element: u64,
    /// The root of a broadcast.
    pub root: u32,
    /// Bytes of a piece of a long array.
    pub piece: u64,
}

/// Bytes that a line carries beside its number.
const PAYLOAD: u64 = 56;

/// A member between its steps.
#[derive(Clone, Default)]
struct VirtualPe {
    pc: u64,
    /// When what it has waited for so far is there, and the transfers on the way to that.
    ready: Time,
    path: u32,
    /// Lines that it still polls.
    polls: u32,
    /// When its last store is seen by all.
    stored: Time,
    parked: bool,
    counted: bool,
}

/// Runs a call of `protocol` whose members stand as `shape` says and sit where `machine` puts them. Two calls run before
/// it, so that lines are where a sequence of calls leaves them; the call itself is the third.
pub fn simulate(
    protocol: &dyn Protocol,
    shape: &Shape,
    machine: &NodeMachine,
    call: &ModelledCall,
) -> Result<NodeOutcome, Stuck> {
    let size = shape.size();
    let seats = machine.seats(size);
    let mut lines = CacheLines::new(machine, &seats);
    let mut outcome = NodeOutcome::default();
    let mut turn = Turn::default();
    for _ in 0..3 {
        turn = turn.next(protocol.traffic());
        let plan = NodePlan {
            count: call.bytes / call.element,
            root: call.root,
            turn,
            line: PAYLOAD / call.element,
            piece: (call.piece / call.element).max(1),
        };
        lines.begin();
        let mut run = NodeRun {
            protocol,
            shape,
            machine,
            plan,
            element: call.element,
            area: match protocol.traffic() {
                Traffic::Synchronising => turn.parity() as u32,
                Traffic::OneWay { .. } => 0,
            },
            lines,
            arrays: ModelledArrays::new(machine, &seats),
            pes: vec![VirtualPe::default(); size as usize],
            events: (0..size).map(|pe| Reverse((0, pe))).collect(),
            arrived: 0,
        };
        outcome = run.through()?;
        lines = run.lines;
    }
    Ok(outcome)
}

struct NodeRun<'a> {
    protocol: &'a dyn Protocol,
    shape: &'a Shape,
    machine: &'a NodeMachine,
    plan: NodePlan,
    element: u64,
    area: u32,
    lines: CacheLines<'a>,
    arrays: ModelledArrays<'a>,
    pes: Vec<VirtualPe>,
    events: BinaryHeap<Reverse<(Time, u32)>>,
    arrived: u32,
}

/// The lines of the counter of [`Move::Meet`], behind those of the protocol: the arrivals and the release.
const ARRIVALS: u32 = 1 << 20;
const RELEASE: u32 = ARRIVALS + 1;

impl NodeRun<'_> {
    /// Runs all members to the end.
    fn through(&mut self) -> Result<NodeOutcome, Stuck> {
        let (mut left, mut last, mut path) = (0, 0, 0);
        while let Some(Reverse((at, pe))) = self.events.pop() {
            if self.step(pe, at) {
                continue;
            }
            let state = &self.pes[pe as usize];
            left += 1;
            if state.ready.max(at) >= last {
                (last, path) = (state.ready.max(at), state.path);
            }
        }
        if left < self.pes.len() {
            return Err(Stuck);
        }
        let mut bytes = self.lines.bytes;
        bytes.iter_mut().zip(self.arrays.bytes).for_each(|(all, arrays)| *all += arrays);
        Ok(NodeOutcome { time: self.machine.call + last as f64 / 1000.0, path, bytes })
    }

    fn line(&self, of: u32, line: u32) -> (u32, u32) {
        (of, line * 2 + self.area)
    }

    /// A member's next step, at `at`; `false` if there is none any more.
    fn step(&mut self, pe: u32, at: Time) -> bool {
        let hit = (self.machine.hit * 1000.0) as Time;
        let state = &mut self.pes[pe as usize];
        let step = self.protocol.step(self.shape, &self.plan, pe, state.pc);
        let overlaps = matches!(step, Move::Wait { .. } | Move::Take { .. });
        if !overlaps && (state.polls > 0 || state.ready > at) {
            // The awaited line comes first.
            if state.polls > 0 {
                state.parked = true;
            } else {
                self.events.push(Reverse((state.ready, pe)));
            }
            return true;
        }
        if matches!(step, Move::Take { .. }) && state.polls > 0 {
            state.parked = true;
            return true;
        }
        if step == Move::Done {
            return false;
        }
        state.pc += 1;
        let path = state.path;
        let next = match step {
            Move::Skip | Move::Done => at,
            Move::Write { line, number, .. } => {
                let start = at.max(state.stored);
                let (seen, ended) = self.lines.store(self.line(pe, line), pe, start, number, path);
                self.pes[pe as usize].stored = seen;
                self.end(ended);
                at + hit
            }
            Move::Wait { of, line, number } => {
                self.look(self.line(of, line), pe, at, number);
                at + hit
            }
            Move::Take { of, line, .. } => {
                self.look(self.line(of, line), pe, at, 0);
                at + hit
            }
            Move::Meet { number } if !state.counted => {
                // The member comes back for the release when it has counted in.
                (state.counted, state.pc) = (true, state.pc - 1);
                let (done, path) = self.lines.add((0, ARRIVALS), pe, at.max(state.stored), path);
                self.arrived += 1;
                (self.pes[pe as usize].path, self.pes[pe as usize].ready) = (path, done);
                if self.arrived == self.shape.size() {
                    let (seen, ended) = self.lines.store((0, RELEASE), pe, done, number, path);
                    self.pes[pe as usize].stored = seen;
                    self.end(ended);
                }
                done
            }
            Move::Meet { number } => {
                self.look((0, RELEASE), pe, at, number);
                at + hit
            }
            Move::Copy { into, from, len } => {
                let bytes = len * self.element;
                let read = self.arrays.read(pe, from, bytes, at);
                self.arrays.write(pe, into, bytes, read) + hit
            }
            Move::Fold { into, operands, len } => {
                let bytes = len * self.element;
                let mut read = at;
                super::operands(self.shape, pe, operands, len, |spot| {
                    read = self.arrays.read(pe, spot, bytes, read) + hit;
                });
                self.arrays.write(pe, into, bytes, read)
            }
        };
        self.events.push(Reverse((next, pe)));
        true
    }

    /// A member loads a line to see `number`, now or when it is written.
    fn look(&mut self, name: (u32, u32), pe: u32, at: Time, number: u64) {
        let path = self.pes[pe as usize].path;
        match self.lines.load(name, pe, at, number, path) {
            Some((done, path)) => self.sees(pe, done, path),
            None => self.pes[pe as usize].polls += 1,
        }
    }

    fn sees(&mut self, pe: u32, at: Time, path: u32) {
        let state = &mut self.pes[pe as usize];
        if at > state.ready {
            (state.ready, state.path) = (at, path);
        }
    }

    /// Polls have ended.
    fn end(&mut self, ended: Vec<lines::RunEnd>) {
        for lines::RunEnd { pe, at, path } in ended {
            self.sees(pe, at, path);
            let state = &mut self.pes[pe as usize];
            state.polls -= 1;
            if state.polls == 0 && state.parked {
                state.parked = false;
                self.events.push(Reverse((state.ready, pe)));
            }
        }
    }
}
