//! Reduce-scatter and allgather on a circulant graph: as few bytes as a ring, in ⌈log2 n⌉ rounds each, for every n.
//!
//! With skips s₀ = 1, s₁, … where each is half the next one, rounded up, and the last is n, a PE that is responsible
//! for the next s₍ₖ₊₁₎ blocks hands those from sₖ on to the PE sₖ places ahead, and is left with sₖ (Träff). Backwards
//! the same rounds gather. Each block is reduced at one place, so all PEs get the same bits.

use crate::step::{Algorithm, Caller, Loc, Plan, PutSignal, Step, dest, rounds, scratch, source};

/// The reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Circulant;

/// Skip number `k` for `size` PEs, `k` up to the number of rounds.
fn skip(size: u32, k: u32) -> u32 {
    let halvings = rounds(size, 2) - k;
    ((u64::from(size) + (1 << halvings) - 1) >> halvings) as u32
}

/// A run of blocks, around the end if need be: two ranges of elements, the second one empty if there is no wrap.
#[derive(Clone, Copy)]
struct CirculantRun {
    first: (u64, u64),
    second: Option<u64>,
}

impl CirculantRun {
    fn new(plan: &Plan, start: u32, blocks: u32) -> Self {
        let at = plan.block_start(start);
        match (u64::from(start) + u64::from(blocks)).checked_sub(u64::from(plan.size)) {
            Some(beyond) if beyond > 0 => {
                Self { first: (at, plan.count - at), second: Some(plan.block_start(beyond as u32)) }
            }
            _ => Self { first: (at, plan.block_start(start + blocks) - at), second: None },
        }
    }

    /// Part 0 or 1 as (offset in the array, offset in the run, elements).
    fn part(&self, part: u32) -> Option<(u64, u64, u64)> {
        match part {
            0 => Some((self.first.0, 0, self.first.1)),
            _ => self.second.map(|len| (0, self.first.1, len)),
        }
    }
}

impl Algorithm for Circulant {
    fn words(&self, plan: &Plan) -> u32 {
        4 * rounds(plan.size, 2)
    }

    /// The working copy, then a part for each round's message.
    fn scratch(&self, plan: &Plan) -> u64 {
        plan.count + u64::from(plan.size - 1) * plan.count.div_ceil(u64::from(plan.size))
    }

    fn step(&self, plan: &Plan, me: &Caller, pc: u64) -> Step {
        let all = rounds(plan.size, 2);
        let Some(pc) = pc.checked_sub(1) else {
            return Step::Copy { into: scratch(0), from: source(0), len: plan.count };
        };
        let (round, phase) = ((pc / 6) as u32, (pc % 6) as u32);
        if round < all {
            return reduce_scatter(plan, me.rank, all - 1 - round, phase);
        }
        match pc - 6 * u64::from(all) {
            0 => {
                let (at, len) = CirculantRun::new(plan, me.rank, 1).first;
                Step::Copy { into: dest(at), from: scratch(at), len }
            }
            pc => allgather(plan, me.rank, |rank| rank, 2 * all, pc - 1),
        }
    }
}

/// Phases of the round with skip `k`: put both parts, wait for both, reduce both.
fn reduce_scatter(plan: &Plan, rank: u32, k: u32, phase: u32) -> Step {
    let (near, far) = (skip(plan.size, k), skip(plan.size, k + 1));
    let landing = plan.count + u64::from(plan.size - far) * plan.count.div_ceil(u64::from(plan.size));
    let part = phase % 2;
    let to = plan.after(rank, near);
    let run = CirculantRun::new(plan, if phase < 2 { to } else { rank }, far - near);
    let Some((at, inside, len)) = run.part(part) else {
        return Step::Skip;
    };
    let (word, value) = (2 * k + part, plan.mark(0));
    match phase / 2 {
        0 => {
            let into = scratch(landing + inside);
            Step::Put { to, from: scratch(at), into, len, signal: PutSignal::Set { word, value } }
        }
        1 => Step::Wait { word, value },
        _ => {
            let work = scratch(at);
            Step::Reduce { into: work, left: work, right: scratch(landing + inside), stride: 0, terms: 1, len }
        }
    }
}

/// The gathering rounds from dest to dest, for a PE that holds block `holder`; `member` tells which PE holds a block.
/// Four phases a round: put both parts, wait for both.
pub(super) fn allgather(plan: &Plan, holder: u32, member: impl Fn(u32) -> u32, first_word: u32, pc: u64) -> Step {
    let (k, phase) = ((pc / 4) as u32, (pc % 4) as u32);
    if k >= rounds(plan.size, 2) {
        return Step::Done;
    }
    let (near, far) = (skip(plan.size, k), skip(plan.size, k + 1));
    let part = phase % 2;
    let (word, value) = (first_word + 2 * k + part, plan.mark(0));
    let start = if phase < 2 { holder } else { plan.after(holder, near) };
    let Some((at, _, len)) = CirculantRun::new(plan, start, far - near).part(part) else {
        return Step::Skip;
    };
    match phase / 2 {
        0 => {
            let (to, here): (u32, Loc) = (member(plan.before(holder, near)), dest(at));
            Step::Put { to, from: here, into: here, len, signal: PutSignal::Set { word, value } }
        }
        _ => Step::Wait { word, value },
    }
}
