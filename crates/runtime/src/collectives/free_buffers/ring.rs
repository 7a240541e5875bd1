//! The blocks of a ring's broadcasts, in two halves that take turns, and the acknowledgements by which a half becomes free again.
//! `between_nodes::broadcast_ring` has the argument.

use crate::memory::control::broadcast_ring::{BLOCK_ALIGN, HALF};
use oxshmem_base::planted;

/// The tree that a broadcast goes down among the leaders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BroadcastTree {
    /// The root's node.
    pub(crate) root: u32,
    pub(crate) radix: u32,
}

/// Where a broadcast goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RingBlock {
    /// Bytes behind the start of the ring.
    pub(crate) at: usize,
    pub(crate) bytes: usize,
    /// The half in which the one before was. Leaders acknowledge it to their parents when they may.
    pub(crate) left: Option<usize>,
    /// The half in which this one is the first since the team has left it: all children must have acknowledged it.
    pub(crate) again: Option<usize>,
}

/// Which block is next. All members count alike.
#[derive(Default)]
pub(crate) struct RingBlocks {
    /// The number of the last synchronising run: with it both halves became free.
    run: u32,
    /// The half in use, how much of it is used, and how often the halves have changed (a count above one means the same as one).
    half: usize,
    used: usize,
    changes: u32,
    /// The tree of the first broadcast since, and whether all have gone down that one.
    tree: Option<BroadcastTree>,
    mixed: bool,
}

impl RingBlocks {
    /// Where a broadcast of so many bytes goes after synchronising run number `run`; `None` if there is no room before the
    /// next one.
    pub(crate) fn block(&mut self, run: u32, bytes: usize, tree: BroadcastTree) -> Option<RingBlock> {
        if self.run != run {
            *self = Self { run, ..Self::default() };
        }
        let bytes = bytes.next_multiple_of(BLOCK_ALIGN);
        self.mixed |= *self.tree.get_or_insert(tree) != tree;
        // Halves are used again by agreement of parents and children of one tree.
        if bytes > HALF || self.mixed && self.changes > 1 && planted!("block-of-another-tree", true, false) {
            return None;
        }
        if self.used + bytes <= HALF {
            let at = self.half * HALF + self.used;
            self.used += bytes;
            return Some(RingBlock { at, bytes, left: None, again: None });
        }
        let is_used = self.changes > 0;
        if is_used && self.mixed && planted!("block-of-another-tree", true, false) {
            return None;
        }
        let left = (!self.mixed).then_some(self.half);
        (self.half, self.used, self.changes) = (self.half ^ 1, bytes, self.changes.saturating_add(1));
        Some(RingBlock { at: self.half * HALF, bytes, left, again: is_used.then_some(self.half) })
    }
}

/// The acknowledgements that a leader has not sent to its parents yet, by half.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub(crate) struct PendingAcknowledgements([Option<PendingAcknowledgement>; 2]);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct PendingAcknowledgement {
    parent: u32,
    /// The number of the last synchronising run.
    run: u32,
}

impl PendingAcknowledgements {
    /// The leader's node has taken what was in `half`, which has come from `parent` since synchronising run number `run`.
    pub(crate) fn add(&mut self, half: usize, parent: u32, run: u32) {
        debug_assert!(!self.has(half), "a half is left again only after its acknowledgement");
        self.0[half] = Some(PendingAcknowledgement { parent, run });
    }

    /// The number of the run after which the first of them was added.
    #[cfg(test)]
    pub(crate) fn last_run(&self) -> Option<u32> {
        self.0.iter().flatten().map(|pending| pending.run).next()
    }

    /// Whether that of a half is among them.
    pub(crate) fn has(&self, half: usize) -> bool {
        self.0[half].is_some()
    }

    /// The parents to which halves can be acknowledged now; their acknowledgements are taken out. `run` is the number of the last
    /// synchronising run. A half can be acknowledged once all children have acknowledged it (`have_children`), or after a later
    /// run.
    pub(crate) fn due(&mut self, run: u32, have_children: impl Fn(usize) -> bool) -> [Option<u32>; 2] {
        let mut halves = 0..2;
        self.0.each_mut().map(|pending| {
            let half = halves.next().expect("an array has two halves");
            pending.take_if(|it| it.run != run || have_children(half)).map(|it| it.parent)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: BroadcastTree = BroadcastTree { root: 0, radix: 4 };

    #[test]
    fn broadcasts_lie_apart_in_each_half() {
        let mut ring = RingBlocks::default();
        for run in [0, 1, 2, 7] {
            for half in [0, 1, 0, 1, 0] {
                let first = ring.block(run, 3000, TREE).unwrap();
                let mut end = first.at + 3000;
                assert_eq!(first.at, half * HALF);
                for _ in 1..HALF / 3072 {
                    let block = ring.block(run, 3000, TREE).unwrap();
                    assert!(block.at >= end && (block.left, block.again) == (None, None), "{block:?}");
                    end = block.at + 3000;
                }
                assert!(end <= (half + 1) * HALF);
            }
        }
        assert_eq!((ring.block(8, HALF + 1, TREE), ring.block(8, HALF, TREE).map(|block| block.at)), (None, Some(0)));
    }

    #[test]
    fn halves_change_by_agreement_of_one_tree() {
        let (mut ring, other) = (RingBlocks::default(), BroadcastTree { root: 1, radix: 4 });
        let half = |ring: &mut RingBlocks, run, tree| ring.block(run, HALF, tree);
        let block = |at: usize, left, again| Some(RingBlock { at: at * HALF, bytes: HALF, left, again });
        assert_eq!(half(&mut ring, 3, TREE), block(0, None, None));
        assert_eq!(half(&mut ring, 3, TREE), block(1, Some(0), None));
        assert_eq!(half(&mut ring, 3, TREE), block(0, Some(1), Some(0)));
        assert_eq!(half(&mut ring, 3, TREE), block(1, Some(0), Some(1)));
        // The leader does not know what the children of another tree have taken, and will not learn it.
        assert_eq!(half(&mut ring, 3, other), None);
        assert_eq!(half(&mut ring, 3, TREE), None);
        // After a run everything is free once, whatever the tree.
        assert_eq!(half(&mut ring, 4, other), block(0, None, None));
        assert_eq!(half(&mut ring, 4, TREE), block(1, None, None));
        assert_eq!(half(&mut ring, 4, TREE), None);
    }

    /// A root may broadcast for days without a run.
    #[test]
    fn a_half_is_used_again_by_agreement_however_often_halves_have_changed() {
        let mut ring = RingBlocks { changes: u32::MAX, ..RingBlocks::default() };
        ring.block(0, HALF, TREE).unwrap();
        for half in [1, 0, 1, 0] {
            assert_eq!(ring.block(0, HALF, TREE).unwrap().again, Some(half));
        }
    }

    #[test]
    fn a_half_is_acknowledged_after_the_children_or_after_a_run() {
        let mut pending = PendingAcknowledgements::default();
        pending.add(0, 7, 3);
        pending.add(1, 8, 3);
        assert_eq!(pending.due(3, |_| false), [None, None]);
        assert_eq!(pending.due(3, |half| half == 1), [None, Some(8)]);
        assert_eq!(pending.due(4, |_| false), [Some(7), None]);
        assert_eq!(pending.due(4, |_| true), [None, None]);
    }
}
