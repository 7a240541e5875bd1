//! Every protocol at every size to 64, on even and uneven shapes, back to back, with every root, in place and not.
//!
//! The release build proves all of it; the debug build, which is many times slower, some of the sizes.

use super::{NodeCall, NodeCase, prove};
use crate::algorithm::{Collective, OperatorLaw};
use crate::node::chain::PieceChain;
use crate::node::counted::Counted;
use crate::node::dissemination::LineDissemination;
use crate::node::relay::Relay;
use crate::node::slices::Slices;
use crate::node::tree::LineTree;
use crate::node::{Load, Protocol, Shape};
use oxshmem_base::chance::Dice;
use std::vec;
use std::vec::Vec;

pub(super) const SYNC: Collective = Collective::Sync;
pub(super) const MAX: Collective = Collective::Reduce(OperatorLaw::Idempotent);
pub(super) const SUM: Collective = Collective::Reduce(OperatorLaw::Exact);
pub(super) const FLOAT: Collective = Collective::Reduce(OperatorLaw::FixedTree);
pub(super) const BROADCAST: Collective = Collective::Broadcast;

fn sizes() -> Vec<u32> {
    if cfg!(debug_assertions) { (1..=9).chain([13, 17, 33]).collect() } else { (1..=64).collect() }
}

/// Domains of `size` members: blocks of equal and of unequal length, and members dealt out in turn.
fn domains(size: u32, kind: u32) -> [Vec<u32>; 3] {
    let uneven = |block: u32| (0..size).map(|m| (m * m + 3 * m) / (block * (m / 5 + 3))).collect();
    match kind {
        0 => [3, 6, 12].map(|block| (0..size).map(|m| m / block).collect()),
        1 => [2, 5, 9].map(uneven),
        2 => [8, 4, 2].map(|count| (0..size).map(|m| m % count).collect()),
        // A socket with one member, one with few and one with the rest.
        _ => [4, 8, 1].map(|block| {
            (0..size)
                .map(|m| {
                    if m == size / 2 {
                        99
                    } else if m < 3 {
                        98
                    } else {
                        m / block / 40
                    }
                })
                .collect()
        }),
    }
}

/// Shapes of a team: flat, levels of equal and unequal width, levels within a wide domain.
pub(super) fn shapes(size: u32) -> Vec<Shape> {
    let nested = |kind: u32, width: u32| {
        let domains = domains(size, kind);
        Shape::nested(size, &domains.each_ref().map(|domain| &domain[..]), width)
    };
    let mut shapes =
        vec![Shape::flat(size), Shape::nested(size, &[], 4), nested(0, 8), nested(1, 3), nested(2, 8), nested(3, 5)];
    shapes.dedup();
    shapes
}

/// A protocol, what it achieves and the numbers of elements to try.
type Row = (&'static dyn Protocol, Collective, &'static [u64]);

const SHORT: &[u64] = &[1, 3];
const LONG: &[u64] = &[1, 7, 40];

pub(super) const ROWS: [Row; 14] = [
    (&LineTree { load: Load::Nothing }, SYNC, &[0]),
    (&LineTree { load: Load::Combined }, MAX, SHORT),
    (&LineTree { load: Load::Combined }, SUM, SHORT),
    (&LineTree { load: Load::Operands }, FLOAT, SHORT),
    (&LineDissemination { payload: false }, SYNC, &[0]),
    (&LineDissemination { payload: true }, MAX, SHORT),
    (&Counted { payload: false }, SYNC, &[0]),
    (&Counted { payload: true }, FLOAT, SHORT),
    (&Relay, BROADCAST, &[1, 3]),
    (&Relay, BROADCAST, LONG),
    (&Slices, FLOAT, LONG),
    (&PieceChain { in_order: false }, SUM, LONG),
    (&PieceChain { in_order: false }, MAX, LONG),
    (&PieceChain { in_order: true }, FLOAT, LONG),
];

fn holds(shape: &Shape, calls: &[NodeCall], in_place: bool, interleaving: u64) {
    let case = NodeCase { shape, calls, in_place, line: 3, piece: 2, interleaving };
    if let Err(fault) = prove(&case) {
        let kinds: Vec<Collective> = calls.iter().map(|call| call.wanted).collect();
        panic!("{kinds:?} in place {in_place}, interleaving {interleaving}: {fault}\n{shape:?}");
    }
}

#[test]
fn every_protocol_holds_at_every_size_and_shape_back_to_back_and_in_place() {
    for size in sizes() {
        for shape in shapes(size) {
            for (protocol, wanted, counts) in ROWS {
                // Arrays of many pieces take long where there are many members.
                let fitting = counts.iter().filter(|count| size < 20 || **count < 40 || size % 16 == 1);
                for (i, &count) in fitting.enumerate() {
                    let call = |turn: u32| NodeCall { protocol, wanted, count, root: (turn * 5 + 1) % size };
                    let calls: Vec<NodeCall> = (0..4).map(call).collect();
                    // Large teams in one way each, small ones in both.
                    for in_place in
                        [false, true].into_iter().filter(|in_place| size < 24 || *in_place == (size % 2 == 0))
                    {
                        holds(&shape, &calls, in_place, [0, 1, 77][(i + size as usize) % 3]);
                    }
                }
            }
        }
    }
}

#[test]
fn a_broadcast_holds_from_every_root() {
    for size in [2, 5, 12, 17, 31] {
        for shape in shapes(size) {
            for count in [3, 8] {
                let calls: Vec<NodeCall> =
                    (0..size).map(|root| NodeCall { protocol: &Relay, wanted: BROADCAST, count, root }).collect();
                for interleaving in 0..3 {
                    holds(&shape, &calls, interleaving == 1, interleaving);
                }
            }
        }
    }
}

#[test]
fn protocols_follow_each_other_in_any_order() {
    let mut dice = Dice::new(4711);
    let mut pick = |below: usize| dice.below(below);
    let sequences = if cfg!(debug_assertions) { 4 } else { 20 };
    for size in sizes() {
        for shape in shapes(size) {
            for interleaving in 0..if size > 17 { 2 } else { sequences } {
                let calls: Vec<NodeCall> = (0..8)
                    .map(|_| {
                        let (protocol, wanted, counts) = ROWS[pick(ROWS.len())];
                        NodeCall {
                            protocol,
                            wanted,
                            count: counts[pick(counts.len())].min(9),
                            root: pick(size as usize) as u32,
                        }
                    })
                    .collect();
                holds(&shape, &calls, interleaving % 2 == 1, interleaving);
            }
        }
    }
}

/// The chain's promise beside its result, counted on the steps themselves.
#[test]
fn a_chain_moves_each_byte_once_over_each_boundary_and_back() {
    use crate::node::{Move, NodePlace, NodePlan, Operands};
    use crate::step::Turn;
    let of: Vec<u32> = (0..48).map(|member| member / 16).collect();
    let shape = Shape::nested(48, &[&of], 8);
    let plan = NodePlan { count: 640, root: 0, turn: Turn { call: 1, generation: 1 }, line: 7, piece: 10 };
    let chain = PieceChain { in_order: true };
    let mut crossed = 0;
    for rank in 0..48 {
        let far = |spot: crate::node::Spot| spot.place != NodePlace::Hand && of[spot.of as usize] != of[rank as usize];
        let steps = (0..).map(|pc| chain.step(&shape, &plan, rank, pc)).take_while(|step| *step != Move::Done);
        for step in steps {
            crossed += match step {
                Move::Copy { from, len, .. } if far(from) => len,
                Move::Fold { operands: Operands::Sources { before: Some(before), .. }, len, .. } if far(before) => len,
                _ => 0,
            };
        }
    }
    assert_eq!(crossed, 2 * 2 * plan.count);
}
