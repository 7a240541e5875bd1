//! The simulator: what a schedule costs on a network of up to millions of PEs, under stated LogGP parameters.
//!
//! A put keeps its PE busy for the overhead, the PE's adapter for the gap and the bytes, and arrives after the latency
//! of its distance; a wait ends when the signal has arrived, plus the overhead. Without contention this is max-plus
//! arithmetic, so PEs are simply run round-wise until all are done; no event queue is needed. Contention inside the
//! network is modelled only as a higher price per byte on the wider distances.

mod network;
mod report;

pub use network::{Cluster, NetworkDistance};
pub(crate) use report::{ChartLine, chart};
pub use report::{SimulatedEntry, compare, svg, table};

use crate::step::{Algorithm, Caller, Plan, PutSignal, Step};
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

/// The result of a simulation; nothing in it is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// From the last arrival of a PE to the last departure, in nanoseconds.
    pub time: f64,
    /// Puts of all PEs.
    pub messages: u64,
    /// Bytes of all puts.
    pub bytes: u64,
    /// Whether one PE stood for all.
    pub by_symmetry: bool,
}

/// Why there is no outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimulationFailure {
    /// More steps than the budget.
    TooLong,
    /// The schedule waits for a signal that no PE sends.
    Stuck,
    /// The schedule depends on what each PE contributes, which no model knows: a collect. Look at its equal-block form.
    LengthsUnknown,
}

/// How a call is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// Bytes of an element.
    pub element: u64,
    /// PEs arrive at random in this time, in nanoseconds.
    pub skew: f64,
    /// Steps of all PEs before the simulator gives up.
    pub budget: u64,
}

impl Default for Setting {
    fn default() -> Self {
        Self { element: 8, skew: 0.0, budget: 1 << 28 }
    }
}

#[derive(Clone, Copy, Default)]
struct SimulatedPe {
    /// When it can do its next step.
    time: f64,
    /// When its adapter can take the next message.
    adapter: f64,
    pc: u64,
}

const OVER: u64 = u64::MAX;

/// Arrival times of signals; 0 means not arrived, as nothing arrives at time 0.
struct Arrivals {
    size: usize,
    /// The first stage of each word, word by word.
    first: Vec<f32>,
    /// Later stages by (PE, word, stage).
    later: BTreeMap<(u32, u32, u16), f32>,
    /// Counters: arrivals so far, and the last one.
    counts: Vec<(u32, f32)>,
}

impl Arrivals {
    /// A put with this signal arrives at a PE.
    fn signal(&mut self, pe: u32, signal: PutSignal, at: f64) {
        match signal {
            PutSignal::Set { word, value } => self.set(pe, word, value, at),
            PutSignal::Count => {
                let (count, last) = &mut self.counts[pe as usize];
                *count += 1;
                *last = last.max(at as f32);
            }
        }
    }

    fn set(&mut self, pe: u32, word: u32, value: u64, at: f64) {
        match value as u16 {
            0 => self.first[word as usize * self.size + pe as usize] = at as f32,
            stage => {
                self.later.insert((pe, word, stage), at as f32);
            }
        }
    }

    /// The time a signal arrived; a stage after the first is forgotten, as it is awaited once.
    fn take(&mut self, pe: u32, word: u32, value: u64) -> Option<f64> {
        let at = match value as u16 {
            0 => self.first[word as usize * self.size + pe as usize],
            stage => self.later.remove(&(pe, word, stage))?,
        };
        (at > 0.0).then_some(f64::from(at))
    }
}

/// Simulates every PE and every message of one call.
pub fn simulate<A: Algorithm>(
    algorithm: &A,
    plan: &Plan,
    machine: &Cluster,
    setting: &Setting,
) -> Result<Outcome, SimulationFailure> {
    let size = plan.size as usize;
    let start = |rank: usize| setting.skew * (hash(rank as u64) >> 40) as f64 / f64::from(1 << 24);
    let mut pes: Vec<SimulatedPe> =
        (0..size).map(|rank| SimulatedPe { time: start(rank), adapter: 0.0, pc: 0 }).collect();
    let arrivals = Arrivals {
        size,
        first: vec![0.0; size * algorithm.words(plan) as usize],
        later: BTreeMap::new(),
        counts: vec![(0, 0.0); size],
    };
    let last_start = pes.iter().map(|pe| pe.time).fold(0.0, f64::max);
    let outcome = Outcome { time: 0.0, messages: 0, bytes: 0, by_symmetry: false };
    let mut call = SimulatedCall { algorithm, plan, machine, setting, arrivals, last_start, outcome, steps: 0 };
    while pes.iter().any(|pe| pe.pc != OVER) {
        let before = call.steps;
        for (rank, pe) in (0..).zip(&mut pes).filter(|(_, pe)| pe.pc != OVER) {
            call.visit(rank, pe)?;
        }
        if call.steps == before {
            return Err(SimulationFailure::Stuck);
        }
    }
    Ok(call.outcome)
}

/// One call of all PEs, as far as it has come.
struct SimulatedCall<'a, A> {
    algorithm: &'a A,
    plan: &'a Plan,
    machine: &'a Cluster,
    setting: &'a Setting,
    arrivals: Arrivals,
    /// When the last PE makes the call.
    last_start: f64,
    outcome: Outcome,
    /// Steps of all PEs.
    steps: u64,
}

impl<A: Algorithm> SimulatedCall<'_, A> {
    /// Runs a PE until it waits for something that has not arrived, or is over. A visit also ends at the first wait after a put:
    /// PEs that run in step then pass memory in order.
    fn visit(&mut self, rank: u32, pe: &mut SimulatedPe) -> Result<(), SimulationFailure> {
        let (me, seat) = (Caller::new(rank), self.machine.seat(rank));
        let mut sent = false;
        loop {
            match self.algorithm.step(self.plan, &me, pe.pc) {
                Step::Put { to, len, signal, .. } => {
                    let bytes = len * self.setting.element;
                    let at = self.machine.send(pe, self.machine.distance_from(seat, to), bytes);
                    self.arrivals.signal(to, signal, at);
                    self.outcome.messages += 1;
                    self.outcome.bytes += bytes;
                    sent = true;
                }
                Step::Wait { .. } | Step::WaitCount { .. } if sent => return Ok(()),
                Step::Wait { word, value } => match self.arrivals.take(rank, word, value) {
                    Some(at) => self.machine.receive(pe, at),
                    None => return Ok(()),
                },
                Step::WaitCount { total } => match self.arrivals.counts[rank as usize] {
                    (count, last) if u64::from(count) >= total => self.machine.receive(pe, f64::from(last)),
                    _ => return Ok(()),
                },
                Step::Done => {
                    self.outcome.time = self.outcome.time.max(pe.time - self.last_start);
                    self.steps += 1;
                    pe.pc = OVER;
                    return Ok(());
                }
                local => self.machine.work(pe, &local, self.setting.element),
            }
            pe.pc += 1;
            self.steps += 1;
            if self.steps > self.setting.budget {
                return Err(SimulationFailure::TooLong);
            }
        }
    }
}

/// Simulates one PE of a schedule that looks alike from all of them: what arrives is what this PE sends at that place
/// of its program, over the worst distance there is between two PEs that far apart.
pub fn simulate_symmetric<A: Algorithm>(
    algorithm: &A,
    plan: &Plan,
    machine: &Cluster,
    setting: &Setting,
) -> Result<Outcome, SimulationFailure> {
    let mut pe = SimulatedPe::default();
    let mut sent = BTreeMap::new();
    let mut last = 0f64;
    let (mut messages, mut bytes) = (0, 0);
    for _ in 0..setting.budget {
        match algorithm.step(plan, &Caller::new(0), pe.pc) {
            Step::Put { to, len, signal, .. } => {
                let far = machine.worst(to, plan.size);
                let at = machine.send(&mut pe, far, len * setting.element);
                (messages, bytes, last) = (messages + 1, bytes + len * setting.element, last.max(at));
                if let PutSignal::Set { word, value } = signal {
                    sent.insert((word, value), at);
                }
            }
            Step::Wait { word, value } => {
                let at = sent.remove(&(word, value)).ok_or(SimulationFailure::Stuck)?;
                machine.receive(&mut pe, at);
            }
            Step::WaitCount { .. } => machine.receive(&mut pe, last),
            Step::Done => {
                let all = u64::from(plan.size);
                return Ok(Outcome { time: pe.time, messages: messages * all, bytes: bytes * all, by_symmetry: true });
            }
            local => machine.work(&mut pe, &local, setting.element),
        }
        pe.pc += 1;
    }
    Err(SimulationFailure::TooLong)
}

fn hash(x: u64) -> u64 {
    let x = (x ^ x >> 33).wrapping_add(1).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    (x ^ x >> 33).wrapping_mul(0xC4CE_B9FE_1A85_EC53)
}

#[cfg(test)]
mod tests;
