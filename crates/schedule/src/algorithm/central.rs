//! Through PE 0: all others report to it, and it releases them. Few messages and few wake-ups, so it suits small teams
//! and PEs that share processors; operands are folded in team order.

use crate::step::{Algorithm, Caller, Plan, PutSignal, Step, dest, scratch, source};

/// The barrier, or with `payload` the reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Central {
    /// Whether operands travel with the signals.
    pub payload: bool,
}

impl Algorithm for Central {
    fn words(&self, _plan: &Plan) -> u32 {
        1
    }

    fn scratch(&self, plan: &Plan) -> u64 {
        self.len(plan) * u64::from(plan.size - 1)
    }

    fn arrivals(&self, plan: &Plan, rank: u32) -> u64 {
        if rank == 0 { u64::from(plan.size - 1) } else { 0 }
    }

    fn step(&self, plan: &Plan, me: &Caller, pc: u64) -> Step {
        let (len, others) = (self.len(plan), plan.size - 1);
        let release = PutSignal::Set { word: 0, value: plan.mark(0) };
        if me.rank > 0 {
            return match pc {
                0 => {
                    let into = scratch(u64::from(me.rank - 1) * len);
                    Step::Put { to: 0, from: source(0), into, len, signal: PutSignal::Count }
                }
                1 => Step::Wait { word: 0, value: plan.mark(0) },
                _ => Step::Done,
            };
        }
        match pc {
            0 => Step::WaitCount { total: me.counted + u64::from(others) },
            1 if !self.payload => Step::Skip,
            1 if others == 0 => Step::Copy { into: dest(0), from: source(0), len },
            1 => Step::Reduce { into: dest(0), left: source(0), right: scratch(0), stride: len, terms: others, len },
            pc => match u32::try_from(pc - 1) {
                Ok(to) if to <= others => Step::Put { to, from: dest(0), into: dest(0), len, signal: release },
                _ => Step::Done,
            },
        }
    }
}

impl Central {
    fn len(&self, plan: &Plan) -> u64 {
        if self.payload { plan.count } else { 0 }
    }
}
