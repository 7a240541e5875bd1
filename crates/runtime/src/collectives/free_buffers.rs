//! Buffers and rings of this PE that no team has leased, and which ones a team has. `between_nodes::buffer_leases` agrees on them.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;

use crate::memory::control::broadcast_ring::RINGS;
use crate::memory::control::leaders::BUFFER_SETS;

pub(crate) mod ring;

use ring::{PendingAcknowledgements, RingBlocks};

/// Memory of one kind that teams lease.
pub(crate) struct Pool {
    count: u32,
    /// A bit for each piece that no team has. While the members of a team agree, only this team may choose: meanwhile threads of other
    /// teams find none, so that none is promised twice.
    free: Mutex<u64>,
}

impl Pool {
    const fn of(count: u32) -> Pool {
        assert!(count < u64::BITS);
        Pool { count, free: Mutex::new(0) }
    }
}

/// The sets of buffers, and the rings, of this PE.
pub(crate) static BUFFERS: Pool = Pool::of(BUFFER_SETS);
static BROADCASTS: Pool = Pool::of(RINGS);

/// Begins a life in which all are free.
pub(crate) fn begin() {
    for pool in [&BUFFERS, &BROADCASTS] {
        *pool.free.lock() = (1 << pool.count) - 1;
    }
}

/// The number that a team has leased of a pool.
pub(crate) struct Leased {
    pool: &'static Pool,
    /// Its number and one; zero: none.
    number: AtomicU32,
    /// How often the team has asked for one and got none.
    missed: AtomicU32,
}

impl Leased {
    /// None of this pool yet.
    pub(crate) fn of(pool: &'static Pool) -> Leased {
        Leased { pool, number: AtomicU32::new(0), missed: AtomicU32::new(0) }
    }

    /// The number, if the team has one.
    pub(crate) fn number(&self) -> Option<u32> {
        self.number.load(Relaxed).checked_sub(1)
    }

    /// The team wants one. Returns whether it is to ask for one now: the first time, and whenever it has wanted one twice
    /// as often as when it last asked.
    pub(crate) fn note_wanted(&self) -> bool {
        let missed = self.missed.fetch_add(1, Relaxed);
        missed == 0 || missed.is_power_of_two()
    }

    /// All that are free. No other team is offered one until this team has chosen.
    pub(crate) fn offer(&self) -> u64 {
        std::mem::take(&mut *self.pool.free.lock())
    }

    /// The team chooses the first of those that all members have `agreed` on, if there is one, and gives back what else
    /// this PE has `offered`.
    pub(crate) fn settle(&self, offered: u64, agreed: u64) -> Option<u32> {
        let number = (agreed != 0).then(|| agreed.trailing_zeros());
        *self.pool.free.lock() |= offered & !number.map_or(0, |number| 1 << number);
        self.number.store(number.map_or(0, |number| number + 1), Relaxed);
        number
    }

    /// The team has ended: only acknowledgements are on their way to its memory, and no member looks at that any more.
    pub(crate) fn give_back(&self) {
        if let Some(number) = self.number() {
            self.number.store(0, Relaxed);
            *self.pool.free.lock() |= 1 << number;
        }
    }
}

/// The ring that a team has leased for its broadcasts.
pub(crate) struct LeasedRing {
    pub(crate) lease: Leased,
    /// Where the team's broadcasts go, and what this leader has to acknowledge of them. One thread at a time is in a collective of
    /// a team, so no thread waits for these locks.
    pub(crate) blocks: Mutex<RingBlocks>,
    pub(crate) pending: Mutex<PendingAcknowledgements>,
    /// Whether barriers of all PEs free the blocks of the ring, as the team's own synchronising runs do: on all members or on none.
    /// Before the lease, whether the caller agrees to that.
    pub(crate) follows_barriers: AtomicBool,
    /// The stamp of the last broadcast, as the caller has made it; zero: none.
    pub(crate) last: AtomicU64,
}

impl Default for LeasedRing {
    fn default() -> LeasedRing {
        LeasedRing {
            lease: Leased::of(&BROADCASTS),
            blocks: Mutex::default(),
            pending: Mutex::default(),
            follows_barriers: AtomicBool::new(false),
            last: AtomicU64::new(0),
        }
    }
}

impl LeasedRing {
    /// [`Leased::give_back`]: the next team begins with an empty ring.
    pub(crate) fn give_back(&self) {
        *self.blocks.lock() = RingBlocks::default();
        self.lease.give_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test, because a process has one pool of each kind.
    #[test]
    fn buffers_and_rings_are_leased_once_and_come_back() {
        begin();
        [&BUFFERS, &BROADCASTS].into_iter().for_each(all_are_leased_once_and_come_back);
    }

    fn all_are_leased_once_and_come_back(pool: &'static Pool) {
        let teams: Vec<Leased> = (0..pool.count).map(|_| Leased::of(pool)).collect();
        for (team, expected) in teams.iter().zip(0..) {
            assert!(team.note_wanted());
            let offered = team.offer();
            // While it chooses no other team finds any.
            assert_eq!(Leased::of(pool).offer(), 0);
            assert_eq!((team.settle(offered, offered), team.number()), (Some(expected), Some(expected)));
        }
        let late = Leased::of(pool);
        assert_eq!((late.offer(), late.settle(0, 0), late.number()), (0, None, None));
        teams[5].give_back();
        teams[5].give_back();
        let offered = late.offer();
        // Another member has none of them free.
        assert_eq!((offered, late.settle(offered, 0)), (1 << 5, None));
        let offered = late.offer();
        assert_eq!((late.settle(offered, offered), late.number()), (Some(5), Some(5)));
    }

    #[test]
    fn a_team_that_finds_none_asks_ever_more_rarely() {
        let lease = Leased::of(&BUFFERS);
        let asked: Vec<usize> = (0..20).filter(|_| lease.note_wanted()).collect();
        assert_eq!(asked, [0, 1, 2, 4, 8, 16]);
    }
}
