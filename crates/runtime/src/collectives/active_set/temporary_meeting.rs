//! Where PEs of several nodes meet if no call has made a team of them: at a slot that they lease from a table at world PE 0.
//!
//! The first of them puts their name into a free entry, and the others look for it there. The entry's number says which slot
//! they have, and its turn from which number they count, so that nothing that earlier meetings have left there looks like
//! theirs. All count as they leave, and the last one writes the next turn and takes the name away. So there may be any number of
//! meetings, [`REGISTRY`] at a time.
//!
//! **Why meetings that wait for entries do not wait in a circle.** A first member takes its entry before the others have come, and
//! these may have to end another meeting before, which has no entry yet. So such first members have half of the entries. Where none
//! of these is free, the first member puts the name into a table of its own (`arrivals`), and the others count in there. Once all have,
//! it may take one of the other entries, the spare ones, whose meetings need no member that is elsewhere: they end. Such a table has the
//! meetings at which its owner is, as many as its threads, and none for which it is not there yet.
//!
//! **Why a member finds the right meeting.** A name is that of one meeting of one pair. All members of the pair have been at all its
//! meetings, so they count them alike. Only the first member makes the entry, so there is one. It stays until all have left, so a member
//! that comes late finds it, with the turn that it began with.
//!
//! **When an entry is free again.** A member leaves behind an exchange of all. So all have found the entry and read its turn by then, and
//! no member counts in at the first member any more. The last member that counts itself out knows that all have left the slot. It writes
//! the next turn before it takes the name away: the next first member, which needs an entry without a name, reads that turn.
//!
//! **Why a look in vain of another member proves that the first one has not come** (`Needs::FirstMember`). Such a look gets names, and
//! changes nothing but the count of those that have come, once. The first member alone looks at that count, in a wait without which no
//! deadlock is certain.
//!
//! [`steps`] has the operations of a member in their order. The model beside it takes all their orders among a few members, where entries
//! are as few as they can be.

#[cfg(test)]
mod model;
mod steps;

use core::cell::Cell;
use core::sync::atomic::{AtomicU64 as Word, Ordering::AcqRel, Ordering::Acquire};
use std::collections::HashMap;

use oxshmem_transport::{Amo, Region, Remote, Width};
use parking_lot::Mutex;

use super::key::Key;
use crate::collectives::call::Call;
use crate::collectives::signature::CallKind;
use crate::collectives::{between_nodes, node_exchange};
use crate::memory::control::{self, ControlBlock, REGISTRY, Registry, SPANNING};
use crate::network::{self, lane};
use crate::start::job;
use crate::teams::members::Members;
use crate::teams::team::TeamState;
use crate::wait::{self, Needs, Reason};

use steps::{ArrivingMember, EntryWord, LEFT, LeavingMember, MeetingTables, WhichTable, base_of};

const _: () = assert!((between_nodes::MOST_PES as u64) < LEFT);

/// How often each pair has met.
static TIMES: Mutex<Option<HashMap<Key, u64>>> = Mutex::new(None);

/// Begins a life in which no pair has met.
pub(super) fn begin() {
    *TIMES.lock() = None;
}

/// Counts a meeting of the pair, and returns how often it has met before.
fn next_time(key: &Key) -> u64 {
    let mut times = TIMES.lock();
    let time = times.get_or_insert_default().entry(*key).or_default();
    *time += 1;
    *time - 1
}

/// A meeting, as a member at it knows it.
pub(super) struct TemporaryMeeting {
    call: &'static str,
    /// The entry.
    index: usize,
    /// The first member's entry in its own table, if the others have been asked to count in there.
    own_entry: Option<usize>,
    pub(super) team: TeamState,
}

impl TemporaryMeeting {
    /// Comes to the pair's next meeting.
    pub(super) fn enter(call: &'static str, key: &Key, members: Members, my: u32) -> Box<Self> {
        let (name, first) = (key.name(next_time(key)), members.world(0));
        let whole = Cell::new(false);
        let (mut member, needs) = match my {
            0 => (ArrivingMember::first(name, u64::from(key.size) - 1), Needs::Anyone),
            _ => (ArrivingMember::other(name), Needs::FirstMember(first, &whole)),
        };
        let (mut tables, mut looks) = (RemoteTables { call, first }, RareLooks::default());
        let (index, turn) = wait::until(reason(call, needs), None, || {
            let is_far = tables.near(WhichTable::Slots).is_none() && !whole.take();
            if !looks.take_look(is_far) {
                return None;
            }
            member.look(&mut tables)
        });
        let slot = (SPANNING - REGISTRY + index) as u32;
        let team = TeamState::new(members, key.size, my, slot, base_of(turn));
        Box::new(Self { call, index, own_entry: member.own_entry(), team })
    }

    pub(super) fn leave(self: Box<Self>) {
        let Self { call, index, own_entry, team } = *self;
        // Afterwards no member looks at anything here, and no message is under way to a member.
        node_exchange::synchronise(Call::of(&team, call, CallKind::Leave));
        between_nodes::give_back(call, &team);
        let mut tables = RemoteTables { call, first: team.world(0) };
        let mut member = LeavingMember::new(index, own_entry, team.size.into(), team.greatest_number());
        while !member.is_gone() {
            member.step(&mut tables);
        }
    }
}

/// Which looks of a wait fetch PE 0's table. Over a network each fetches a kibibyte, and all members wait for the first one, so the
/// wait leaves out more and more looks between two that fetch.
#[derive(Default)]
struct RareLooks {
    left_out: u32,
    next: u32,
}

/// The most looks that are left out in a row.
const RAREST: u32 = 16;

impl RareLooks {
    /// Whether to look. `is_far`: a look goes over a network.
    fn take_look(&mut self, is_far: bool) -> bool {
        if is_far && self.left_out < self.next {
            self.left_out += 1;
            return false;
        }
        (self.left_out, self.next) = (0, (2 * self.next).clamp(1, RAREST));
        true
    }
}

fn reason<'n>(call: &'static str, needs: Needs<'n>) -> Reason<'n> {
    Reason { call, address: core::ptr::from_ref(&ControlBlock::own().registries) as usize, needs }
}

/// The tables of one meeting.
struct RemoteTables {
    call: &'static str,
    first: u32,
}

impl RemoteTables {
    /// The PE in whose control window a table is.
    fn pe(&self, table: WhichTable) -> u32 {
        match table {
            WhichTable::Slots => 0,
            WhichTable::Arrivals => self.first,
        }
    }

    /// The table, if processors of this node update it.
    fn near(&self, table: WhichTable) -> Option<&'static Registry> {
        let window = job::window_of(self.pe(table)).filter(|_| !network::does_atomics())?;
        Some(&ControlBlock::of(window).registries[table as usize])
    }

    /// Where a table has what the caller's own one has at `own`.
    fn remote<T>(&self, table: WhichTable, own: &T) -> Remote {
        Remote { pe: self.pe(table), region: Region::Control, offset: control::offset(own) }
    }
}

impl MeetingTables for RemoteTables {
    type Names = [u64; REGISTRY];

    fn names(&mut self, table: WhichTable) -> [u64; REGISTRY] {
        if let Some(registry) = self.near(table) {
            return registry.names.each_ref().map(|name| name.load(Acquire));
        }
        let mut names = [0; REGISTRY];
        let from = self.remote(table, &ControlBlock::own().registries[table as usize].names);
        // SAFETY: the table is inside the control region; the copy of it stays valid until the operation is complete.
        lane::issue(self.call, |lane| unsafe { lane.get_nbi(names.as_mut_ptr().cast(), from, size_of_val(&names)) });
        lane::complete(self.call);
        names
    }

    fn update(&mut self, table: WhichTable, word: EntryWord, amo: Amo) -> u64 {
        if let Some(registry) = self.near(table) {
            let apply = |old| Some(amo.apply(old, size_of::<u64>()));
            let update = word_of(registry, word).fetch_update(AcqRel, Acquire, apply);
            return update.unwrap_or_else(|old| old);
        }
        let to = self.remote(table, word_of(&ControlBlock::own().registries[table as usize], word));
        let mut old = 0_u64;
        let place = (&raw mut old).cast();
        // SAFETY: the word is inside the control region and aligned; `old` stays valid until the operation is complete.
        lane::issue(self.call, |lane| unsafe { lane.amo(to, Width::Eight, amo, place) });
        lane::complete(self.call);
        old
    }
}

fn word_of(registry: &Registry, word: EntryWord) -> &Word {
    match word {
        EntryWord::Name(entry) => &registry.names[entry],
        EntryWord::Turn(entry) => &registry.turns[entry],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_asks_a_far_table_ever_more_seldom_and_looks_at_a_near_one_always() {
        let due = |is_far: bool| {
            let mut looks = RareLooks::default();
            (0..1_000).filter(|_| looks.take_look(is_far)).collect::<Vec<_>>()
        };
        let far = due(true);
        assert_eq!(far[..5], [0, 2, 5, 10, 19]);
        assert!(far.windows(2).all(|pair| pair[1] - pair[0] <= RAREST as usize + 1), "{far:?}");
        assert!(far.len() < 70, "{}", far.len());
        assert_eq!(due(false).len(), 1_000);
    }
}
