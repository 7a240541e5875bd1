//! Every schedule at every size from 2 to 64, back to back, in every mode it is allowed in.
//!
//! The release build proves all of it; the debug build, which is many times slower, every size up to 17 and a few more.
//!
//! One run proves its verdict for all timings (see `super`). So the sizes above 32 take one of two interleavings each, in turn, and where
//! the same dest is allowed without synchronisation they take that mode alone: the others are the same run with more knowledge,
//! or with more memory. The smaller sizes try what these arguments say.

use super::{Case, DestMode, Evidence, FaultKind, ProofCall, prove, prove_invariant};
use crate::algorithm::butterfly::{Butterfly, Peers};
use crate::algorithm::census::{Census, Scan};
use crate::algorithm::central::Central;
use crate::algorithm::chain::ReduceChain;
use crate::algorithm::circulant::Circulant;
use crate::algorithm::dissemination::Dissemination;
use crate::algorithm::names::{COLLECTIVES, NAMES, find};
use crate::algorithm::{Collective, OperatorLaw, Schedule, alltoall, broadcast, gather, ring};
use crate::step::{Algorithm, Caller, Loc, Place, Plan, Step, Traffic};
use oxshmem_base::chance::Dice;
use std::vec;
use std::vec::Vec;

use DestMode::{Fresh, Same, Synchronised};

pub(super) fn sizes() -> Vec<u32> {
    if cfg!(debug_assertions) { (1..=17).chain([23, 32, 33]).collect() } else { (1..=64).collect() }
}

/// Every schedule that has a name, for each collective of which it is one.
pub(super) fn schedules() -> impl Iterator<Item = Schedule> {
    NAMES.iter().flat_map(|name| COLLECTIVES.iter().filter_map(|(_, wanted)| find(*wanted, name)))
}

pub(super) fn dissemination(radix: u32, payload: bool) -> Schedule {
    Schedule::Dissemination(Dissemination { radix, payload })
}

pub(super) fn butterfly(radix: u32, peers: Peers) -> Schedule {
    Schedule::Butterfly(Butterfly { radix, peers })
}

/// Four calls of one schedule with the root moving, at one size.
fn four(
    schedule: &Schedule,
    wanted: Collective,
    size: u32,
    count: u64,
    mode: DestMode,
    in_place: bool,
    interleaving: u64,
) -> Result<Evidence, super::Fault> {
    let call = |i: u32| ProofCall { algorithm: schedule, wanted, count, root: (i * 3 + 1) % size };
    let calls: Vec<ProofCall> = (0..4).map(call).collect();
    prove(&Case { in_place, ..Case::new(size, &calls, mode, interleaving) })
}

/// The interleavings to try at a size. Sizes that are even, odd and multiples of four have both of the two that take turns.
fn interleavings(size: u32) -> &'static [u64] {
    match (size <= 32, size % 3) {
        (true, _) => &[0, 1, 2, 77],
        (false, 1) => &[1],
        (false, _) => &[0],
    }
}

/// All sizes, the modes given, the interleavings of each size.
fn holds(schedule: Schedule, modes: &[DestMode], in_place: bool) {
    holds_as(schedule, schedule.achieves(), modes, in_place);
}

fn holds_as(schedule: Schedule, wanted: Collective, modes: &[DestMode], in_place: bool) {
    for size in sizes() {
        let modes: &[DestMode] = if size > 32 && modes.contains(&Same) { &[Same] } else { modes };
        for &mode in modes {
            for &interleaving in interleavings(size) {
                // More, fewer and no elements than PEs where blocks are cut; little where arrays are size² anyway.
                let counts = match (wanted, interleaving) {
                    (Collective::Shares, _) => vec![1],
                    (Collective::Reduce(_) | Collective::Broadcast, 0) if size <= 20 => {
                        vec![0, 1, 3, u64::from(2 * size + 1)]
                    }
                    (Collective::Reduce(_) | Collective::Broadcast, 1) => vec![u64::from(size + 2)],
                    (Collective::Reduce(_) | Collective::Broadcast, _) => vec![3],
                    _ => vec![2],
                };
                for count in counts {
                    if let Err(fault) = four(&schedule, wanted, size, count, mode, in_place, interleaving) {
                        panic!("{schedule:?} n={size} count={count} {mode:?} in_place={in_place}: {fault}");
                    }
                }
            }
        }
    }
}

/// Refused for the same dest without synchronisation, as the standard refuses it.
fn needs_ready_dest(schedule: Schedule) {
    let refused = |size| {
        let faults =
            [0, 1, 2, 77].map(|i| four(&schedule, schedule.achieves(), size, 2, Same, false, i).map_err(|f| f.kind));
        faults.contains(&Err(FaultKind::Race))
    };
    assert!([4, 7, 12].into_iter().all(refused), "{schedule:?}");
}

/// Four calls of inline messages, as the leaders of nodes send them.
fn four_inline(algorithm: &dyn Algorithm, wanted: Collective, size: u32, interleaving: u64) -> Result<(), FaultKind> {
    let count = if wanted == Collective::Shares { 1 } else { 3 };
    let calls = [ProofCall { algorithm, wanted, count, root: 1 % size }; 4];
    let in_place = matches!(wanted, Collective::Reduce(_));
    let mode = if in_place { Same } else { Fresh };
    let case = Case { in_place, inline: true, ..Case::new(size, &calls, mode, interleaving) };
    prove(&case).map(drop).map_err(|fault| fault.kind)
}

#[test]
fn inline_messages_hold_and_write_nothing_else_remotely() {
    let mut proven = 0;
    for schedule in schedules().filter(Schedule::allows_inline) {
        for size in sizes() {
            for &interleaving in interleavings(size) {
                let outcome = four_inline(&schedule, schedule.achieves(), size, interleaving);
                assert_eq!(outcome, Ok(()), "{schedule:?} n={size} interleaving {interleaving}");
            }
        }
        proven += 1;
    }
    assert!(proven > 12, "{proven}");
}

#[test]
fn a_word_that_is_signalled_twice_or_not_waited_for_is_refused_inline() {
    let chain = Schedule::Chain(broadcast::Chain { segment: 1 });
    let tree = Schedule::Tree(broadcast::Tree { radix: 2 });
    for schedule in [Schedule::RingReduce(ring::RingReduce), chain, tree] {
        assert!(!schedule.allows_inline());
        let refused = |size| four_inline(&schedule, schedule.achieves(), size, 1) == Err(FaultKind::Race);
        assert!([3, 5, 8].into_iter().any(refused), "{schedule:?}");
    }
}

/// Whether some member puts to another one's dest.
fn writes_dest(schedule: &Schedule, size: u32) -> bool {
    let plan = Plan::new(size, 3);
    let puts_there = |step| matches!(step, Step::Put { into: Loc { place: Place::Dest, .. }, .. });
    (0..size).any(|rank| {
        let me = Caller::new(rank);
        (0..).map(|pc| schedule.step(&plan, &me, pc)).take_while(|step| *step != Step::Done).any(puts_there)
    })
}

#[test]
fn schedules_that_spare_dest_put_to_scratch_only_and_others_do_not() {
    let (mut sparing, mut writing) = (0, 0);
    for schedule in schedules() {
        // A collect needs to be told of the members' shares; it puts where fcollect does.
        if matches!(schedule.achieves(), Collective::Collect) {
            assert!(!schedule.spares_dest());
            continue;
        }
        let written = sizes().into_iter().any(|size| writes_dest(&schedule, size));
        assert!(!(schedule.spares_dest() && written), "{schedule:?} puts to dest");
        (sparing, writing) = (sparing + u32::from(schedule.spares_dest()), writing + u32::from(written));
    }
    assert!(sparing > 6 && writing > 6, "{sparing} {writing}");
}

const ALL: [DestMode; 3] = [Same, Synchronised, Fresh];

#[test]
fn barriers_of_every_radix_hold() {
    for radix in [2, 3, 4, 5, 8, 16] {
        holds(dissemination(radix, false), &[Same], false);
    }
    holds(Schedule::Central(Central { payload: false }), &[Same], false);
}

#[test]
fn idempotent_reductions_by_dissemination_hold_in_all_modes_and_in_place() {
    for radix in [2, 3, 4, 8] {
        holds(dissemination(radix, true), &ALL, false);
        holds(dissemination(radix, true), &[Same], true);
    }
}

#[test]
fn exact_reductions_by_census_hold_in_all_modes_and_in_place() {
    holds(Schedule::Census(Census), &ALL, false);
    holds(Schedule::Census(Census), &[Same, Fresh], true);
}

#[test]
fn butterflies_compute_one_tree_in_all_modes_and_in_place() {
    for radix in [2, 3, 4, 5, 7, 8] {
        holds(butterfly(radix, Peers::Neighbours), &ALL, false);
        holds(butterfly(radix, Peers::Neighbours), &[Same], true);
    }
}

#[test]
fn swing_peers_sum_exactly() {
    holds(butterfly(2, Peers::Swing), &ALL, false);
    holds(butterfly(2, Peers::Swing), &[Same], true);
}

#[test]
fn ring_and_circulant_reductions_hold_in_all_modes_and_in_place() {
    for schedule in [Schedule::RingReduce(ring::RingReduce), Schedule::Circulant(Circulant)] {
        holds(schedule, &ALL, false);
        holds(schedule, &[Same, Fresh], true);
    }
}

#[test]
fn reductions_along_a_chain_hold_in_all_modes_and_in_place() {
    for segment in [1, 4] {
        holds(Schedule::ReduceChain(ReduceChain { segment }), &ALL, false);
        holds(Schedule::ReduceChain(ReduceChain { segment }), &[Same, Fresh], true);
    }
}

#[test]
fn reductions_through_one_pe_hold_in_all_modes_and_in_place() {
    holds(Schedule::Central(Central { payload: true }), &[Synchronised, Fresh], false);
    holds(Schedule::Central(Central { payload: true }), &[Same], true);
    holds(Schedule::Central(Central { payload: true }), &[Same], false);
}

#[test]
fn scans_hold_in_all_modes_and_in_place() {
    for inclusive in [true, false] {
        holds(Schedule::Scan(Scan { inclusive }), &ALL, false);
        holds(Schedule::Scan(Scan { inclusive }), &[Same], true);
    }
}

#[test]
fn broadcasts_hold_with_ready_dest_and_are_refused_without() {
    for radix in [2, 3, 4, 8] {
        holds(Schedule::Tree(broadcast::Tree { radix }), &[Synchronised, Fresh], false);
    }
    for segment in [1, 4] {
        holds(Schedule::Chain(broadcast::Chain { segment }), &[Synchronised, Fresh], false);
    }
    holds(Schedule::ScatterGather(broadcast::ScatterGather), &[Synchronised, Fresh], false);
    needs_ready_dest(Schedule::Tree(broadcast::Tree { radix: 2 }));
    needs_ready_dest(Schedule::Chain(broadcast::Chain { segment: 1 }));
    needs_ready_dest(Schedule::ScatterGather(broadcast::ScatterGather));
}

#[test]
fn broadcasts_hold_from_every_root() {
    let schedules = [
        Schedule::Tree(broadcast::Tree { radix: 2 }),
        Schedule::Tree(broadcast::Tree { radix: 4 }),
        Schedule::Chain(broadcast::Chain { segment: 2 }),
        Schedule::ScatterGather(broadcast::ScatterGather),
    ];
    for schedule in &schedules {
        for size in sizes() {
            let call = |root| ProofCall { algorithm: schedule, wanted: Collective::Broadcast, count: 5, root };
            let calls: Vec<ProofCall> = (0..size).map(call).collect();
            prove(&Case::new(size, &calls, Fresh, 1)).unwrap_or_else(|fault| panic!("{schedule:?} n={size}: {fault}"));
        }
    }
}

#[test]
fn gathers_hold_with_ready_dest_and_are_refused_without() {
    for schedule in [Schedule::Fcollect(gather::Fcollect), Schedule::RingGather(ring::RingGather)] {
        holds(schedule, &[Synchronised, Fresh], false);
        needs_ready_dest(schedule);
    }
    holds(Schedule::Shares(gather::Shares), &ALL, false);
    holds(Schedule::Collect(gather::Collect), &[Synchronised, Fresh], false);
    needs_ready_dest(Schedule::Collect(gather::Collect));
}

#[test]
fn exchanges_hold_with_ready_dest_and_are_refused_without() {
    for pairwise in [false, true] {
        let direct = Schedule::Direct(alltoall::Direct { pairwise });
        holds(direct, &[Synchronised, Fresh], false);
        needs_ready_dest(direct);
    }
    holds(Schedule::Bruck(alltoall::Bruck), &ALL, false);
}

/// A sequence of any collectives on one team: the same words, counters and scratch.
#[test]
fn mixed_sequences_share_one_slot() {
    let reduce = |law| Collective::Reduce(law);
    let menu: Vec<(Schedule, Collective)> = vec![
        (dissemination(2, false), Collective::Sync),
        (dissemination(4, false), Collective::Sync),
        (Schedule::Central(Central { payload: false }), Collective::Sync),
        (dissemination(3, true), reduce(OperatorLaw::Idempotent)),
        (dissemination(8, true), reduce(OperatorLaw::Idempotent)),
        (Schedule::Census(Census), reduce(OperatorLaw::Exact)),
        (butterfly(4, Peers::Neighbours), reduce(OperatorLaw::FixedTree)),
        (butterfly(2, Peers::Swing), reduce(OperatorLaw::Exact)),
        (Schedule::RingReduce(ring::RingReduce), reduce(OperatorLaw::FixedTree)),
        (Schedule::Circulant(Circulant), reduce(OperatorLaw::FixedTree)),
        (Schedule::ReduceChain(ReduceChain { segment: 2 }), reduce(OperatorLaw::FixedTree)),
        (Schedule::Central(Central { payload: true }), reduce(OperatorLaw::FixedTree)),
        (Schedule::Scan(Scan { inclusive: true }), Collective::Inscan),
        (Schedule::Tree(broadcast::Tree { radix: 2 }), Collective::Broadcast),
        (Schedule::Tree(broadcast::Tree { radix: 4 }), Collective::Broadcast),
        (Schedule::Chain(broadcast::Chain { segment: 2 }), Collective::Broadcast),
        (Schedule::ScatterGather(broadcast::ScatterGather), Collective::Broadcast),
        (Schedule::Fcollect(gather::Fcollect), Collective::Fcollect),
        (Schedule::Shares(gather::Shares), Collective::Shares),
        (Schedule::Collect(gather::Collect), Collective::Collect),
        (Schedule::RingGather(ring::RingGather), Collective::Fcollect),
        (Schedule::Direct(alltoall::Direct { pairwise: false }), Collective::Alltoall),
        (Schedule::Direct(alltoall::Direct { pairwise: true }), Collective::Alltoall),
        (Schedule::Bruck(alltoall::Bruck), Collective::Alltoall),
    ];
    let mut dice = Dice::new(12345);
    let mut pick = |below: usize| dice.below(below);
    for size in sizes() {
        let sequences = match size {
            _ if cfg!(debug_assertions) => 3,
            0..=32 => 20,
            _ => 8,
        };
        for seed in 0..sequences {
            let calls: Vec<ProofCall> = (0..12)
                .map(|_| {
                    let (algorithm, wanted) = &menu[pick(menu.len())];
                    let count = if *wanted == Collective::Shares { 1 } else { pick(4) as u64 };
                    ProofCall { algorithm, wanted: *wanted, count, root: pick(size as usize) as u32 }
                })
                .collect();
            let mode = [Fresh, Synchronised][seed as usize % 2];
            if let Err(fault) = prove(&Case::new(size, &calls, mode, seed)) {
                let kinds: Vec<Traffic> = calls.iter().map(|call| call.algorithm.traffic()).collect();
                panic!("n={size} seed={seed} {mode:?} {kinds:?}: {fault}");
            }
        }
    }
}

#[test]
fn invariant_reductions_hold_for_a_million_pes() {
    let sizes = [2, 3, 5, 1_000, 65_536, 1_000_003, 1_048_576, 1 << 30];
    for size in sizes.into_iter().chain(64..600) {
        for radix in [2, 3, 4, 8, 16] {
            prove_invariant(&dissemination(radix, true), size, OperatorLaw::Idempotent).unwrap();
        }
        let steps = prove_invariant(&Census, size, OperatorLaw::Exact).unwrap();
        assert_eq!(steps, 4 * u64::from(crate::algorithm::census::Round::count(size)) + 1);
    }
    assert!(prove_invariant(&dissemination(2, true), 1_000_003, OperatorLaw::Exact).is_err());
}
