//! Protocols with one mistake each: a prover that lets one of them pass proves nothing.

use super::suite::{BROADCAST, FLOAT, MAX, ROWS, SUM, SYNC, shapes};
use super::{NodeCall, NodeCase, prove};
use crate::algorithm::Collective;
use crate::node::chain::PieceChain;
use crate::node::counted::Counted;
use crate::node::relay::Relay;
use crate::node::slices::Slices;
use crate::node::tree::LineTree;
use crate::node::{Load, Move, NodePlace, NodePlan, Operands, Protocol, Shape, Spot};
use crate::prove::FaultKind;
use crate::step::Traffic;
use std::vec::Vec;

/// A protocol whose steps, traffic and readers are tampered with.
struct ProtocolMutant<'a> {
    of: &'a dyn Protocol,
    step: fn(&NodePlan, u32, u64, Move) -> Move,
    traffic: fn(Traffic) -> Traffic,
    reader: fn(Option<u32>) -> Option<u32>,
}

impl<'a> ProtocolMutant<'a> {
    /// Without a mistake.
    fn of(of: &'a dyn Protocol) -> Self {
        Self { of, step: |_, _, _, step| step, traffic: |traffic| traffic, reader: |reader| reader }
    }
}

impl Protocol for ProtocolMutant<'_> {
    fn traffic(&self) -> Traffic {
        (self.traffic)(self.of.traffic())
    }
    fn lines(&self, shape: &Shape, plan: &NodePlan) -> u32 {
        self.of.lines(shape, plan)
    }
    fn hand(&self, shape: &Shape, plan: &NodePlan) -> u64 {
        self.of.hand(shape, plan)
    }
    fn reader(&self, shape: &Shape, plan: &NodePlan, rank: u32, line: u32, index: u32) -> Option<u32> {
        (self.reader)(self.of.reader(shape, plan, rank, line, index))
    }
    fn step(&self, shape: &Shape, plan: &NodePlan, rank: u32, pc: u64) -> Move {
        (self.step)(plan, rank, pc, self.of.step(shape, plan, rank, pc))
    }
}

fn faults(protocol: &dyn Protocol, wanted: Collective, shape: &Shape, count: u64) -> Vec<FaultKind> {
    let root = |turn: u32| (turn * 3 + 1) % shape.size();
    let calls: Vec<NodeCall> = (0..4).map(|turn| NodeCall { protocol, wanted, count, root: root(turn) }).collect();
    let runs = [0, 1, 2, 3].map(|interleaving| (interleaving, interleaving % 2 == 1));
    let case = |(interleaving, in_place)| NodeCase { shape, calls: &calls, in_place, line: 3, piece: 2, interleaving };
    runs.into_iter().filter_map(|run| prove(&case(run)).err().map(|fault| fault.kind)).collect()
}

/// The mistake is found on some of the shapes, and the original has no fault on any.
fn rejected(
    of: &dyn Protocol,
    wanted: Collective,
    count: u64,
    step: fn(&NodePlan, u32, u64, Move) -> Move,
) -> Vec<FaultKind> {
    let mutant = ProtocolMutant { step, ..ProtocolMutant::of(of) };
    let mut found = Vec::new();
    for shape in [7, 13].into_iter().flat_map(shapes) {
        assert_eq!(faults(of, wanted, &shape, count), [], "the original on {shape:?}");
        found.extend(faults(&mutant, wanted, &shape, count));
    }
    assert!(!found.is_empty(), "{wanted:?} passes");
    found
}

fn all(step: fn(&NodePlan, u32, u64, Move) -> Move) -> Vec<(Collective, Vec<FaultKind>)> {
    let counted = |row: &&(&'static dyn Protocol, Collective, &'static [u64])| row.0.lines(&Shape::flat(7), &PLAN) > 1;
    ROWS.iter()
        .filter(counted)
        .map(|(of, wanted, counts)| (*wanted, rejected(*of, *wanted, counts[counts.len() - 1], step)))
        .collect()
}

const PLAN: NodePlan =
    NodePlan { count: 1, root: 0, turn: crate::step::Turn { call: 1, generation: 1 }, line: 3, piece: 2 };

#[test]
fn a_member_that_does_not_wait_is_rejected() {
    all(|_, rank, _, step| match step {
        Move::Wait { .. } if rank == 2 => Move::Skip,
        step => step,
    });
    // The last wait of a root of a broadcast: for members that still read.
    let last = |plan: &NodePlan, rank: u32, pc: u64, step: Move| match step {
        Move::Wait { line: 0, .. } if rank == plan.root && pc > 2 => Move::Skip,
        step => step,
    };
    assert!(rejected(&Relay, BROADCAST, 7, last).contains(&FaultKind::Race));
    assert!(rejected(&Relay, BROADCAST, 3, last).contains(&FaultKind::Race));
}

#[test]
fn a_writer_that_wakes_all_but_one_is_rejected() {
    for (of, wanted) in
        [(&LineTree { load: Load::Nothing } as &dyn Protocol, SYNC), (&PieceChain { in_order: true }, FLOAT)]
    {
        let deaf = |reader: Option<u32>| reader.filter(|reader| *reader != 1);
        let mutant = ProtocolMutant { reader: deaf, ..ProtocolMutant::of(of) };
        let found: Vec<FaultKind> = shapes(7).iter().flat_map(|shape| faults(&mutant, wanted, shape, 1)).collect();
        assert!(found.contains(&FaultKind::Unheard), "{wanted:?}: {found:?}");
    }
}

#[test]
fn a_line_that_is_not_written_is_a_deadlock() {
    let found = all(|_, rank, _, step| match step {
        Move::Write { .. } if rank == 1 => Move::Skip,
        step => step,
    });
    assert!(found.iter().all(|(_, kinds)| kinds.contains(&FaultKind::Deadlock)), "{found:?}");
}

#[test]
fn a_neighbour_in_the_place_of_a_member_is_rejected() {
    all(|_, rank, _, step| match step {
        Move::Wait { of, line, number } if rank == 0 && of > 1 => Move::Wait { of: of - 1, line, number },
        step => step,
    });
}

#[test]
fn a_release_before_everybody_has_come_is_rejected() {
    // Waits and writes change places: a leader tells what it has before it has heard from those it leads.
    let early = |_: &NodePlan, rank: u32, pc: u64, step: Move| match step {
        Move::Wait { .. } if rank == 0 && pc == 0 => Move::Write { line: 1, number: 1 << 16 | 1, from: 0, len: 0 },
        step => step,
    };
    rejected(&LineTree { load: Load::Nothing }, SYNC, 0, early);
}

/// Claimed one-way, a call uses the same lines each time.
#[test]
fn one_parity_is_rejected() {
    let single = |_| Traffic::OneWay { signal_set: 7 };
    for (of, wanted) in [
        (&LineTree { load: Load::Combined } as &dyn Protocol, MAX),
        (&LineTree { load: Load::Operands }, FLOAT),
        (&Counted { payload: true }, FLOAT),
    ] {
        let mutant = ProtocolMutant { traffic: single, ..ProtocolMutant::of(of) };
        let found: Vec<FaultKind> = shapes(7).iter().flat_map(|shape| faults(&mutant, wanted, shape, 1)).collect();
        assert!(found.contains(&FaultKind::Race), "{wanted:?}: {found:?}");
    }
}

#[test]
fn a_number_that_does_not_grow_is_rejected() {
    all(|plan, rank, _, step| match step {
        Move::Write { line, from, len, .. } if rank == 1 && plan.turn.call == 2 => {
            Move::Write { line, number: 1 << 16 | 1, from, len }
        }
        step => step,
    });
}

#[test]
fn floating_sums_that_meet_on_the_way_are_rejected() {
    let shape = &shapes(13)[2];
    assert!(faults(&LineTree { load: Load::Combined }, FLOAT, shape, 1).contains(&FaultKind::Association));
    // Members dealt out in turn: the groups of what is near are no runs.
    let dealt: Vec<u32> = (0..12).map(|member| member % 3).collect();
    let shape = Shape::nested(12, &[&dealt], 8);
    assert!(faults(&PieceChain { in_order: false }, FLOAT, &shape, 7).contains(&FaultKind::Association));
    assert_eq!(faults(&PieceChain { in_order: true }, FLOAT, &shape, 7), []);
    assert_eq!(faults(&PieceChain { in_order: false }, SUM, &shape, 7), []);
}

#[test]
fn operands_in_the_order_of_places_are_rejected() {
    let pair = |_: &NodePlan, rank: u32, _: u64, step: Move| match step {
        Move::Fold { into, operands: Operands::Hands, len } => {
            let hand = |at| Spot { of: rank, place: NodePlace::Hand, at };
            Move::Fold { into, operands: Operands::Pair(hand(0), hand(1)), len }
        }
        step => step,
    };
    rejected(&LineTree { load: Load::Operands }, FLOAT, 1, pair);
}

#[test]
fn a_chain_that_goes_ahead_is_rejected() {
    // The owner does not wait for the members of its group to enter, or for the group before.
    for line in [0, 1] {
        let ahead = match line {
            0 => |_: &NodePlan, _: u32, _: u64, step: Move| match step {
                Move::Wait { line: 0, .. } => Move::Skip,
                step => step,
            },
            _ => |_: &NodePlan, _: u32, _: u64, step: Move| match step {
                Move::Wait { line: 1, .. } => Move::Skip,
                step => step,
            },
        };
        assert!(rejected(&PieceChain { in_order: false }, SUM, 7, ahead).contains(&FaultKind::Race));
        assert!(rejected(&PieceChain { in_order: true }, FLOAT, 7, ahead).contains(&FaultKind::Race));
    }
}

#[test]
fn a_result_that_leaves_before_its_readers_is_rejected() {
    // Without the synchronisation at the end.
    let leaves = |_: &NodePlan, _: u32, _: u64, step: Move| match step {
        Move::Wait { line, .. } | Move::Write { line, .. } if line >= 3 => Move::Skip,
        step => step,
    };
    assert!(rejected(&PieceChain { in_order: false }, SUM, 7, leaves).contains(&FaultKind::Race));
    let slices = |_: &NodePlan, _: u32, _: u64, step: Move| match step {
        Move::Copy { into, from, .. } if into.of != from.of => Move::Skip,
        step => step,
    };
    assert!(rejected(&Slices, FLOAT, 7, slices).contains(&FaultKind::Result));
}

#[test]
fn a_piece_taken_too_early_is_rejected() {
    // The reader waits for the piece before.
    let off = |_: &NodePlan, _: u32, _: u64, step: Move| match step {
        Move::Wait { of, line, number } if line > 0 && number & 0xFFFF > 1 => {
            Move::Wait { of, line, number: number - 1 }
        }
        step => step,
    };
    assert!(rejected(&Relay, BROADCAST, 7, off).contains(&FaultKind::Race));
    assert!(rejected(&PieceChain { in_order: false }, SUM, 40, off).contains(&FaultKind::Race));
}
