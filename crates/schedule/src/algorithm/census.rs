//! Census: every PE learns something about each other PE exactly once, in ⌈log2 n⌉ rounds for every n.
//!
//! A PE keeps what it knows of the window of PEs just before it, itself left out. With a window of `w` PEs it asks the
//! PE `w` places back for that one's window and has `2w`; or it asks the PE `w + 1` places back for window and self,
//! and has `2w + 1`. Reading the binary digits of n - 1 from the top, the window grows to n - 1 without ever
//! overlapping (Bar-Noy, Kipnis and Schieber). So sums may travel, but each PE associates them in its own way: the sum
//! form is for integers.
//!
//! A power of two of PEs asks for self in every round, at distances 1, 2, 4, … There the reduction goes among
//! [partners](Plan::partner): the window is the rest of an aligned group, and a PE receives from the PE to which it sends.

use crate::step::{Algorithm, Caller, Plan, PutSignal, Step, dest, scratch, source};

/// One round of a census.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// PEs in the window before the round.
    pub window: u32,
    /// Whether the sender adds itself to its window.
    pub with_self: bool,
}

impl Round {
    /// Rounds for `size` PEs.
    pub const fn count(size: u32) -> u32 {
        u32::BITS - (size - 1).leading_zeros()
    }

    /// Round `round`, below [`Round::count`].
    pub const fn of(size: u32, round: u32) -> Self {
        let rounds = Self::count(size);
        let window = ((size as u64 - 1) >> (rounds - round)) as u32;
        Self { window, with_self: (size - 1) >> (rounds - 1 - round) & 1 == 1 }
    }

    /// How far ahead the receiver is.
    pub const fn distance(self) -> u32 {
        self.window + self.with_self as u32
    }
}

/// The reduction by commutative and associative operators: integer sum, product, exclusive or.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Census;

/// The scratch of census and scan: the window's sum, window and self, then a part for each round's message after the
/// first, which lands in the window's sum itself.
struct CensusScratch {
    len: u64,
}

impl CensusScratch {
    fn window(&self) -> crate::step::Loc {
        scratch(0)
    }
    fn with_self(&self) -> crate::step::Loc {
        scratch(self.len)
    }
    fn landing(&self, round: u32) -> crate::step::Loc {
        scratch(if round == 0 { 0 } else { self.len * (u64::from(round) + 1) })
    }
    fn size(plan: &Plan) -> u64 {
        plan.count * (u64::from(Round::count(plan.size)) + 1)
    }
}

impl Algorithm for Census {
    fn words(&self, plan: &Plan) -> u32 {
        Round::count(plan.size)
    }

    fn scratch(&self, plan: &Plan) -> u64 {
        CensusScratch::size(plan)
    }

    fn step(&self, plan: &Plan, me: &Caller, pc: u64) -> Step {
        let (word, phase, len, value) = ((pc / 4) as u32, pc % 4, plan.count, plan.mark(0));
        let scratch = CensusScratch { len };
        if word >= Round::count(plan.size) {
            return match phase {
                0 if plan.size == 1 => Step::Copy { into: dest(0), from: source(0), len },
                0 => fold(dest(0), scratch.window(), source(0), len),
                _ => Step::Done,
            };
        }
        let round = Round::of(plan.size, word);
        match phase {
            0 if round.with_self && word > 0 => fold(scratch.with_self(), scratch.window(), source(0), len),
            1 => {
                let from = match (word, round.with_self) {
                    (0, _) => source(0),
                    (_, true) => scratch.with_self(),
                    (_, false) => scratch.window(),
                };
                let to = plan.partner(me.rank, round.distance());
                Step::Put { to, from, into: scratch.landing(word), len, signal: PutSignal::Set { word, value } }
            }
            2 => Step::Wait { word, value },
            3 if word > 0 => fold(scratch.window(), scratch.landing(word), scratch.window(), len),
            _ => Step::Skip,
        }
    }
}

/// The prefix sums: a census in which what comes around the start is thrown away. It synchronises although the first PE
/// needs no other, so its scratch is as safe as that of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scan {
    /// Whether a PE's own operand is part of its result.
    pub inclusive: bool,
}

impl Algorithm for Scan {
    fn words(&self, plan: &Plan) -> u32 {
        Round::count(plan.size)
    }

    fn scratch(&self, plan: &Plan) -> u64 {
        CensusScratch::size(plan)
    }

    fn step(&self, plan: &Plan, me: &Caller, pc: u64) -> Step {
        let (word, phase, len, value) = ((pc / 4) as u32, pc % 4, plan.count, plan.mark(0));
        let scratch = CensusScratch { len };
        if word >= Round::count(plan.size) {
            return match (phase, me.rank, self.inclusive) {
                (0, 0, true) => Step::Copy { into: dest(0), from: source(0), len },
                (0, 0, false) => Step::Zero { into: dest(0), len },
                (0, _, true) => fold(dest(0), scratch.window(), source(0), len),
                (0, _, false) => Step::Copy { into: dest(0), from: scratch.window(), len },
                _ => Step::Done,
            };
        }
        let round = Round::of(plan.size, word);
        // There is no PE before PE 0, and nothing in the window before the first round.
        let empty = |rank: u32| rank == 0 || round.window == 0;
        match phase {
            0 if round.with_self && !empty(me.rank) => fold(scratch.with_self(), scratch.window(), source(0), len),
            1 => {
                let to = plan.after(me.rank, round.distance());
                let (from, some) = match (round.with_self, empty(me.rank)) {
                    (true, true) => (source(0), true),
                    (true, false) => (scratch.with_self(), true),
                    (false, nothing) => (scratch.window(), !nothing),
                };
                let len = if some && to > me.rank { len } else { 0 };
                Step::Put { to, from, into: scratch.landing(word), len, signal: PutSignal::Set { word, value } }
            }
            2 => Step::Wait { word, value },
            3 => match me.rank.checked_sub(round.distance()) {
                Some(sender) if word > 0 && (round.with_self || !empty(sender)) => {
                    fold(scratch.window(), scratch.landing(word), scratch.window(), len)
                }
                _ => Step::Skip,
            },
            _ => Step::Skip,
        }
    }
}

fn fold(into: crate::step::Loc, left: crate::step::Loc, right: crate::step::Loc, len: u64) -> Step {
    Step::Reduce { into, left, right, stride: 0, terms: 1, len }
}
