//! Gathers in ⌈log2 n⌉ rounds for every n, straight from dest to dest: a [census](super::census) of blocks.
//!
//! Equal blocks of a power of two of PEs go among [partners](Plan::partner): the windows are aligned groups, which never reach
//! around the start, and a PE receives from the PE to which it sends.
//!
//! `collect`, whose blocks differ in length, is two calls: in [`Shares`] every PE learns where its block goes and how long
//! the windows of the later rounds are, then [`Collect`] moves the blocks.

use super::census::Round;
use crate::step::{Algorithm, Caller, CallerShare, Plan, PutSignal, Step, dest, scratch, source};

/// The gather of equal blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fcollect;

/// The gather of blocks of any length; [`Plan::count`] is not used, the caller's [`CallerShare`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collect;

impl Algorithm for Fcollect {
    fn words(&self, plan: &Plan) -> u32 {
        2 * Round::count(plan.size)
    }

    fn step(&self, plan: &Plan, me: &Caller, pc: u64) -> Step {
        let count = plan.count;
        if plan.size.is_power_of_two() {
            return gather_paired(plan, me.rank, pc);
        }
        let share = CallerShare {
            offset: u64::from(me.rank) * count,
            mine: count,
            total: u64::from(plan.size) * count,
            windows: &[],
        };
        gather(plan, me.rank, &share, pc, |_, round| u64::from(round.window) * count)
    }
}

/// The own block to its place; then in each round the group's blocks to the partner's group, which is as large.
fn gather_paired(plan: &Plan, rank: u32, pc: u64) -> Step {
    let count = plan.count;
    let Some(pc) = pc.checked_sub(1) else {
        return Step::Copy { into: dest(u64::from(rank) * count), from: source(0), len: count };
    };
    let (index, value) = ((pc / 2) as u32, plan.mark(0));
    if index >= Round::count(plan.size) {
        return Step::Done;
    }
    let (word, group) = (2 * index, 1 << index);
    if pc % 2 == 1 {
        return Step::Wait { word, value };
    }
    let at = dest(u64::from(rank & !(group - 1)) * count);
    let (to, len) = (plan.partner(rank, group), u64::from(group) * count);
    Step::Put { to, from: at, into: at, len, signal: PutSignal::Set { word, value } }
}

impl Algorithm for Collect {
    fn words(&self, plan: &Plan) -> u32 {
        Fcollect.words(plan)
    }

    fn step(&self, plan: &Plan, me: &Caller, pc: u64) -> Step {
        gather(plan, me.rank, &me.share, pc, |index, _| me.share.windows[index as usize])
    }
}

/// The own block to its place; then in each round the window, in two parts if it reaches around the start.
fn gather(plan: &Plan, rank: u32, share: &CallerShare, pc: u64, window: impl Fn(u32, Round) -> u64) -> Step {
    let Some(pc) = pc.checked_sub(1) else {
        return Step::Copy { into: dest(share.offset), from: source(0), len: share.mine };
    };
    let (index, phase, part) = ((pc / 4) as u32, pc % 4 / 2, pc as u32 % 2);
    if index >= Round::count(plan.size) {
        return Step::Done;
    }
    let round = Round::of(plan.size, index);
    let sender = if phase == 0 { rank } else { plan.before(rank, round.distance()) };
    let wraps = sender < round.window;
    let (word, value) = (2 * index + part, plan.mark(0));
    if part == 1 && !wraps {
        return Step::Skip;
    }
    if phase == 1 {
        return Step::Wait { word, value };
    }
    let (end, len) = if round.with_self {
        (share.offset + share.mine, window(index, round) + share.mine)
    } else {
        (share.offset, window(index, round))
    };
    let (at, len) = match (wraps, part) {
        (false, _) => (end - len, len),
        (true, 0) => (0, end),
        (true, _) => (share.total - (len - end), len - end),
    };
    let to = plan.after(rank, round.distance());
    Step::Put { to, from: dest(at), into: dest(at), len, signal: PutSignal::Set { word, value } }
}

/// The first call of a collect. Source is one number, the length of the own block. Dest becomes the window sums of the
/// rounds, then the total, then the offset of the own block: [`Shares::results`] numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares;

impl Shares {
    /// Numbers written to dest.
    pub const fn results(size: u32) -> u32 {
        Round::count(size) + 2
    }
}

impl Algorithm for Shares {
    fn words(&self, plan: &Plan) -> u32 {
        Round::count(plan.size)
    }

    /// Two sums, of the window and of the part of it before this PE; the same with the PE itself; a pair per round.
    fn scratch(&self, plan: &Plan) -> u64 {
        4 + 2 * u64::from(Round::count(plan.size))
    }

    fn step(&self, plan: &Plan, me: &Caller, pc: u64) -> Step {
        const WINDOW: u64 = 0;
        const BEFORE: u64 = 1;
        const WITH_SELF: u64 = 2;
        let add = |into, left, right| Step::Reduce { into, left, right, stride: 0, terms: 1, len: 1 };
        let Some(pc) = pc.checked_sub(1) else {
            return Step::Zero { into: scratch(0), len: 2 };
        };
        let (word, phase, value) = ((pc / 7) as u32, pc % 7, plan.mark(0));
        let rounds = Round::count(plan.size);
        if word >= rounds {
            return match phase {
                0 => add(dest(u64::from(rounds)), scratch(WINDOW), source(0)),
                1 => Step::Copy { into: dest(u64::from(rounds) + 1), from: scratch(BEFORE), len: 1 },
                _ => Step::Done,
            };
        }
        let round = Round::of(plan.size, word);
        let landing = 4 + 2 * u64::from(word);
        match phase {
            0 => Step::Copy { into: dest(u64::from(word)), from: scratch(WINDOW), len: 1 },
            1 | 2 if round.with_self => {
                let sum = phase - 1;
                add(scratch(WITH_SELF + sum), scratch(sum), source(0))
            }
            3 => {
                let from = scratch(if round.with_self { WITH_SELF } else { WINDOW });
                let to = plan.after(me.rank, round.distance());
                Step::Put { to, from, into: scratch(landing), len: 2, signal: PutSignal::Set { word, value } }
            }
            4 => Step::Wait { word, value },
            5 => add(scratch(WINDOW), scratch(landing), scratch(WINDOW)),
            6 if me.rank >= round.distance() => add(scratch(BEFORE), scratch(landing + 1), scratch(BEFORE)),
            _ => Step::Skip,
        }
    }
}
