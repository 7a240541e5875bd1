//! Zones of this PE that no team has, and which one a team has been lent. `between_nodes::lending` agrees on them.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use parking_lot::{Mutex, MutexGuard};

use crate::memory::control::mail::{CAST, HALF, ZONES};

/// A bit for each zone of this PE that no team has. While the members of a team agree, all of them are theirs to choose
/// from: threads of other teams find none for so long, so that no zone is promised twice.
static FREE: Mutex<u64> = Mutex::new(0);
const _: () = assert!(ZONES < u64::BITS);

fn free() -> MutexGuard<'static, u64> {
    FREE.lock()
}

/// Begins a life in which all zones are free.
pub(crate) fn begin() {
    *free() = (1 << ZONES) - 1;
}

/// The zone that a team has been lent.
#[derive(Default)]
pub(crate) struct Lent {
    /// Its number and one; zero: none.
    zone: AtomicU32,
    /// How often the team has wanted one in vain.
    missed: AtomicU32,
    /// Where the team's broadcasts go. The lock is for form: one thread at a time is in a collective of a team.
    ring: Mutex<Ring>,
}

/// The tree that a broadcast goes down among the leaders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CastTree {
    /// The root's node.
    pub(crate) root: u32,
    pub(crate) radix: u32,
}

/// Where a broadcast goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CastRoom {
    /// Bytes behind the start of the zone's broadcasts.
    pub(crate) at: usize,
    /// Bytes of the room.
    pub(crate) bytes: usize,
    /// The half in which the one before was: who has taken what is there tells its parent so.
    pub(crate) left: Option<usize>,
    /// The half in which this one is the first since the team has left it: all children must have said so.
    pub(crate) again: Option<usize>,
}

/// The rooms of broadcasts, in two halves that take turns. All members count alike. `between_nodes::casts` has the argument.
#[derive(Default)]
struct Ring {
    /// The number of the last synchronising run: with it both halves became free.
    run: u32,
    /// The half in use, how much of it is used, and how often they have changed.
    half: usize,
    used: usize,
    changes: u32,
    /// The tree of the first broadcast since, and whether all have gone down that one.
    tree: Option<CastTree>,
    mixed: bool,
}

impl Ring {
    /// Where a broadcast of so many bytes goes after synchronising run number `run`; `None` if there is no room before the
    /// next one.
    fn room(&mut self, run: u32, bytes: usize, tree: CastTree) -> Option<CastRoom> {
        if self.run != run {
            *self = Self { run, ..Self::default() };
        }
        let bytes = bytes.next_multiple_of(CAST);
        self.mixed |= *self.tree.get_or_insert(tree) != tree;
        // Halves are used again by agreement of parents and children of one tree.
        if bytes > HALF || self.mixed && self.changes > 1 {
            return None;
        }
        if self.used + bytes <= HALF {
            let at = self.half * HALF + self.used;
            self.used += bytes;
            return Some(CastRoom { at, bytes, left: None, again: None });
        }
        let is_used = self.changes > 0;
        if is_used && self.mixed {
            return None;
        }
        let left = (!self.mixed).then_some(self.half);
        (self.half, self.used, self.changes) = (self.half ^ 1, bytes, self.changes + 1);
        Some(CastRoom { at: self.half * HALF, bytes, left, again: is_used.then_some(self.half) })
    }
}

impl Lent {
    /// The zone, if the team has one.
    pub(crate) fn zone(&self) -> Option<u32> {
        self.zone.load(Relaxed).checked_sub(1)
    }

    /// The team wants a zone. Returns whether it is to ask for one now: the first time, and whenever it has wanted one twice
    /// as often as when it last asked.
    pub(crate) fn asks(&self) -> bool {
        let missed = self.missed.fetch_add(1, Relaxed);
        missed == 0 || missed.is_power_of_two()
    }

    /// All zones that are free, which nobody else is offered until the team has chosen.
    pub(crate) fn offer(&self) -> u64 {
        std::mem::take(&mut *free())
    }

    /// The team chooses the first of the zones that all members have `agreed` on, if there is one, and gives back what else
    /// this PE has `offered`.
    pub(crate) fn settle(&self, offered: u64, agreed: u64) -> Option<u32> {
        let zone = (agreed != 0).then(|| agreed.trailing_zeros());
        *free() |= offered & !zone.map_or(0, |zone| 1 << zone);
        self.zone.store(zone.map_or(0, |zone| zone + 1), Relaxed);
        zone
    }

    /// [`Ring::room`] of the team.
    pub(crate) fn cast(&self, run: u32, bytes: usize, tree: CastTree) -> Option<CastRoom> {
        self.ring.lock().room(run, bytes, tree)
    }

    /// The team has ended: nothing is on its way to its zone, and nobody looks at it any more.
    pub(crate) fn give_back(&self) {
        if let Some(zone) = self.zone() {
            self.zone.store(0, Relaxed);
            *self.ring.lock() = Ring::default();
            *free() |= 1 << zone;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test, because a process has one pool.
    #[test]
    fn zones_are_lent_once_and_come_back() {
        begin();
        let teams: Vec<Lent> = (0..ZONES).map(|_| Lent::default()).collect();
        for (team, expected) in teams.iter().zip(0..) {
            assert!(team.asks());
            let offered = team.offer();
            // While it chooses nobody else finds any.
            assert_eq!(Lent::default().offer(), 0);
            assert_eq!((team.settle(offered, offered), team.zone()), (Some(expected), Some(expected)));
        }
        let late = Lent::default();
        assert_eq!((late.offer(), late.settle(0, 0), late.zone()), (0, None, None));
        teams[5].give_back();
        teams[5].give_back();
        let offered = late.offer();
        // Another member has none of them free.
        assert_eq!((offered, late.settle(offered, 0)), (1 << 5, None));
        let offered = late.offer();
        assert_eq!((late.settle(offered, offered), late.zone()), (Some(5), Some(5)));
    }

    const TREE: CastTree = CastTree { root: 0, radix: 4 };

    #[test]
    fn broadcasts_lie_apart_in_each_half() {
        let mut ring = Ring::default();
        for run in [0, 1, 2, 7] {
            for half in [0, 1, 0, 1, 0] {
                let first = ring.room(run, 3000, TREE).unwrap();
                let mut end = first.at + 3000;
                assert_eq!(first.at, half * HALF);
                for _ in 1..HALF / 3072 {
                    let room = ring.room(run, 3000, TREE).unwrap();
                    assert!(room.at >= end && (room.left, room.again) == (None, None), "{room:?}");
                    end = room.at + 3000;
                }
                assert!(end <= (half + 1) * HALF);
            }
        }
        assert_eq!((ring.room(8, HALF + 1, TREE), ring.room(8, HALF, TREE).map(|room| room.at)), (None, Some(0)));
    }

    #[test]
    fn halves_change_by_agreement_of_one_tree() {
        let (mut ring, other) = (Ring::default(), CastTree { root: 1, radix: 4 });
        let half = |ring: &mut Ring, run, tree| ring.room(run, HALF, tree);
        let room = |at: usize, left, again| Some(CastRoom { at: at * HALF, bytes: HALF, left, again });
        assert_eq!(half(&mut ring, 3, TREE), room(0, None, None));
        assert_eq!(half(&mut ring, 3, TREE), room(1, Some(0), None));
        assert_eq!(half(&mut ring, 3, TREE), room(0, Some(1), Some(0)));
        assert_eq!(half(&mut ring, 3, TREE), room(1, Some(0), Some(1)));
        // Nobody knows what the children of another tree have taken, and nobody will.
        assert_eq!(half(&mut ring, 3, other), None);
        assert_eq!(half(&mut ring, 3, TREE), None);
        // After a run everything is free once, whatever the tree.
        assert_eq!(half(&mut ring, 4, other), room(0, None, None));
        assert_eq!(half(&mut ring, 4, TREE), room(1, None, None));
        assert_eq!(half(&mut ring, 4, TREE), None);
    }

    #[test]
    fn a_team_that_finds_none_asks_ever_more_rarely() {
        let lent = Lent::default();
        let asked: Vec<usize> = (0..20).filter(|_| lent.asks()).collect();
        assert_eq!(asked, [0, 1, 2, 4, 8, 16]);
    }
}
