//! Zones of this PE that no team has, and which one a team has been lent. `between_nodes::lending` agrees on them.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use parking_lot::{Mutex, MutexGuard};

use crate::memory::control::mail::ZONES;

pub(crate) mod rooms;

use rooms::{CastRoom, CastTree, OwedAcknowledgements, Ring};

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
    /// Where the team's broadcasts go, and what this leader has to acknowledge of them. One thread at a time is in a collective of
    /// a team, so nobody waits for these locks.
    ring: Mutex<Ring>,
    owed: Mutex<OwedAcknowledgements>,
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

    /// [`OwedAcknowledgements::owe`] of the team.
    pub(crate) fn owe(&self, half: usize, parent: u32, run: u32) {
        self.owed.lock().owe(half, parent, run);
    }

    /// [`OwedAcknowledgements::due`] of the team.
    pub(crate) fn due(&self, run: u32, have_children: impl Fn(usize) -> bool) -> [Option<u32>; 2] {
        self.owed.lock().due(run, have_children)
    }

    /// The team has ended: nothing but acknowledgements is on its way to its zone, and nobody looks at it any more.
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

    #[test]
    fn a_team_that_finds_none_asks_ever_more_rarely() {
        let lent = Lent::default();
        let asked: Vec<usize> = (0..20).filter(|_| lent.asks()).collect();
        assert_eq!(asked, [0, 1, 2, 4, 8, 16]);
    }
}
