//! The simulator against formulas, and its reports.

use super::*;
use crate::algorithm::broadcast::{Chain, Tree};
use crate::algorithm::census::Census;
use crate::algorithm::dissemination::Dissemination;
use crate::algorithm::ring::RingReduce;
use crate::algorithm::{Schedule, alltoall::Direct};
use std::println;
use std::time::Instant;

/// One distance, no byte cost: textbook LogP.
const PLAIN: Cluster = Cluster {
    pes_per_node: 1 << 20,
    nodes_per_switch: 1,
    switches_per_group: 1,
    overhead: 300.0,
    gap: 60.0,
    latency: [1000.0; 4],
    per_byte: [0.0; 4],
    work: 0.0,
    ..Cluster::FAT_TREE
};

fn barrier(radix: u32) -> Dissemination {
    Dissemination { radix, payload: false }
}

#[test]
fn a_dissemination_round_costs_latency_and_two_overheads() {
    for (size, rounds) in [(2, 1.0), (8, 3.0), (9, 4.0), (1000, 10.0)] {
        let outcome = simulate(&barrier(2), &Plan::new(size, 0), &PLAIN, &Setting::default()).unwrap();
        assert_eq!(outcome.time, rounds * 1600.0);
        assert_eq!(outcome.messages, u64::from(size) * rounds as u64);
    }
}

#[test]
fn a_tree_costs_its_longest_branch() {
    let outcome = simulate(&Tree { radix: 2 }, &Plan::new(8, 1), &PLAIN, &Setting::default()).unwrap();
    // Three hops down the branch that the root serves first and every child serves first.
    assert_eq!((outcome.time, outcome.messages), (3.0 * 1600.0, 7));
}

#[test]
fn a_chain_streams_its_pieces() {
    let machine = Cluster { per_byte: [1.0; 4], overhead: 0.0, gap: 0.0, ..PLAIN };
    let (size, pieces, piece) = (5u32, 10u64, 64u64);
    let setting = Setting { element: 1, ..Setting::default() };
    let outcome = simulate(&Chain { segment: piece }, &Plan::new(size, pieces * piece), &machine, &setting).unwrap();
    let hops = f64::from(size - 1);
    assert_eq!(outcome.time, hops * 1000.0 + (hops + pieces as f64 - 1.0) * piece as f64);
}

#[test]
fn symmetry_gives_what_all_pes_give() {
    let setting = Setting::default();
    for size in [2, 7, 64, 100] {
        let plan = Plan::new(size, 4 * u64::from(size));
        let all = simulate(&RingReduce, &plan, &PLAIN, &setting).unwrap();
        let one = simulate_symmetric(&RingReduce, &plan, &PLAIN, &setting).unwrap();
        assert!((all.time - one.time).abs() < 1e-3 * all.time, "{size}: {all:?} {one:?}");
        assert_eq!((all.messages, all.bytes), (one.messages, one.bytes));
        let direct = Direct { pairwise: false };
        let all = simulate(&direct, &plan, &PLAIN, &setting).unwrap();
        let one = simulate_symmetric(&direct, &plan, &PLAIN, &setting).unwrap();
        assert!((all.time - one.time).abs() < 1e-3 * all.time, "{size}: {all:?} {one:?}");
    }
}

#[test]
fn distances_are_those_of_the_numbering() {
    let machine = Cluster { pes_per_node: 2, nodes_per_switch: 2, switches_per_group: 2, ..Cluster::DRAGONFLY };
    let distances = [0, 1, 2, 3, 4, 7, 8, 15].map(|pe| machine.distance(0, pe));
    use NetworkDistance::{Global, Group, Node, Switch};
    assert_eq!(distances, [Node, Node, Switch, Switch, Group, Group, Global, Global]);
    assert_eq!((machine.worst(1, 16), machine.worst(1, 4)), (Global, Switch));
}

#[test]
fn late_pes_and_dead_ends_are_seen() {
    let skewed = Setting { skew: 5000.0, ..Setting::default() };
    let plan = Plan::new(64, 1);
    let (late, even) =
        (simulate(&Census, &plan, &PLAIN, &skewed), simulate(&Census, &plan, &PLAIN, &Setting::default()));
    assert!(late.unwrap().time < even.unwrap().time + 1.0, "early PEs have sent before the last one comes");
    let short = Setting { budget: 10, ..Setting::default() };
    assert_eq!(simulate(&Census, &plan, &PLAIN, &short), Err(SimulationFailure::TooLong));
}

#[test]
fn a_million_pes_are_simulated_message_by_message() {
    for radix in [2, 4] {
        let started = Instant::now();
        let outcome =
            simulate(&barrier(radix), &Plan::new(1 << 20, 0), &Cluster::FAT_TREE, &Setting::default()).unwrap();
        println!("radix {radix}: {outcome:?} simulated in {:?}", started.elapsed());
        assert_eq!(outcome.messages, (1 << 20) * if radix == 2 { 20 } else { 30 });
    }
}

#[test]
fn reports_say_simulated_and_state_their_parameters() {
    let schedules = [Schedule::Dissemination(barrier(2)), Schedule::Dissemination(barrier(4))];
    let (machine, setting) = (Cluster::DRAGONFLY, Setting::default());
    let entries = compare(&schedules, &[1024, 4096], 0, &machine, &setting);
    assert_eq!(entries.len(), 4);
    for text in [table(&entries, 0, &machine, &setting), svg(&entries, 0, &machine, &setting)] {
        for wanted in ["simulated, not measured", "dragonfly", "o 300 ns", "no contention", "leaders", "4096"] {
            assert!(text.contains(wanted), "{wanted} in {text}");
        }
    }
}
