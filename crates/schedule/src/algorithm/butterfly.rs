//! Butterflies: groups exchange and reduce until one group is left; the association is a tree over (size, radix) only.
//!
//! With neighbouring groups ([`Peers::Neighbours`]) every PE computes the same tree in team order, so floating-point
//! sums come out bit for bit alike. [`Peers::Swing`] shortens the paths on rings and tori, but each PE then sees its
//! own tree: it is for operators that do not mind.

use crate::step::{Algorithm, Caller, Plan, PutSignal, Step, dest, scratch, source};

/// The partners of each round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peers {
    /// Members whose numbers differ in one digit: recursive doubling and multiplying.
    Neighbours,
    /// Distances 1, -1, 3, -5, 11, … in turn to the right and to the left; radix 2 only.
    Swing,
}

/// A reduction by groups of at most `radix` PEs. Where the team's size has a prime factor above the radix, the members
/// beyond the largest power of two hand their operand in before and are handed the result after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Butterfly {
    /// The largest group of a round; at most 8.
    pub radix: u32,
    /// The partners of each round.
    pub peers: Peers,
}

/// One round among the core members: groups of `group` PEs that are `reach` apart.
struct ButterflyRound {
    group: u32,
    reach: u32,
}

impl Butterfly {
    /// Members that take part in the exchange.
    fn core(&self, size: u32) -> u32 {
        let power = 1 << size.ilog2();
        if size == power || self.peers == Peers::Swing {
            return power;
        }
        let mut rest = size;
        for factor in 2..=self.radix {
            while rest.is_multiple_of(factor) {
                rest /= factor;
            }
        }
        if rest == 1 { size } else { power }
    }

    /// Round `wanted` among `core` members: each takes the largest group that divides what is left.
    fn round(&self, core: u32, wanted: u32) -> Option<ButterflyRound> {
        if core.is_power_of_two() {
            let (digits, done) = (self.radix.ilog2(), wanted * self.radix.ilog2());
            let left = core.ilog2().checked_sub(done).filter(|&left| left > 0)?;
            return Some(ButterflyRound { group: 1 << digits.min(left), reach: 1 << done });
        }
        let (mut reach, mut index) = (1, 0);
        while reach < core {
            let group = (2..=self.radix).rev().find(|&g| (core / reach).is_multiple_of(g))?;
            if index == wanted {
                return Some(ButterflyRound { group, reach });
            }
            (reach, index) = (reach * group, index + 1);
        }
        None
    }

    /// The place of a member in its group: the order of the operands.
    fn digit(&self, rank: u32, round: &ButterflyRound) -> u32 {
        match self.peers {
            Peers::Neighbours => rank / round.reach % round.group,
            Peers::Swing => rank % 2,
        }
    }

    fn peer(&self, core: u32, rank: u32, round: &ButterflyRound, digit: u32) -> u32 {
        match self.peers {
            Peers::Neighbours => rank - self.digit(rank, round) * round.reach + digit * round.reach,
            Peers::Swing => {
                let distance = (1 - (-2i64).pow(round.reach.ilog2() + 1)) / 3;
                let signed = if rank.is_multiple_of(2) { distance } else { -distance };
                (i64::from(rank) + signed).rem_euclid(i64::from(core)) as u32
            }
        }
    }

    /// An upper bound of the rounds, so that words and messages have simple places.
    fn rounds(&self, size: u32) -> u32 {
        u32::BITS - size.leading_zeros()
    }
}

impl Algorithm for Butterfly {
    fn words(&self, plan: &Plan) -> u32 {
        1 + self.rounds(plan.size) * self.radix
    }

    fn scratch(&self, plan: &Plan) -> u64 {
        plan.count * u64::from(self.words(plan))
    }

    /// Word and message 0 belong to the members outside the core, the rest to (round, digit).
    fn step(&self, plan: &Plan, me: &Caller, pc: u64) -> Step {
        let (len, value, rank) = (plan.count, plan.mark(0), me.rank);
        let core = self.core(plan.size);
        let extra = plan.size - core;
        let put = |to, from, into, word| Step::Put { to, from, into, len, signal: PutSignal::Set { word, value } };
        if rank >= core {
            return match pc {
                0 => put(rank - core, source(0), scratch(0), 0),
                1 => Step::Wait { word: 0, value },
                _ => Step::Done,
            };
        }
        let Some(pc) = pc.checked_sub(3) else {
            return match pc {
                0 => Step::Copy { into: dest(0), from: source(0), len },
                1 if rank < extra => Step::Wait { word: 0, value },
                2 if rank < extra => {
                    Step::Reduce { into: dest(0), left: dest(0), right: scratch(0), stride: 0, terms: 1, len }
                }
                _ => Step::Skip,
            };
        };
        let steps = u64::from(2 * self.radix + 2);
        let (index, phase) = ((pc / steps) as u32, (pc % steps) as u32);
        let Some(round) = self.round(core, index) else {
            return match phase {
                0 if rank < extra => put(rank + core, dest(0), dest(0), 0),
                _ => Step::Done,
            };
        };
        let mine = self.digit(rank, &round);
        let word = |digit| 1 + index * self.radix + digit;
        let received = |digit| scratch(u64::from(word(digit)) * len);
        let digit = phase.saturating_sub(1) % self.radix;
        let partner = digit < round.group && digit != mine;
        match phase {
            0 => Step::Copy { into: received(mine), from: dest(0), len },
            p if p > 2 * self.radix => {
                let (left, right) = (received(0), received(1));
                Step::Reduce { into: dest(0), left, right, stride: len, terms: round.group - 1, len }
            }
            _ if !partner => Step::Skip,
            p if p <= self.radix => put(self.peer(core, rank, &round, digit), dest(0), received(mine), word(mine)),
            _ => Step::Wait { word: word(digit), value },
        }
    }
}
