//! Rings: every PE talks to its successor only and the bytes moved are as few as can be. For large arrays.

use crate::step::{Algorithm, Caller, Plan, PutSignal, Step, dest, scratch, source};

/// The reduction: each block goes once around and is summed up on the way, then goes around again as result. A block
/// is reduced in one order at one place, so all PEs get the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingReduce;

impl Algorithm for RingReduce {
    fn words(&self, plan: &Plan) -> u32 {
        words(plan)
    }

    fn scratch(&self, plan: &Plan) -> u64 {
        plan.count
    }

    fn step(&self, plan: &Plan, me: &Caller, pc: u64) -> Step {
        let laps = u64::from(plan.size - 1);
        if laps == 0 {
            return if pc == 0 { Step::Copy { into: dest(0), from: source(0), len: plan.count } } else { Step::Done };
        }
        let (lap, phase) = ((pc / 3) as u32, pc % 3);
        let reducing = u64::from(lap) < laps;
        let turn = if reducing { lap } else { lap - laps as u32 };
        if u64::from(lap) == 2 * laps {
            return Step::Done;
        }
        // The block that leaves in this lap; the one that arrives is its predecessor.
        let leaving = plan.before(plan.after(me.rank, u32::from(!reducing)), turn);
        let arriving = plan.before(leaving, 1);
        let (at, len) = block(plan, leaving);
        let (word, value) = (lap >> 16, plan.mark(lap as u16));
        match phase {
            0 => {
                let into = if reducing { scratch(at) } else { dest(at) };
                let from = match lap {
                    0 => source(at),
                    _ if reducing => scratch(at),
                    _ => dest(at),
                };
                let to = plan.after(me.rank, 1);
                Step::Put { to, from, into, len, signal: PutSignal::Set { word, value } }
            }
            1 => Step::Wait { word, value },
            _ if reducing => {
                let (at, len) = block(plan, arriving);
                let into = if u64::from(lap) == laps - 1 { dest(at) } else { scratch(at) };
                Step::Reduce { into, left: scratch(at), right: source(at), stride: 0, terms: 1, len }
            }
            _ => Step::Skip,
        }
    }
}

/// The gather of equal blocks: each goes once around, straight from dest to dest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingGather;

impl Algorithm for RingGather {
    fn words(&self, plan: &Plan) -> u32 {
        words(plan)
    }

    fn step(&self, plan: &Plan, me: &Caller, pc: u64) -> Step {
        let len = plan.count;
        let block = |block: u32| dest(u64::from(block) * len);
        let Some(pc) = pc.checked_sub(1) else {
            return Step::Copy { into: block(me.rank), from: source(0), len };
        };
        let lap = (pc / 2) as u32;
        if lap == plan.size - 1 {
            return Step::Done;
        }
        let (word, value) = (lap >> 16, plan.mark(lap as u16));
        if pc % 2 == 1 {
            return Step::Wait { word, value };
        }
        let at = block(plan.before(me.rank, lap));
        Step::Put { to: plan.after(me.rank, 1), from: at, into: at, len, signal: PutSignal::Set { word, value } }
    }
}

fn block(plan: &Plan, block: u32) -> (u64, u64) {
    let at = plan.block_start(block);
    (at, plan.block_start(block + 1) - at)
}

/// One word carries the marks of 2^16 laps.
fn words(plan: &Plan) -> u32 {
    1 + (plan.size >> 15)
}
