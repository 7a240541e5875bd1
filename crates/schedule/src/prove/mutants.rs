//! Schedules with one mistake each: a prover that lets one of them pass proves nothing.

use super::suite::{butterfly, dissemination};
use super::{Case, DestMode, FaultKind, ProofCall, prove};
use crate::algorithm::alltoall::Direct;
use crate::algorithm::broadcast::Tree;
use crate::algorithm::butterfly::Peers;
use crate::algorithm::census::{Census, Scan};
use crate::algorithm::chain::ReduceChain;
use crate::algorithm::circulant::Circulant;
use crate::algorithm::gather::Fcollect;
use crate::algorithm::ring::RingReduce;
use crate::algorithm::{Collective, OperatorLaw};
use crate::step::{Algorithm, Caller, Plan, PutSignal, Step, Traffic};
use std::vec::Vec;

/// An algorithm whose steps, words and traffic can be tampered with.
struct ScheduleMutant<'a> {
    of: &'a dyn Algorithm,
    step: fn(&Plan, &Caller, u64, Step) -> Step,
    traffic: fn(Traffic) -> Traffic,
}

impl Algorithm for ScheduleMutant<'_> {
    fn traffic(&self) -> Traffic {
        (self.traffic)(self.of.traffic())
    }
    fn words(&self, plan: &Plan) -> u32 {
        self.of.words(plan)
    }
    fn scratch(&self, plan: &Plan) -> u64 {
        self.of.scratch(plan)
    }
    fn arrivals(&self, plan: &Plan, rank: u32) -> u64 {
        self.of.arrivals(plan, rank)
    }
    fn step(&self, plan: &Plan, me: &Caller, pc: u64) -> Step {
        (self.step)(plan, me, pc, self.of.step(plan, me, pc))
    }
}

fn faults(algorithm: &dyn Algorithm, wanted: Collective, size: u32, count: u64) -> Vec<FaultKind> {
    let calls = [ProofCall { algorithm, wanted, count, root: 1 % size }; 5];
    let interleavings = [0, 1, 2, 3];
    let modes = [DestMode::Synchronised, DestMode::Fresh];
    let runs = modes.into_iter().flat_map(|mode| interleavings.map(|interleaving| (mode, interleaving)));
    let fault = |(mode, interleaving)| prove(&Case::new(size, &calls, mode, interleaving)).err();
    runs.filter_map(fault).map(|fault| fault.kind).collect()
}

/// The mistake is found at some of the sizes, and the original has no fault there.
fn rejected(of: &dyn Algorithm, wanted: Collective, step: fn(&Plan, &Caller, u64, Step) -> Step) -> Vec<FaultKind> {
    let mutant = ScheduleMutant { of, step, traffic: |traffic| traffic };
    let mut found = Vec::new();
    for size in [3, 5, 8, 11, 16] {
        assert_eq!(faults(of, wanted, size, 6), [], "the original at {size}");
        found.extend(faults(&mutant, wanted, size, 6));
    }
    assert!(!found.is_empty());
    found
}

const SUM: Collective = Collective::Reduce(OperatorLaw::Exact);
const MAX: Collective = Collective::Reduce(OperatorLaw::Idempotent);

#[test]
fn a_dropped_wait_is_rejected() {
    let drop_wait = |_: &Plan, me: &Caller, pc: u64, step: Step| match step {
        Step::Wait { .. } if me.rank == 1 && pc > 2 => Step::Skip,
        step => step,
    };
    for (algorithm, wanted) in [
        (&dissemination(2, false) as &dyn Algorithm, Collective::Sync),
        (&dissemination(4, true), MAX),
        (&Census, SUM),
        (&butterfly(2, Peers::Neighbours), SUM),
        (&RingReduce, SUM),
        (&Circulant, SUM),
        (&ReduceChain { segment: 2 }, SUM),
        (&Scan { inclusive: true }, Collective::Inscan),
        (&Fcollect, Collective::Fcollect),
    ] {
        rejected(algorithm, wanted, drop_wait);
    }
}

#[test]
fn a_dropped_signal_is_a_deadlock() {
    let drop_put = |_: &Plan, me: &Caller, _: u64, step: Step| match step {
        Step::Put { .. } if me.rank == 2 => Step::Skip,
        step => step,
    };
    for (algorithm, wanted) in [
        (&dissemination(2, false) as &dyn Algorithm, Collective::Sync),
        (&Direct { pairwise: false }, Collective::Alltoall),
    ] {
        assert!(rejected(algorithm, wanted, drop_put).contains(&FaultKind::Deadlock));
    }
}

#[test]
fn a_partner_off_by_one_is_rejected() {
    let off_by_one = |plan: &Plan, me: &Caller, pc: u64, step: Step| match step {
        Step::Put { to, from, into, len, signal } if me.rank == 0 && pc > 1 => {
            let to = if plan.after(to, 1) == 0 { plan.after(to, 2) } else { plan.after(to, 1) };
            Step::Put { to, from, into, len, signal }
        }
        step => step,
    };
    for (algorithm, wanted) in [
        (&dissemination(2, false) as &dyn Algorithm, Collective::Sync),
        (&dissemination(3, true), MAX),
        (&Census, SUM),
        (&Circulant, SUM),
        (&Fcollect, Collective::Fcollect),
        (&Direct { pairwise: false }, Collective::Alltoall),
    ] {
        rejected(algorithm, wanted, off_by_one);
    }
}

/// One parity: claimed one-way, a call uses the same words and the same scratch each time.
#[test]
fn one_parity_is_rejected() {
    let single = |_| Traffic::OneWay { signal_set: 7 };
    for (algorithm, wanted) in [(&dissemination(2, true) as &dyn Algorithm, MAX), (&Census, SUM)] {
        let mutant = ScheduleMutant { of: algorithm, step: |_, _, _, step| step, traffic: single };
        let found: Vec<FaultKind> = [2, 5, 8].into_iter().flat_map(|size| faults(&mutant, wanted, size, 1)).collect();
        assert!(found.contains(&FaultKind::Race), "{found:?}");
    }
}

#[test]
fn an_exchange_with_a_single_counter_is_rejected() {
    let mutant = ScheduleMutant {
        of: &Direct { pairwise: false },
        step: |_, _, _, step| step,
        traffic: |_| Traffic::OneWay { signal_set: 7 },
    };
    let found: Vec<FaultKind> =
        [3, 5, 8].into_iter().flat_map(|n| faults(&mutant, Collective::Alltoall, n, 1)).collect();
    assert!(found.contains(&FaultKind::Ambiguous), "{found:?}");
}

#[test]
fn a_sum_through_dissemination_counts_twice() {
    let found = faults(&dissemination(2, true), SUM, 3, 1);
    assert!(found.contains(&FaultKind::Result), "{found:?}");
    assert_eq!(faults(&dissemination(2, true), SUM, 4, 1), [], "each operand arrives once where n is a power of two");
}

#[test]
fn a_floating_sum_without_one_tree_is_rejected() {
    let fixed = Collective::Reduce(OperatorLaw::FixedTree);
    for algorithm in [&Census as &dyn Algorithm, &butterfly(2, Peers::Swing)] {
        assert!(faults(algorithm, fixed, 8, 1).contains(&FaultKind::Association));
        assert_eq!(faults(algorithm, SUM, 8, 1), []);
    }
}

/// A shift that forgets how many bits a digit has: right for radix 2, wrong for 4 from some size on.
#[test]
fn a_barrier_whose_reach_grows_too_slowly_is_rejected() {
    let slow = |plan: &Plan, me: &Caller, _: u64, step: Step| match step {
        Step::Put { from, into, len, signal: PutSignal::Set { word, value }, .. } => {
            let (round, digit) = (word / 3, word % 3 + 1);
            let to = plan.after(me.rank, digit << round);
            Step::Put { to, from, into, len, signal: PutSignal::Set { word, value } }
        }
        step => step,
    };
    let mutant = ScheduleMutant { of: &dissemination(4, false), step: slow, traffic: |traffic| traffic };
    assert_eq!(faults(&mutant, Collective::Sync, 4, 0), []);
    assert!(faults(&mutant, Collective::Sync, 11, 0).contains(&FaultKind::Early));
}

/// Broadcast trees of different radix with one signal set: two writers to one word.
#[test]
fn trees_of_different_radix_with_one_signal_set_are_rejected() {
    let same_set = |_| Traffic::OneWay { signal_set: 6 };
    let binary = ScheduleMutant { of: &Tree { radix: 2 }, step: |_, _, _, step| step, traffic: same_set };
    let wide = ScheduleMutant { of: &Tree { radix: 4 }, step: |_, _, _, step| step, traffic: same_set };
    let call = |algorithm, root| ProofCall { algorithm, wanted: Collective::Broadcast, count: 1, root };
    // Word 2 of PE 3 belongs to PE 0 in the wide tree (three places back) and to PE 10 in the other (four).
    let calls = [call(&wide as &dyn Algorithm, 0), call(&binary, 10), call(&wide, 0), call(&binary, 10)];
    let case = |interleaving| Case::new(11, &calls, DestMode::Fresh, interleaving);
    let found: Vec<FaultKind> = (0..4).filter_map(|i| prove(&case(i)).err().map(|fault| fault.kind)).collect();
    assert!(found.contains(&FaultKind::Ambiguous), "{found:?}");
}

#[test]
fn one_mailbox_for_all_calls_is_rejected() {
    let original = dissemination(2, true);
    let one_box =
        ScheduleMutant { of: &original, step: |_, _, _, step| step, traffic: |_| Traffic::OneWay { signal_set: 0 } };
    let outcome = |algorithm: &dyn Algorithm, interleaving| {
        let calls = [ProofCall { algorithm, wanted: MAX, count: 2, root: 0 }; 5];
        let case = Case { inline: true, ..Case::new(5, &calls, DestMode::Fresh, interleaving) };
        prove(&case).map(drop).map_err(|fault| fault.kind)
    };
    assert!((0..4).all(|interleaving| outcome(&original, interleaving) == Ok(())));
    assert!((0..4).any(|interleaving| outcome(&one_box, interleaving) == Err(FaultKind::Race)));
}
