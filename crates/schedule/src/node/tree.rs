//! Barriers and short reductions through the levels of a shape.
//!
//! A member reports to its leader with one line, the leaders of the widest level read each other's lines, and each leader
//! releases those it leads with one line for each level. On a flat shape all members are of the widest level: all read
//! all lines, which is the quickest way for few members.

use super::{Cursor, Load, Move, NodePlan, Operands, Protocol, Shape, dest, hand, source};

/// See the head of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineTree {
    /// The payload.
    pub load: Load,
}

impl LineTree {
    /// Lines by which a member reports what it has of `width` members.
    fn reported(&self, plan: &NodePlan, width: u32) -> u32 {
        let operands = if self.load == Load::Operands { u64::from(width) } else { 1 };
        (operands * self.load.len(plan)).div_ceil(plan.line).max(1) as u32
    }

    /// Elements that the hand holds of the members from a place on.
    fn at(&self, plan: &NodePlan, place: u32) -> u64 {
        u64::from(place) * self.load.len(plan)
    }

    /// Where the payload of line `line` of the leader of `width` places begins behind its first element, and its length.
    fn part(&self, plan: &NodePlan, width: u32, line: u32) -> (u64, u64) {
        let operands = if self.load == Load::Operands { u64::from(width) } else { 1 };
        let begin = u64::from(line) * plan.line;
        (begin, (operands * self.load.len(plan) - begin).min(plan.line))
    }

    /// The use that the leader of a group, or of the widest level, makes of the others' lines at `level`.
    fn gather(&self, shape: &Shape, plan: &NodePlan, place: u32, level: u32, at: &mut Cursor) -> Option<Move> {
        let (me, number) = (shape.member(place), plan.mark(1));
        let others = || (0..shape.others(level, place)).map(|index| shape.other(level, place, index));
        for (other, width) in others() {
            if let Some(line) = at.within(self.reported(plan, width).into()) {
                return Some(Move::Wait { of: shape.member(other), line: line as u32, number });
            }
        }
        if self.load == Load::Nothing {
            return None;
        }
        for (other, width) in others() {
            if let Some(line) = at.within(self.reported(plan, width).into()) {
                let (begin, len) = self.part(plan, width, line as u32);
                let (of, into) = (shape.member(other), self.at(plan, other) + begin);
                return Some(Move::Take { of, line: line as u32, number, into, len });
            }
            if at.here(self.load == Load::Combined) {
                let mine = hand(me, self.at(plan, place));
                let operands = Operands::Pair(mine, hand(me, self.at(plan, other)));
                return Some(Move::Fold { into: mine, operands, len: plan.count });
            }
        }
        None
    }

    /// The step at a counter, or `None` if the counter is behind the last one.
    pub(super) fn walk(&self, shape: &Shape, plan: &NodePlan, rank: u32, at: &mut Cursor) -> Option<Move> {
        let (place, top, number) = (shape.place(rank), shape.depth() - 1, plan.mark(1));
        let loaded = self.load != Load::Nothing;
        let own = shape.led_until(place, 0).min(top);
        let result = match self.load {
            Load::Operands => self.at(plan, shape.size()),
            _ => self.at(plan, place),
        };
        let release = self.reported(plan, shape.widest());
        if at.here(loaded) {
            return Some(Move::Copy { into: hand(rank, self.at(plan, place)), from: source(rank, 0), len: plan.count });
        }
        for level in 0..own {
            if let Some(step) = self.gather(shape, plan, place, level, at) {
                return Some(step);
            }
        }
        let width = shape.width(own, place);
        let alone = shape.others(own, place) == 0;
        if let Some(line) = at.within(if alone { 0 } else { self.reported(plan, width).into() }) {
            let (begin, len) = if loaded { self.part(plan, width, line as u32) } else { (0, 0) };
            return Some(Move::Write { line: line as u32, number, from: self.at(plan, place) + begin, len });
        }
        if own == top {
            if let Some(step) = self.gather(shape, plan, place, top, at) {
                return Some(step);
            }
            if at.here(self.load == Load::Operands) {
                return Some(Move::Fold { into: hand(rank, result), operands: Operands::Hands, len: plan.count });
            }
        } else {
            let level = shape.level(own);
            let leader = shape.member(level.start(level.group(place)));
            if at.here(true) {
                return Some(Move::Wait { of: leader, line: release + own, number });
            }
            if at.here(loaded) {
                return Some(Move::Take { of: leader, line: release + own, number, into: result, len: plan.count });
            }
        }
        for level in (0..own).rev() {
            if at.here(shape.others(level, place) > 0) {
                return Some(Move::Write { line: release + level, number, from: result, len: self.load.len(plan) });
            }
        }
        if at.here(loaded) {
            return Some(Move::Copy { into: dest(rank, 0), from: hand(rank, result), len: plan.count });
        }
        None
    }
}

impl Protocol for LineTree {
    fn lines(&self, shape: &Shape, plan: &NodePlan) -> u32 {
        self.reported(plan, shape.widest()) + shape.depth()
    }

    fn hand(&self, shape: &Shape, plan: &NodePlan) -> u64 {
        self.at(plan, shape.size() + 1)
    }

    fn reader(&self, shape: &Shape, plan: &NodePlan, rank: u32, line: u32, index: u32) -> Option<u32> {
        let (place, top) = (shape.place(rank), shape.depth() - 1);
        let own = shape.led_until(place, 0).min(top);
        let others =
            |level: u32| (index < shape.others(level, place)).then(|| shape.member(shape.other(level, place, index).0));
        match line.checked_sub(self.reported(plan, shape.widest())) {
            Some(level) => others(level),
            None if own == top => others(top),
            None => (index == 0).then(|| {
                let level = shape.level(own);
                shape.member(level.start(level.group(place)))
            }),
        }
    }

    fn step(&self, shape: &Shape, plan: &NodePlan, rank: u32, pc: u64) -> Move {
        self.walk(shape, plan, rank, &mut Cursor(pc)).unwrap_or(Move::Done)
    }
}
