//! The argument for large teams, for reductions that look the same from every PE.
//!
//! If PE r's program is PE 0's with all partners moved by r, then what arrives at PE 0 in some step is what PE 0 itself
//! sends in that step, moved back by the distance. So one program is enough, and the set of operands in an element is a
//! run of PEs around the ring: O(log n) work for any n. Invariance is compared on a sample of PEs, step by step.

use super::{Fault, fault};
use crate::algorithm::Operator;
use crate::step::{Algorithm, Caller, Loc, Place, Plan, Signal, Step, dest};
use alloc::collections::BTreeMap;

/// The operands of the PEs from `last - len + 1` to `last`, seen from PE 0, around the ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct ConeRun {
    last: u64,
    len: u64,
}

impl ConeRun {
    fn moved_back(self, distance: u32, n: u64) -> Self {
        Self { last: (self.last + n - u64::from(distance)) % n, ..self }
    }

    /// Both runs together, if they touch; an exact operator must not see a PE twice.
    fn join(self, other: Self, n: u64, operator: Operator) -> Option<Self> {
        let one = |near: Self, far: Self| {
            let gap = (near.last + n - far.last) % n;
            match operator {
                Operator::Idempotent if gap <= near.len => {
                    Some(Self { last: near.last, len: near.len.max(gap + far.len).min(n) })
                }
                Operator::Exact if gap == near.len && gap + far.len <= n => {
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

/// Proves the result of a rotation-invariant reduction of one element for any size; returns the steps of a PE.
pub fn prove_invariant(algorithm: &dyn Algorithm, size: u32, operator: Operator) -> Result<u64, Fault> {
    let (plan, n) = (Plan::new(size, 1), u64::from(size));
    let mut runs: BTreeMap<Key, ConeRun> = [((0, 0), ConeRun { last: 0, len: 1 })].into();
    let mut sent: BTreeMap<u32, (Option<ConeRun>, u32, Loc)> = BTreeMap::new();
    for pc in 0.. {
        let step = algorithm.step(&plan, &Caller::new(0), pc);
        for rank in [1, size / 3, size / 2, size - 1] {
            let other = algorithm.step(&plan, &Caller::new(rank), pc);
            let moved = match step {
                Step::Put { to, from, into, len, signal } => {
                    Step::Put { to: plan.after(to, rank), from, into, len, signal }
                }
                same => same,
            };
            if other != moved {
                return Err(fault!(Result, "size {size}, step {pc}: PE {rank} does {other:?}, not {moved:?}"));
            }
        }
        let undefined = || fault!(Result, "size {size}, step {pc}: an operand is undefined");
        match step {
            Step::Copy { into, from, .. } => {
                let run = *runs.get(&key(from)).ok_or_else(undefined)?;
                runs.insert(key(into), run);
            }
            Step::Put { to, from, into, signal: Signal::Set { word, .. }, .. } => {
                sent.insert(word, (runs.get(&key(from)).copied(), to, into));
            }
            Step::Wait { word, .. } => {
                let (run, distance, into) = sent.remove(&word).ok_or_else(|| {
                    fault!(Deadlock, "size {size}, step {pc}: word {word} is awaited before it is sent")
                })?;
                runs.insert(key(into), run.ok_or_else(undefined)?.moved_back(distance, n));
            }
            Step::Reduce { into, left, right, stride, terms, .. } => {
                let mut run = *runs.get(&key(left)).ok_or_else(undefined)?;
                for term in 0..u64::from(terms) {
                    let at = Loc { at: right.at + term * stride, ..right };
                    let operand = *runs.get(&key(at)).ok_or_else(undefined)?;
                    run = run.join(operand, n, operator).ok_or_else(|| {
                        fault!(Result, "size {size}, step {pc}: {run:?} and {operand:?} do not fit together")
                    })?;
                }
                runs.insert(key(into), run);
            }
            Step::Skip => {}
            Step::Done => {
                let whole = runs.get(&key(dest(0))).is_some_and(|run| run.len == n);
                return match whole && sent.is_empty() {
                    true => Ok(pc),
                    false => Err(fault!(Result, "size {size}: dest holds {:?}", runs.get(&key(dest(0))))),
                };
            }
            other => {
                return Err(fault!(Result, "{other:?} has no rotation-invariant meaning here"));
            }
        }
    }
    unreachable!("a u64 does not run out")
}
