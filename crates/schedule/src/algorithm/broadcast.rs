//! Broadcasts, straight into dest.
//!
//! The tree and the chain are one-way: the root may leave before any other PE has come. They stay safe without
//! handshake because a word has one writer whatever the root: word (r, j) of a tree is written by the PE `j·radix^r`
//! places back, the word of a chain by the predecessor.

use super::circulant::allgather;
use crate::step::{Algorithm, Caller, Loc, Plan, PutSignal, Step, Traffic, dest, rounds, source};

/// A tree in which a PE of ⌈log n⌉ digits serves up to `radix - 1` children for each of its trailing zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tree {
    /// One of 2, 3, 4 and 8: the radix selects the signal set.
    pub radix: u32,
}

/// A chain along the team in pieces of `segment` elements, for large arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain {
    /// Elements of a piece, at least 1.
    pub segment: u64,
}

/// One block to each PE down a binomial tree, then an allgather: each PE moves the array about twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScatterGather;

/// The array the root sends from, and what it does at the end of its program.
fn root_copy(plan: &Plan) -> Step {
    if plan.root_apart { Step::Skip } else { Step::Copy { into: dest(0), from: source(0), len: plan.count } }
}

impl Algorithm for Tree {
    fn traffic(&self) -> Traffic {
        let signal_set = match self.radix {
            2 => 1,
            3 => 2,
            4 => 3,
            _ => 4,
        };
        Traffic::OneWay { signal_set }
    }

    fn words(&self, plan: &Plan) -> u32 {
        rounds(plan.size, self.radix) * (self.radix - 1)
    }

    fn step(&self, plan: &Plan, me: &Caller, pc: u64) -> Step {
        let place = plan.before(me.rank, plan.root);
        let (here, size, radix) = (u64::from(place), u64::from(plan.size), u64::from(self.radix));
        let (peers, value) = (radix - 1, plan.mark(0));
        // It sends in the rounds for which its place ends in zeros; `reach` is radix^rounds.
        let (mut rounds, mut reach) = (0, 1);
        while if place == 0 { reach < size } else { here.is_multiple_of(reach * radix) } {
            (rounds, reach) = (rounds + 1, reach * radix);
        }
        let Some(mut pc) = pc.checked_sub((place > 0).into()) else {
            return Step::Wait { word: (rounds * peers + here / reach % radix - 1) as u32, value };
        };
        // The widest subtrees first.
        while rounds > 0 {
            (rounds, reach) = (rounds - 1, reach / radix);
            let children = peers.min((size - 1 - here) / reach);
            if pc < children {
                let from = if place == 0 { source(0) } else { dest(0) };
                let (to, word) = (plan.after(me.rank, ((pc + 1) * reach) as u32), (rounds * peers + pc) as u32);
                return Step::Put { to, from, into: dest(0), len: plan.count, signal: PutSignal::Set { word, value } };
            }
            pc -= children;
        }
        if pc == 0 && place == 0 && !plan.root_apart { root_copy(plan) } else { Step::Done }
    }
}

impl Tree {
    /// The PE that puts to `rank`; `None`: that is the root.
    pub fn parent(&self, plan: &Plan, rank: u32) -> Option<u32> {
        let place = plan.before(rank, plan.root);
        if place == 0 {
            return None;
        }
        let unit = u64::from(self.radix).pow(trailing_zeros(place, self.radix));
        let digit = u64::from(place) / unit % u64::from(self.radix);
        Some(plan.after(plan.root, (u64::from(place) - digit * unit) as u32))
    }

    /// To how many PEs `rank` puts.
    pub fn children(&self, plan: &Plan, rank: u32) -> u32 {
        let place = plan.before(rank, plan.root);
        let zeros = if place == 0 { rounds(plan.size, self.radix) } else { trailing_zeros(place, self.radix) };
        let radix = u64::from(self.radix);
        let behind = u64::from(plan.size - 1 - place);
        (0..zeros).map(|round| (behind / radix.pow(round)).min(radix - 1) as u32).sum()
    }
}

fn trailing_zeros(mut place: u32, radix: u32) -> u32 {
    let mut zeros = 0;
    while place.is_multiple_of(radix) {
        (place, zeros) = (place / radix, zeros + 1);
    }
    zeros
}

impl Algorithm for Chain {
    fn traffic(&self) -> Traffic {
        Traffic::OneWay { signal_set: 0 }
    }

    fn words(&self, _plan: &Plan) -> u32 {
        1
    }

    fn step(&self, plan: &Plan, me: &Caller, pc: u64) -> Step {
        let place = plan.before(me.rank, plan.root);
        // At most as many pieces as a word has marks. An empty broadcast is one empty piece: every member sees a signal.
        let segment = self.segment.max(plan.count.div_ceil(1 << 16));
        let pieces = plan.count.div_ceil(segment).max(1);
        let (piece, sending) = (pc / 2, pc % 2 == 1);
        if piece >= pieces {
            return if piece == pieces && !sending && place == 0 { root_copy(plan) } else { Step::Done };
        }
        let value = plan.mark(piece as u16);
        if !sending {
            return if place == 0 { Step::Skip } else { Step::Wait { word: 0, value } };
        }
        if place == plan.size - 1 {
            return Step::Skip;
        }
        let at = piece * segment;
        let from: Loc = if place == 0 { source(at) } else { dest(at) };
        let len = segment.min(plan.count - at);
        Step::Put { to: plan.after(me.rank, 1), from, into: dest(at), len, signal: PutSignal::Set { word: 0, value } }
    }
}

impl Algorithm for ScatterGather {
    /// The gather brings every PE a block from every other one, so no PE leaves early.
    fn words(&self, plan: &Plan) -> u32 {
        3 * rounds(plan.size, 2)
    }

    fn step(&self, plan: &Plan, me: &Caller, pc: u64) -> Step {
        let place = plan.before(me.rank, plan.root);
        let all = rounds(plan.size, 2);
        let zeros = if place == 0 { all } else { place.trailing_zeros() };
        let value = plan.mark(0);
        let scatter = u64::from(all) + 1;
        if pc >= scatter {
            return allgather(plan, place, |block| plan.after(block, plan.root), all, pc - scatter);
        }
        if pc == 0 {
            return match place {
                0 => Step::Copy { into: dest(0), from: source(0), len: plan.count },
                _ => Step::Wait { word: zeros, value },
            };
        }
        let round = all - pc as u32;
        let first = u64::from(place) + (1 << round);
        if round >= zeros || first >= u64::from(plan.size) {
            return Step::Skip;
        }
        let last = (first + (1 << round)).min(u64::from(plan.size)) as u32;
        let at = plan.block_start(first as u32);
        let (here, to) = (dest(at), plan.after(me.rank, 1 << round));
        let len = plan.block_start(last) - at;
        Step::Put { to, from: here, into: here, len, signal: PutSignal::Set { word: round, value } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::Place;

    #[test]
    fn a_tree_knows_the_parents_and_children_of_its_steps() {
        for (radix, size) in [2, 3, 4, 8].into_iter().flat_map(|radix| (1..70).map(move |size| (radix, size))) {
            let (tree, root) = (Tree { radix }, size / 3);
            let plan = Plan { root, ..Plan::new(size, 7) };
            let mut parents = std::vec![None; size as usize];
            for rank in 0..size {
                let steps = (0..).map(|pc| tree.step(&plan, &Caller::new(rank), pc));
                let puts = steps.take_while(|step| *step != Step::Done).filter_map(|step| match step {
                    Step::Put { to, .. } => Some(to),
                    _ => None,
                });
                let children: std::vec::Vec<u32> = puts.collect();
                assert_eq!(tree.children(&plan, rank) as usize, children.len(), "radix {radix}, {rank} of {size}");
                children.into_iter().for_each(|child| parents[child as usize] = Some(rank));
            }
            let told: std::vec::Vec<_> = (0..size).map(|rank| tree.parent(&plan, rank)).collect();
            assert_eq!(told, parents, "radix {radix}, size {size}");
        }
    }

    #[test]
    fn bc_1_a_root_apart_keeps_its_dest() {
        let schedules: [&dyn Algorithm; 3] = [&Tree { radix: 2 }, &Tree { radix: 4 }, &Chain { segment: 3 }];
        for algorithm in schedules {
            for (size, root) in (1..20).flat_map(|size| (0..size).map(move |root| (size, root))) {
                let plan = Plan { root, root_apart: true, ..Plan::new(size, 7) };
                for rank in 0..size {
                    let steps = (0..).map(|pc| algorithm.step(&plan, &Caller::new(rank), pc));
                    for step in steps.take_while(|step| *step != Step::Done) {
                        let written = match step {
                            Step::Put { to, .. } => Some(to),
                            Step::Copy { .. } | Step::Reduce { .. } | Step::Zero { .. } => Some(rank),
                            _ => None,
                        };
                        assert_ne!(written, Some(root), "{step:?}");
                        let read = matches!(step, Step::Put { from, .. } if from.place == Place::Dest);
                        assert!(!(read && rank == root), "{step:?}");
                    }
                }
            }
        }
    }
}
