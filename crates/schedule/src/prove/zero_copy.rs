//! Arrays that serve longer or for more than one thing: puts that read late, and operands that land in dest.

use super::DestMode::{Fresh, Same, Synchronised};
use super::suite::{schedules, sizes};
use super::{Case, FaultKind, ProofCall, prove};
use crate::algorithm::chain::ReduceChain;
use crate::algorithm::{Collective, Schedule};
use std::vec;
use std::vec::Vec;

/// Four calls whose puts read late, as networks do with long ones; reductions in place.
fn four_zero_copy(schedule: &Schedule, wanted: Collective, size: u32, interleaving: u64) -> Result<(), FaultKind> {
    let in_place = matches!(wanted, Collective::Reduce(_));
    let calls = [ProofCall { algorithm: schedule, wanted, count: u64::from(size) + 1, root: 1 % size }; 4];
    let mode = if in_place { Same } else { Fresh };
    let case = Case { in_place, zero_copy: true, ..Case::new(size, &calls, mode, interleaving) };
    prove(&case).map(drop).map_err(|fault| fault.kind)
}

#[test]
fn zero_copy_changes_nothing_that_may_still_be_sent() {
    let (mut allowed, mut refused) = (0, 0);
    let pieces = Schedule::ReduceChain(ReduceChain { segment: 2 });
    for schedule in schedules().chain([pieces]) {
        let wanted = schedule.achieves();
        if matches!(wanted, Collective::Shares | Collective::Sync) {
            continue;
        }
        let sizes = if cfg!(debug_assertions) { vec![2, 3, 4, 5, 7, 8, 12] } else { (2..=32).collect() };
        let mut outcomes =
            sizes.iter().flat_map(|&size| [0, 1, 77].map(|i| four_zero_copy(&schedule, wanted, size, i)));
        if schedule.allows_zero_copy() {
            assert!(outcomes.all(|outcome| outcome == Ok(())), "{schedule:?}");
            allowed += 1;
        } else {
            refused += u32::from(outcomes.any(|outcome| outcome == Err(FaultKind::Race)));
        }
    }
    // The check finds those that do not wait: a reduction that sends what it then adds to.
    assert!(allowed > 8 && refused > 2, "{allowed} {refused}");
}

/// Four calls whose operands land in dest, where the caller has synchronised before each.
fn four_landing(
    schedule: &Schedule,
    size: u32,
    count: u64,
    zero_copy: bool,
    interleaving: u64,
) -> Result<(), FaultKind> {
    let calls = [ProofCall { algorithm: schedule, wanted: schedule.achieves(), count, root: 0 }; 4];
    let case = Case { zero_copy, lands: true, ..Case::new(size, &calls, Synchronised, interleaving) };
    prove(&case).map(drop).map_err(|fault| fault.kind)
}

#[test]
fn what_lands_in_dest_keeps_operands_and_results_apart() {
    let (mut landing, mut refused) = (0, 0);
    let pieces = Schedule::ReduceChain(ReduceChain { segment: 2 });
    for schedule in schedules().chain([pieces]) {
        if !matches!(schedule.achieves(), Collective::Reduce(_)) {
            continue;
        }
        let counts = |size: u32| [1, u64::from(size), u64::from(size) + 1];
        let ways = |size| counts(size).into_iter().flat_map(|count| [0, 1, 77].map(|i| (count, i % 2 == 0, i)));
        let mut outcomes = sizes().into_iter().flat_map(|size| {
            ways(size)
                .map(move |(count, zero_copy, i)| four_landing(&schedule, size, count, zero_copy, i))
                .collect::<Vec<_>>()
        });
        if schedule.lands_in_dest() {
            assert!(outcomes.all(|outcome| outcome == Ok(())), "{schedule:?}");
            landing += 1;
        } else {
            refused += u32::from(outcomes.any(|outcome| outcome.is_err()));
        }
    }
    assert!(landing > 0 && refused > 2, "{landing} {refused}");
}
