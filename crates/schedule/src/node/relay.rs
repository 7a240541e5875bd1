//! Broadcasts through the levels of a shape, from any root.
//!
//! The root leads every group it is in. A leader that has a piece signals those it leads. They fetch it into their dest and
//! hand it on, so that pieces follow each other through the levels and each byte enters a socket, a NUMA node and a cache
//! once. What fits a line travels in the line. A member leaves when all that fetch from it have signalled that they are
//! done. On a flat shape all members fetch from the root.

use super::{Cursor, Move, NodePlan, Protocol, Shape, dest, hand, source};
use crate::step::Traffic;

/// The line by which a member says that it is done.
const TAKEN: u32 = 0;
/// The first of the lines by which a leader signals those it leads, one for each level.
const READY: u32 = 1;

/// See the head of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relay;

/// The place that leads the group of `place` at a level.
fn leader(shape: &Shape, level: u32, place: u32, root: u32) -> u32 {
    let level = shape.level(level);
    let group = level.group(place);
    if level.group(root) == group { root } else { level.start(group) }
}

impl Protocol for Relay {
    fn traffic(&self) -> Traffic {
        Traffic::OneWay { signal_set: 0 }
    }

    fn lines(&self, shape: &Shape, _plan: &NodePlan) -> u32 {
        READY + shape.depth()
    }

    fn hand(&self, _shape: &Shape, plan: &NodePlan) -> u64 {
        if plan.count <= plan.line { plan.count } else { 0 }
    }

    fn reader(&self, shape: &Shape, plan: &NodePlan, rank: u32, line: u32, index: u32) -> Option<u32> {
        let (place, root) = (shape.place(rank), shape.place(plan.root));
        match line.checked_sub(READY) {
            Some(level) => {
                (index < shape.others(level, place)).then(|| shape.member(shape.other(level, place, index).0))
            }
            None => (index == 0 && place != root)
                .then(|| shape.member(leader(shape, shape.led_until(place, root), place, root))),
        }
    }

    fn step(&self, shape: &Shape, plan: &NodePlan, rank: u32, pc: u64) -> Move {
        let (place, root) = (shape.place(rank), shape.place(plan.root));
        let own = shape.led_until(place, root);
        let inline = plan.count <= plan.line;
        let len = if inline { plan.count } else { 0 };
        let pieces = if inline { 1 } else { plan.pieces() };
        let leads = |level: u32| shape.others(level, place) > 0;
        let levels = || (0..own).rev().filter(|&level| leads(level));
        let telling = levels().count() as u64;
        let tell = |index: u64, number: u64| {
            let level = levels().nth(index as usize).expect("one of them");
            Move::Write { line: READY + level, number, from: 0, len }
        };
        let mut at = Cursor(pc);
        if place == root {
            if at.here(inline) {
                return Move::Copy { into: hand(rank, 0), from: source(rank, 0), len };
            }
            if let Some(index) = at.within(telling) {
                return tell(index, plan.mark(pieces));
            }
            if at.here(true) {
                return Move::Copy { into: dest(rank, 0), from: source(rank, 0), len: plan.count };
            }
        } else {
            let leader = leader(shape, own, place, root);
            let (of, line) = (shape.member(leader), READY + own);
            let each = 2 + telling;
            if let Some(step) = at.within(each * pieces) {
                let (piece, step) = (step / each, step % each);
                let number = plan.mark(piece + 1);
                let (begin, elements) = plan.piece(piece);
                return match (step, inline) {
                    (0, true) => Move::Wait { of, line, number: plan.mark(pieces) },
                    (0, false) => Move::Wait { of, line, number },
                    (1, true) => Move::Take { of, line, number: plan.mark(pieces), into: 0, len },
                    (1, false) => {
                        let from = if leader == root { source(of, begin) } else { dest(of, begin) };
                        Move::Copy { into: dest(rank, begin), from, len: elements }
                    }
                    _ => tell(step - 2, number),
                };
            }
            if at.here(true) {
                return Move::Write { line: TAKEN, number: plan.mark(pieces), from: 0, len: 0 };
            }
            if at.here(inline) {
                return Move::Copy { into: dest(rank, 0), from: hand(rank, 0), len };
            }
        }
        for level in 0..own {
            if let Some(index) = at.within(shape.others(level, place).into()) {
                let (other, _) = shape.other(level, place, index as u32);
                return Move::Wait { of: shape.member(other), line: TAKEN, number: plan.mark(pieces) };
            }
        }
        Move::Done
    }
}
