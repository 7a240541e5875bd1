//! The simulator: what a schedule costs on a network of up to millions of PEs, under stated LogGP parameters.
//!
//! A put keeps its PE busy for the overhead, the PE's adapter for the gap and the bytes, and arrives after the latency
//! of its distance; a wait ends when the signal has arrived, plus the overhead. Without contention this is max-plus
//! arithmetic, so PEs are simply run round-wise until all are done; no event queue is needed. Contention inside the
//! network is modelled only as a higher price per byte on the wider distances.

mod network;
mod report;

pub use network::{Cluster, NetworkDistance};
pub(crate) use report::chart;
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
    let last_start = pes.iter().map(|pe| pe.time).fold(0.0, f64::max);
    let mut arrivals = Arrivals {
        size,
        first: vec![0.0; size * algorithm.words(plan) as usize],
        later: BTreeMap::new(),
        counts: vec![(0, 0.0); size],
    };
    let mut outcome = Outcome { time: 0.0, messages: 0, bytes: 0, by_symmetry: false };
    let (mut over, mut steps) = (0, 0);
    while over < size {
        let before = steps;
        for (rank, place) in pes.iter_mut().enumerate() {
            let mut pe = *place;
            if pe.pc == OVER {
                continue;
            }
            let me = Caller::new(rank as u32);
            // A visit ends at the first wait after a put: PEs that run in step then pass memory in order.
            let (mut sent, seat) = (false, machine.seat(me.rank));
            loop {
                match algorithm.step(plan, &me, pe.pc) {
                    Step::Put { to, len, signal, .. } => {
                        let bytes = len * setting.element;
                        let at = machine.send(&mut pe, machine.distance_from(seat, to), bytes);
                        match signal {
                            PutSignal::Set { word, value } => arrivals.set(to, word, value, at),
                            PutSignal::Count => {
                                let (count, last) = &mut arrivals.counts[to as usize];
                                (*count, *last) = (*count + 1, last.max(at as f32));
                            }
                        }
                        outcome.messages += 1;
                        outcome.bytes += bytes;
                        sent = true;
                    }
                    Step::Wait { .. } | Step::WaitCount { .. } if sent => break,
                    Step::Wait { word, value } => match arrivals.take(me.rank, word, value) {
                        Some(at) => machine.receive(&mut pe, at),
                        None => break,
                    },
                    Step::WaitCount { total } => match arrivals.counts[rank] {
                        (count, last) if u64::from(count) >= total => machine.receive(&mut pe, f64::from(last)),
                        _ => break,
                    },
                    Step::Done => {
                        outcome.time = outcome.time.max(pe.time - last_start);
                        (pe.pc, over) = (OVER, over + 1);
                        steps += 1;
                        break;
                    }
                    local => machine.work(&mut pe, &local, setting.element),
                }
                pe.pc += 1;
                steps += 1;
                if steps > setting.budget {
                    return Err(SimulationFailure::TooLong);
                }
            }
            *place = pe;
        }
        if steps == before {
            return Err(SimulationFailure::Stuck);
        }
    }
    Ok(outcome)
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
