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
        let (len, size, peers) = (self.len(plan), u64::from(plan.size), u64::from(self.radix - 1));
        let Some(mut pc) = pc.checked_sub(self.payload.into()) else {
            return Step::Copy { into: dest(0), from: source(0), len };
        };
        let (mut reach, mut first) = (1, 0);
        while reach < size {
            // Only the last round may have fewer peers than the radix has.
            let present = if peers * reach < size { peers } else { (size - 1) / reach };
            if pc < 2 * present {
                let peer = if pc < present { pc } else { pc - present };
                let (word, value) = (first + peer as u32, plan.mark(0));
                if pc >= present {
                    return Step::Wait { word, value };
                }
                let ahead = if self.radix.is_power_of_two() { Plan::partner } else { Plan::after };
                let to = ahead(plan, me.rank, ((peer + 1) * reach) as u32);
                let into = scratch(u64::from(word) * len);
                return Step::Put { to, from: dest(0), into, len, signal: PutSignal::Set { word, value } };
            }
            if self.payload && pc == 2 * present {
                let right = scratch(u64::from(first) * len);
                return Step::Reduce { into: dest(0), left: dest(0), right, stride: len, terms: present as u32, len };
            }
            pc -= 2 * present + u64::from(self.payload);
            (reach, first) = (reach * u64::from(self.radix), first + peers as u32);
        }
        Step::Done
    }
}

impl Dissemination {
    fn len(&self, plan: &Plan) -> u64 {
        if self.payload { plan.count } else { 0 }
    }
}
