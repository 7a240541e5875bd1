//! The numbers of a team's calls. All members count alike, and compare the numbers when they meet.

use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

use oxshmem_schedule::step::{Traffic, Turn};

use super::TeamState;
use crate::collectives::signature::Signature;

/// The number of the last call of each kind. A count is no read-modify-write, because only one thread at a time is in a collective of a
/// team.
pub(super) struct TeamCounters {
    /// That of the last exchange. A call through levels takes several numbers.
    exchanges: AtomicU64,
    /// That of the last announcement. A broadcast through levels takes several numbers.
    announcements: AtomicU64,
    /// A digest of the broadcasts whose root went on at once.
    posted: AtomicU32,
    /// That of the last announcement that all members are known to have taken, or the number from which the team goes on.
    taken: AtomicU64,
    /// That of the last call that ran a schedule.
    scheduled_calls: AtomicU64,
    /// How many of the calls that ran a schedule synchronised the members: [`Turn::generation`].
    synchronising_runs: AtomicU32,
    /// How many leases the team has given to splits.
    splits: AtomicU64,
    /// Bytes that the next collect between nodes has room for from each member; zero: it asks for the sizes first.
    collect_room: AtomicUsize,
}

impl TeamCounters {
    /// Those of a team whose numbers go on from `base`.
    pub(super) fn new(base: u64) -> Self {
        Self {
            exchanges: AtomicU64::new(base),
            announcements: AtomicU64::new(base),
            posted: AtomicU32::new(0),
            taken: AtomicU64::new(base),
            scheduled_calls: AtomicU64::new(base),
            synchronising_runs: AtomicU32::new(0),
            splits: AtomicU64::new(0),
            collect_room: AtomicUsize::new(0),
        }
    }
}

impl TeamState {
    /// The number of the exchange that begins now.
    #[inline(always)]
    pub(crate) fn next_exchange(&self) -> u64 {
        next(&self.counters.exchanges)
    }

    /// The number of the announcement that begins now.
    #[inline(always)]
    pub(crate) fn next_announcement(&self) -> u64 {
        next(&self.counters.announcements)
    }

    /// Bytes that the next collect between nodes has room for from each member, the same on all of them; zero: it asks for the sizes first.
    pub(crate) fn collect_room(&self) -> usize {
        self.counters.collect_room.load(Relaxed)
    }

    /// All members have made a collect of the same blocks.
    pub(crate) fn note_collect_room(&self, bytes: usize) {
        self.counters.collect_room.store(bytes, Relaxed);
    }

    /// The number of the last announcement that all members are known to have taken. Before the first one it is the number from which
    /// the team goes on.
    #[inline(always)]
    pub(crate) fn known_taken(&self) -> u64 {
        self.counters.taken.load(Relaxed)
    }

    /// A digest of the broadcasts so far whose roots went on at once, on a node or by a ring between nodes: members that have made the same
    /// ones have the same digest.
    #[inline(always)]
    pub(crate) fn posted(&self) -> u32 {
        self.counters.posted.load(Relaxed)
    }

    /// The caller has made a broadcast with this signature, whose root went on at once.
    #[inline(always)]
    pub(crate) fn note_posted(&self, signature: Signature) {
        let next = (self.posted() ^ u32::from(signature.bits())).wrapping_mul(0x9e37_79b1);
        self.counters.posted.store(next, Relaxed);
    }

    /// All members have taken the announcements up to this number.
    pub(crate) fn all_have_taken(&self, number: u64) {
        self.counters.taken.store(number, Relaxed);
    }

    /// The number before those of a synchronisation that takes `stages`. An odd number of them passes, so that the parity
    /// changes from each synchronisation to the next.
    pub(crate) fn pass_exchanges(&self, stages: u64) -> u64 {
        pass(&self.counters.exchanges, stages | 1)
    }

    /// The number before those of a one-way call of so many stages.
    pub(crate) fn pass_announcements(&self, stages: u64) -> u64 {
        pass(&self.counters.announcements, stages)
    }

    /// The turn of the scheduled call that begins now.
    pub(crate) fn next_turn(&self, traffic: Traffic) -> Turn {
        let last = Turn { call: self.scheduled_calls(), generation: self.synchronising_runs() };
        let turn = last.next(traffic);
        self.counters.scheduled_calls.store(turn.call, Relaxed);
        self.counters.synchronising_runs.store(turn.generation, Relaxed);
        turn
    }

    /// The number of the lease that the team gives to a split now.
    pub(super) fn next_split(&self) -> u64 {
        next(&self.counters.splits)
    }

    /// The number of the last exchange.
    #[inline(always)]
    pub(crate) fn exchanges(&self) -> u64 {
        self.counters.exchanges.load(Relaxed)
    }

    /// The number of the last announcement.
    #[inline(always)]
    pub(crate) fn announcements(&self) -> u64 {
        self.counters.announcements.load(Relaxed)
    }

    /// The number of the last call that ran a schedule.
    #[inline(always)]
    pub(crate) fn scheduled_calls(&self) -> u64 {
        self.counters.scheduled_calls.load(Relaxed)
    }

    /// How many of the calls that ran a schedule synchronised the members.
    pub(crate) fn synchronising_runs(&self) -> u32 {
        self.counters.synchronising_runs.load(Relaxed)
    }

    /// How many leases it has given to splits: the same number on all members that have made the same splits.
    pub(crate) fn leases_given(&self) -> u64 {
        self.counters.splits.load(Relaxed)
    }

    /// The number of the team's last meeting, of whatever kind, the same on all members that are in it: the sum of the numbers of all kinds.
    /// Reports and records name a meeting by it.
    #[inline(always)]
    pub(crate) fn meetings(&self) -> u64 {
        // Between nodes members count the same call at different times, before and behind the leader's part of it.
        let scheduled_calls = if self.span.is_none() { self.scheduled_calls() } else { 0 };
        self.exchanges().wrapping_add(self.announcements()).wrapping_add(scheduled_calls)
    }

    /// How far the team is, as its members state it to compare their calls: its exchanges, and all other calls that have sent something.
    pub(crate) fn history(&self) -> (u64, u64) {
        (self.exchanges(), self.announcements() + self.scheduled_calls())
    }

    /// The greatest number of all kinds, which no line and no word of this team has passed. The next team with its slot goes on from there.
    pub(crate) fn greatest_number(&self) -> u64 {
        self.exchanges().max(self.announcements()).max(self.scheduled_calls())
    }

    /// The same team after these numbers.
    #[cfg(test)]
    pub(crate) fn after(self, exchanges: u64, announcements: u64) -> Self {
        self.counters.exchanges.store(exchanges, Relaxed);
        self.counters.announcements.store(announcements, Relaxed);
        self
    }
}

/// Counts on.
#[inline(always)]
fn next(counter: &AtomicU64) -> u64 {
    pass(counter, 1) + 1
}

/// Counts on by more than one; returns the number before.
#[inline(always)]
fn pass(counter: &AtomicU64, by: u64) -> u64 {
    let before = counter.load(Relaxed);
    counter.store(before + by, Relaxed);
    before
}
