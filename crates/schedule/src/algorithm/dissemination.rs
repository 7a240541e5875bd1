//! Dissemination with any radix: the barrier, and the reduction by operators that forgive repetition.
//!
//! In round `r` each PE sends what it knows to the PEs `radix^r`, `2·radix^r`, … places ahead. After ⌈log n⌉ rounds
//! every PE knows of every other, for every n. Where n is no power of the radix some contributions arrive twice,
//! hence only and, or, max and min may travel as payload.
//!
//! Where n and the radix are powers of two, the PEs ahead are [partners](Plan::partner): a PE receives in each
//! round from those to which it sends.

use crate::step::{Algorithm, Caller, Plan, PutSignal, Step, dest, rounds, scratch, source};

/// The barrier, or with `payload` the reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dissemination {
    /// Peers to which a PE sends in a round, plus one.
    pub radix: u32,
    /// Whether operands travel with the signals.
    pub payload: bool,
}

impl Algorithm for Dissemination {
    fn words(&self, plan: &Plan) -> u32 {
        rounds(plan.size, self.radix) * (self.radix - 1)
    }

    fn scratch(&self, plan: &Plan) -> u64 {
        u64::from(self.words(plan)) * self.len(plan)
    }

    fn step(&self, plan: &Plan, me: &Caller, pc: u64) -> Step {
        let len = self.len(plan);
        let Some(pc) = pc.checked_sub(1) else {
            return if self.payload { Step::Copy { into: dest(0), from: source(0), len } } else { Step::Skip };
        };
        let peers = self.radix - 1;
        let (pc, steps) = (pc as u32, 2 * peers + 1);
        let (round, phase) = (pc / steps, pc % steps);
        let (size, reach) = (u64::from(plan.size), u64::from(self.radix).pow(round));
        if reach >= size {
            return Step::Done;
        }
        let first = round * peers;
        if phase == 2 * peers {
            let terms = u64::from(peers).min((size - 1) / reach) as u32;
            let right = scratch(u64::from(first) * len);
            return if self.payload {
                Step::Reduce { into: dest(0), left: dest(0), right, stride: len, terms, len }
            } else {
                Step::Skip
            };
        }
        let peer = if phase < peers { phase } else { phase - peers };
        if u64::from(peer + 1) * reach >= size {
            return Step::Skip;
        }
        let (word, value) = (first + peer, plan.mark(0));
        if phase >= peers {
            return Step::Wait { word, value };
        }
        let distance = (u64::from(peer + 1) * reach) as u32;
        let ahead = if self.radix.is_power_of_two() { Plan::partner } else { Plan::after };
        let to = ahead(plan, me.rank, distance);
        let into = scratch(u64::from(word) * len);
        Step::Put { to, from: dest(0), into, len, signal: PutSignal::Set { word, value } }
    }
}

impl Dissemination {
    fn len(&self, plan: &Plan) -> u64 {
        if self.payload { plan.count } else { 0 }
    }
}
