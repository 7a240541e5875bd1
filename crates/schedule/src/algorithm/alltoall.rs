//! All-to-all exchanges.

use crate::step::{Algorithm, Caller, Plan, PutSignal, Step, dest, rounds, scratch, source};

/// Every block straight from source to dest, each PE starting with another partner. Arrivals are counted; the
/// counter is the one of the call's parity, because a fast PE's blocks of the next exchange may arrive in this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Direct {
    /// Partners by exclusive or where the size is a power of two: pairs then exchange at the same time.
    pub pairwise: bool,
}

impl Algorithm for Direct {
    fn words(&self, _plan: &Plan) -> u32 {
        0
    }

    fn arrivals(&self, plan: &Plan, _rank: u32) -> u64 {
        u64::from(plan.size - 1)
    }

    fn step(&self, plan: &Plan, me: &Caller, pc: u64) -> Step {
        let len = plan.count;
        let block = |rank: u32| u64::from(rank) * len;
        if pc == 0 {
            return Step::Copy { into: dest(block(me.rank)), from: source(block(me.rank)), len };
        }
        let turn = pc as u32;
        if turn < plan.size {
            let exclusive = self.pairwise && plan.size.is_power_of_two();
            let to = if exclusive { me.rank ^ turn } else { plan.after(me.rank, turn) };
            let (from, into) = (source(block(to)), dest(block(me.rank)));
            return Step::Put { to, from, into, len, signal: PutSignal::Count };
        }
        match turn - plan.size {
            0 => Step::WaitCount { total: me.counted + self.arrivals(plan, me.rank) },
            _ => Step::Done,
        }
    }
}

/// Small blocks together (Bruck): in round `r` all blocks whose remaining way has bit `r` set travel `2^r` places in
/// one message. ⌈log2 n⌉ messages instead of n - 1, each block moves log n / 2 times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bruck;

/// Of a round: its runs of blocks with the bit set, the blocks before them in a message, the blocks it lands after.
struct ExchangeRound {
    bit: u32,
    runs: u32,
    blocks: u32,
    landed_before: u64,
}

impl Bruck {
    /// Blocks with bit `bit` set among `0..size`.
    fn blocks(size: u32, bit: u32) -> u32 {
        let (half, whole) = (1u64 << bit, 2u64 << bit);
        let size = u64::from(size);
        ((size / whole) * half + (size % whole).saturating_sub(half)) as u32
    }

    /// The round that step `pc` belongs to, and the step's number in it: pack the runs, put, wait, unpack the runs.
    fn round(size: u32, mut pc: u64) -> Result<(ExchangeRound, u64), u64> {
        let mut landed_before = 0;
        for bit in 0..rounds(size, 2) {
            let blocks = Self::blocks(size, bit);
            let runs = blocks.div_ceil(1 << bit);
            let steps = 2 * u64::from(runs) + 2;
            if pc < steps {
                return Ok((ExchangeRound { bit, runs, blocks, landed_before }, pc));
            }
            pc -= steps;
            landed_before += u64::from(blocks);
        }
        Err(pc)
    }
}

impl Algorithm for Bruck {
    fn words(&self, plan: &Plan) -> u32 {
        rounds(plan.size, 2)
    }

    /// The blocks on their way by distance, the message being packed, and a part for each round's messages.
    fn scratch(&self, plan: &Plan) -> u64 {
        let landing: u64 = (0..rounds(plan.size, 2)).map(|bit| u64::from(Self::blocks(plan.size, bit))).sum();
        (2 * u64::from(plan.size) + landing) * plan.count
    }

    fn step(&self, plan: &Plan, me: &Caller, pc: u64) -> Step {
        let (size, len) = (plan.size, plan.count);
        let before_end = size - me.rank;
        let Some(rest) = pc.checked_sub(2) else {
            // On its way by distance: slot d holds the block for the PE d places ahead.
            let (slot, first, blocks) = if pc == 0 { (0, me.rank, before_end) } else { (before_end, 0, me.rank) };
            let (into, from) = (scratch(u64::from(slot) * len), source(u64::from(first) * len));
            return Step::Copy { into, from, len: u64::from(blocks) * len };
        };
        let (round, step) = match Self::round(size, rest) {
            Ok(found) => found,
            // The block in slot d came from the PE d places back.
            Err(slot) if slot < u64::from(size) => {
                let from = plan.before(me.rank, slot as u32);
                return Step::Copy { into: dest(u64::from(from) * len), from: scratch(slot * len), len };
            }
            Err(_) => return Step::Done,
        };
        let run = |index: u64| {
            let first = (2 * index + 1) << round.bit;
            let blocks = (1u64 << round.bit).min(u64::from(size) - first);
            (scratch(first * len), (index << round.bit) * len, blocks * len)
        };
        let packed = u64::from(size) * len;
        let landing = (2 * u64::from(size) + round.landed_before) * len;
        let (word, value, runs) = (round.bit, plan.mark(0), u64::from(round.runs));
        if step < runs {
            let (from, at, len) = run(step);
            return Step::Copy { into: scratch(packed + at), from, len };
        }
        match step - runs {
            0 => {
                let to = plan.after(me.rank, 1 << round.bit);
                let len = u64::from(round.blocks) * len;
                let (from, into) = (scratch(packed), scratch(landing));
                Step::Put { to, from, into, len, signal: PutSignal::Set { word, value } }
            }
            1 => Step::Wait { word, value },
            index => {
                let (into, at, len) = run(index - 2);
                Step::Copy { into, from: scratch(landing + at), len }
            }
        }
    }
}
