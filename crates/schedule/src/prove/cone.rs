//! The argument for large teams, for reductions that look the same from every PE.
//!
//! If PE r's program is PE 0's with all partners moved by r, then what arrives at PE 0 in some step is what PE 0 itself
//! sends in that step, moved back by the distance. So one program is enough, and the set of operands in an element is a
//! run of PEs around the ring: O(log n) work for any n. Invariance is compared on a sample of PEs, step by step.
//!
//! Partners may be moved around the ring ([`Symmetry::Rotated`]), or by the exclusive or of the numbers ([`Symmetry::Paired`]): then
//! each PE is its partner's partner, and a run stays one where it is an aligned group.

use super::{Fault, fault};
use crate::algorithm::OperatorLaw;
use crate::step::{Algorithm, Caller, Loc, Place, Plan, PutSignal, Step, dest};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// The operands of the PEs from `last - len + 1` to `last`, seen from PE 0, around the ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct ConeRun {
    last: u64,
    len: u64,
}

/// How the partners of a PE follow from those of PE 0.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Symmetry {
    Rotated,
    Paired,
}

impl Symmetry {
    /// The symmetry between the partners of the first PE and of the last one.
    fn of(algorithm: &dyn Algorithm, plan: &Plan, size: u32) -> Self {
        let partners_of = |rank| {
            let step = |pc| algorithm.step(plan, &Caller::new(rank), pc);
            let puts = (0..).map(step).take_while(|step| *step != Step::Done).filter_map(|step| match step {
                Step::Put { to, .. } => Some(to),
                _ => None,
            });
            puts.collect::<Vec<u32>>()
        };
        let rotated = partners_of(0).into_iter().map(|to| Self::Rotated.partner(plan, to, size - 1));
        if rotated.eq(partners_of(size - 1)) { Self::Rotated } else { Self::Paired }
    }

    /// Compares a step of PE 0 with those of a sample of PEs.
    fn check(self, algorithm: &dyn Algorithm, plan: &Plan, size: u32, pc: u64, step: Step) -> Result<(), Fault> {
        for rank in [1, size / 3, size / 2, size - 1] {
            let other = algorithm.step(plan, &Caller::new(rank), pc);
            let expected = match step {
                Step::Put { to, from, into, len, signal } => {
                    Step::Put { to: self.partner(plan, to, rank), from, into, len, signal }
                }
                same => same,
            };
            if other != expected {
                return Err(fault!(Result, "size {size}, step {pc}: PE {rank} does {other:?}, not {expected:?}"));
            }
        }
        Ok(())
    }

    /// The partner of `rank`, if PE 0's is `to`.
    fn partner(self, plan: &Plan, to: u32, rank: u32) -> u32 {
        match self {
            Self::Rotated => plan.after(to, rank),
            Self::Paired => to ^ rank,
        }
    }
}

impl ConeRun {
    /// The run of the PE that sends to PE 0, if this is PE 0's own and goes to `to`; `None` where that is no run.
    fn moved_back(self, moved: Symmetry, to: u32, n: u64) -> Option<Self> {
        let first = (self.last + n + 1 - self.len) % n;
        match moved {
            Symmetry::Rotated => Some(Self { last: (self.last + n - u64::from(to)) % n, ..self }),
            Symmetry::Paired if self.len.is_power_of_two() && first.is_multiple_of(self.len) => {
                Some(Self { last: (first ^ u64::from(to)) / self.len * self.len + self.len - 1, ..self })
            }
            Symmetry::Paired => None,
        }
    }

    /// Both runs together, if they touch; an exact operator must not see a PE twice.
    fn join(self, other: Self, n: u64, law: OperatorLaw) -> Option<Self> {
        let one = |near: Self, far: Self| {
            let gap = (near.last + n - far.last) % n;
            match law {
                OperatorLaw::Idempotent if gap <= near.len => {
                    Some(Self { last: near.last, len: near.len.max(gap + far.len).min(n) })
                }
                OperatorLaw::Exact if gap == near.len && gap + far.len <= n => {
                    Some(Self { last: near.last, len: gap + far.len })
                }
                _ => None,
            }
        };
        one(self, other).or_else(|| one(other, self))
    }
}

type Key = (u8, u64);

fn key(loc: Loc) -> Key {
    let place = match loc.place {
        Place::Source => 0,
        Place::Dest => 1,
        Place::Scratch => 2,
    };
    (place, loc.at)
}

/// Proves the result of an invariant reduction of one element for any size; returns the steps of a PE.
pub(crate) fn prove_invariant(algorithm: &dyn Algorithm, size: u32, law: OperatorLaw) -> Result<u64, Fault> {
    let (plan, n) = (Plan::new(size, 1), u64::from(size));
    let moved = Symmetry::of(algorithm, &plan, size);
    let mut runs: BTreeMap<Key, ConeRun> = [((0, 0), ConeRun { last: 0, len: 1 })].into();
    let mut sent: BTreeMap<u32, (Option<ConeRun>, u32, Loc)> = BTreeMap::new();
    for pc in 0.. {
        let step = algorithm.step(&plan, &Caller::new(0), pc);
        moved.check(algorithm, &plan, size, pc, step)?;
        let undefined = || fault!(Result, "size {size}, step {pc}: an operand is undefined");
        match step {
            Step::Copy { into, from, .. } => {
                let run = *runs.get(&key(from)).ok_or_else(undefined)?;
                runs.insert(key(into), run);
            }
            Step::Put { to, from, into, signal: PutSignal::Set { word, .. }, .. } => {
                sent.insert(word, (runs.get(&key(from)).copied(), to, into));
            }
            Step::Wait { word, .. } => {
                let (run, to, into) = sent.remove(&word).ok_or_else(|| {
                    fault!(Deadlock, "size {size}, step {pc}: word {word} is awaited before it is sent")
                })?;
                let run = run.ok_or_else(undefined)?;
                let arrived = run.moved_back(moved, to, n);
                let arrived =
                    arrived.ok_or_else(|| fault!(Result, "size {size}, step {pc}: {run:?} is no aligned group"))?;
                runs.insert(key(into), arrived);
            }
            Step::Reduce { into, left, right, stride, terms, .. } => {
                let mut run = *runs.get(&key(left)).ok_or_else(undefined)?;
                for term in 0..u64::from(terms) {
                    let at = Loc { at: right.at + term * stride, ..right };
                    let operand = *runs.get(&key(at)).ok_or_else(undefined)?;
                    run = run.join(operand, n, law).ok_or_else(|| {
                        fault!(Result, "size {size}, step {pc}: {run:?} and {operand:?} do not fit together")
                    })?;
                }
                runs.insert(key(into), run);
            }
            Step::Skip => {}
            Step::Done => {
                let whole = runs.get(&key(dest(0))).is_some_and(|run| run.len == n);
                return if whole && sent.is_empty() {
                    Ok(pc)
                } else {
                    Err(fault!(Result, "size {size}: dest holds {:?}", runs.get(&key(dest(0)))))
                };
            }
            other => {
                return Err(fault!(Result, "{other:?} has no rotation-invariant meaning here"));
            }
        }
    }
    unreachable!("a u64 does not run out")
}
