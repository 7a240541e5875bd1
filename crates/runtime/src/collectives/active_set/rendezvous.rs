//! Where PEs of several nodes meet of whom no call has made a team: at a slot that they lease from a table at world PE 0.
//!
//! The first of them puts their name into a free entry, and the others look for it there. The entry's number says which slot
//! they have, and its turn from which number they count, so that nothing that earlier meetings have left there looks like
//! theirs. All count as they leave, and the last one writes the next turn and takes the name away. So there may be any number of
//! meetings, [`REGISTRY`] at a time.
//!
//! **Why meetings that wait for entries do not wait in a circle.** A first member takes its entry before the others have come, and
//! these may have to end another meeting before, which has no entry yet. So such first members have a part of the entries,
//! [`COMMON`]. Where none of these is free, the first member puts the name into a table of its own (`arrivals`), and the others count
//! in there. Once all have, it may take one of the other entries, whose meetings need nobody who is elsewhere: they end. Such a table
//! has the meetings at which its owner is, as many as its threads, and none for which it is not there yet.
//!
//! **Why a member finds the right meeting.** A name is that of one meeting of one pair. All who belong to the pair have been
//! at all its meetings, so they count them alike. Nobody but the first member makes the entry, so there is one. It stays until
//! all have left, so a member that comes late finds it, with the turn that it began with.

use core::ops::Range;
use core::sync::atomic::{AtomicU64 as Word, Ordering::AcqRel, Ordering::Acquire};
use std::collections::HashMap;

use oxshmem_transport::{Amo, Region, Remote, Width};
use parking_lot::Mutex;

use super::key::Key;
use crate::collectives::between_nodes;
use crate::collectives::call::Call;
use crate::collectives::node_exchange;
use crate::collectives::signature::CallKind;
use crate::memory::control::{self, ControlBlock, REGISTRY, Registry, SPANNING};
use crate::network;
use crate::network::lane;
use crate::start::job;
use crate::teams::members::Members;
use crate::teams::team::TeamState;
use crate::wait::{self, Needs, Reason};

/// How often each pair has met.
static TIMES: Mutex<Option<HashMap<Key, u64>>> = Mutex::new(None);

/// The entries that a first member may take before the others have come.
const COMMON: usize = REGISTRY / 2;

/// Bits of a turn that count the members that have left. The other 40 say in steps from which number the meeting counts.
const LEFT_BITS: u32 = 24;
const LEFT: u64 = (1 << LEFT_BITS) - 1;
const _: () = assert!((between_nodes::MOST_PES as u64) < LEFT);

/// Numbers of a step: stamps and marks hold 48 bits of a number.
const STEP: u64 = 1 << 8;

/// The number from which a meeting counts.
fn base_of(turn: u64) -> u64 {
    (turn >> LEFT_BITS) * STEP
}

/// The turn behind a meeting that has not passed this number.
fn turn_after(passed: u64) -> u64 {
    (passed / STEP + 1) << LEFT_BITS
}

/// Begins a life in which nobody has met.
pub(super) fn begin() {
    *TIMES.lock() = None;
}

/// How often the pair has met before this time.
fn count(key: &Key) -> u64 {
    let mut times = TIMES.lock();
    let time = times.get_or_insert_default().entry(*key).or_default();
    *time += 1;
    *time - 1
}

/// A meeting, as one who is there knows it.
pub(super) struct Rendezvous {
    call: &'static str,
    /// The entry.
    index: usize,
    /// The first member's entry in its own table, if the others have been asked to count in there.
    counted: Option<usize>,
    pub(super) team: TeamState,
}

impl Rendezvous {
    /// Comes to the pair's next meeting.
    pub(super) fn enter(call: &'static str, key: &Key, members: Members, my: u32) -> Box<Self> {
        let (name, first) = (key.name(count(key)), members.world(0));
        let (index, counted) = match my {
            0 => make(call, name, MeetingTable::arrivals(first), u64::from(key.size) - 1),
            _ => (find(call, name, first), None),
        };
        let turn = MeetingTable::SLOTS.update(call, |registry| &registry.turns[index], Amo::Fetch);
        let slot = (SPANNING - REGISTRY + index) as u32;
        Box::new(Self { call, index, counted, team: TeamState::new(members, key.size, my, slot, base_of(turn)) })
    }

    /// Goes.
    pub(super) fn leave(self: Box<Self>) {
        let Self { call, index, counted, team } = *self;
        // Afterwards nobody looks at anything here, and nothing is under way to anybody.
        node_exchange::synchronise(Call::of(&team, call, CallKind::Leave));
        between_nodes::give_back(call, &team);
        if let Some(entry) = counted {
            // Members that have counted in did so before all met.
            MeetingTable::arrivals(team.world(0)).clear(call, entry);
        }
        let turn = MeetingTable::SLOTS.update(call, |registry| &registry.turns[index], Amo::Add(1)) + 1;
        if turn & LEFT == u64::from(team.size) {
            MeetingTable::SLOTS.update(call, |registry| &registry.turns[index], Amo::Swap(turn_after(team.passed())));
            MeetingTable::SLOTS.update(call, |registry| &registry.names[index], Amo::Swap(0));
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
    fn is_due(&mut self, is_far: bool) -> bool {
        if is_far && self.left_out < self.next {
            self.left_out += 1;
            return false;
        }
        (self.left_out, self.next) = (0, (2 * self.next).clamp(1, RAREST));
        true
    }
}

/// The first member's part: puts the name where there is none. Returns the entry, and that of its own table if the others have been
/// asked to count in.
fn make(call: &'static str, name: u64, own: MeetingTable, others: u64) -> (usize, Option<usize>) {
    let (mut looks, mut counted) = (RareLooks::default(), None);
    let index = wait::until(reason(call, Needs::Anyone), None, || {
        if !looks.is_due(MeetingTable::SLOTS.near().is_none()) {
            return None;
        }
        let names = MeetingTable::SLOTS.names(call);
        if let Some(free) = free_entry(&names, name, 0..COMMON) {
            return MeetingTable::SLOTS.put(call, name, free);
        }
        counted = counted.or_else(|| own.put(call, name, free_entry(&own.names(call), name, 0..REGISTRY)?));
        let entry: usize = counted?;
        let have_come = own.update(call, |registry| &registry.turns[entry], Amo::Fetch) == others;
        let free = free_entry(&names, name, COMMON..REGISTRY).filter(|_| have_come)?;
        MeetingTable::SLOTS.put(call, name, free)
    });
    (index, counted)
}

/// The others' part: waits until the first member, PE `first`, has done that.
fn find(call: &'static str, name: u64, first: u32) -> usize {
    let (mut looks, mut has_counted) = (RareLooks::default(), false);
    wait::until(reason(call, Needs::One(first)), None, || {
        if !looks.is_due(MeetingTable::SLOTS.near().is_none()) {
            return None;
        }
        let names = MeetingTable::SLOTS.names(call);
        let found = names.iter().position(|there| *there == name);
        if found.is_none() && !has_counted && free_entry(&names, name, 0..COMMON).is_none() {
            has_counted = count_in(call, name, MeetingTable::arrivals(first));
        }
        found
    })
}

/// Counts in with the first member, if that has asked for it.
fn count_in(call: &'static str, name: u64, arrivals: MeetingTable) -> bool {
    let Some(entry) = arrivals.names(call).iter().position(|there| *there == name) else { return false };
    arrivals.update(call, |registry| &registry.turns[entry], Amo::Add(1));
    true
}

/// A free entry of this part for a name.
fn free_entry(names: &[u64; REGISTRY], name: u64, part: Range<usize>) -> Option<usize> {
    let mut places = (0..part.len()).map(|step| part.start + (name as usize).wrapping_add(step) % part.len());
    places.find(|&index| names[index] == 0)
}

fn reason<'n>(call: &'static str, needs: Needs<'n>) -> Reason<'n> {
    Reason { call, address: core::ptr::from_ref(&ControlBlock::own().registry) as usize, needs }
}

/// A table in the control window of a PE.
#[derive(Clone, Copy)]
struct MeetingTable {
    pe: u32,
    of: fn(&ControlBlock) -> &Registry,
}

fn slots_of(block: &ControlBlock) -> &Registry {
    &block.registry
}

fn arrivals_of(block: &ControlBlock) -> &Registry {
    &block.arrivals
}

impl MeetingTable {
    /// The owners and turns of the slots.
    const SLOTS: Self = Self { pe: 0, of: slots_of };

    /// How many members have counted in at meetings for which that PE, their first member, has no slot yet.
    fn arrivals(pe: u32) -> Self {
        Self { pe, of: arrivals_of }
    }

    /// The table, if processors of this node update it.
    fn near(self) -> Option<&'static Registry> {
        let window = job::window_of(self.pe).filter(|_| !network::does_atomics())?;
        Some((self.of)(ControlBlock::of(window)))
    }

    /// The present names.
    fn names(self, call: &'static str) -> [u64; REGISTRY] {
        if let Some(registry) = self.near() {
            return registry.names.each_ref().map(|name| name.load(Acquire));
        }
        let mut names = [0; REGISTRY];
        let own = (self.of)(ControlBlock::own());
        let from = Remote { pe: self.pe, region: Region::Control, offset: control::offset(&raw const own.names) };
        // SAFETY: the table is inside the control region; the copy of it stays valid until the operation is complete.
        lane::issue(call, |lane| unsafe { lane.get_nbi(names.as_mut_ptr().cast(), from, size_of_val(&names)) });
        lane::complete(call);
        names
    }

    /// Updates a word of the table; returns what was there.
    fn update(self, call: &'static str, word: impl Fn(&Registry) -> &Word, amo: Amo) -> u64 {
        if let Some(registry) = self.near() {
            let update = word(registry).fetch_update(AcqRel, Acquire, |old| Some(amo.apply(old)));
            return update.unwrap_or_else(|old| old);
        }
        let offset = control::offset(word((self.of)(ControlBlock::own())));
        let to = Remote { pe: self.pe, region: Region::Control, offset };
        let mut old = 0_u64;
        let place = (&raw mut old).cast();
        // SAFETY: the word is inside the control region and aligned; `old` stays valid until the operation is complete.
        lane::issue(call, |lane| unsafe { lane.amo(to, Width::Eight, amo, place) });
        lane::complete(call);
        old
    }

    /// Puts a name into an entry that was free. Returns the entry, unless it has another name now.
    fn put(self, call: &'static str, name: u64, free: usize) -> Option<usize> {
        let there = self.update(call, |registry| &registry.names[free], Amo::CompareSwap { cond: 0, value: name });
        (there == 0 || there == name).then_some(free)
    }

    /// Takes the name of an entry away, and the number beside it first: who puts another name there counts from 0.
    fn clear(self, call: &'static str, entry: usize) {
        self.update(call, |registry| &registry.turns[entry], Amo::Swap(0));
        self.update(call, |registry| &registry.names[entry], Amo::Swap(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collectives::signature::{Signature, number_of};

    /// Words of a slot hold 48 bits of a number. Here more meetings follow each other at one entry than 16 bits count.
    #[test]
    fn numbers_of_many_meetings_grow_and_fit_their_words() {
        let (mut turn, mut passed) = (0, None);
        for _ in 0..1 << 17 {
            let base = base_of(turn);
            assert!(passed.is_none_or(|passed| base >= passed), "{base} after {passed:?}");
            let last = base + 40;
            assert_eq!(number_of(Signature::of(CallKind::Leave).stamp(last)), last);
            (turn, passed) = (turn_after(last), Some(last));
        }
        assert_eq!((turn & LEFT, base_of(turn_after(STEP - 1)), base_of(turn_after(STEP))), (0, STEP, 2 * STEP));
    }

    #[test]
    fn first_members_leave_entries_to_meetings_whose_members_have_come() {
        let mut names = [0; REGISTRY];
        for name in [1, COMMON as u64 - 1, COMMON as u64, 0x1234_5679, u64::MAX] {
            assert!(free_entry(&names, name, 0..COMMON).is_some_and(|index| index < COMMON));
            assert!(free_entry(&names, name, COMMON..REGISTRY).is_some_and(|index| index >= COMMON));
        }
        names[..COMMON].fill(7);
        assert_eq!(free_entry(&names, 9, 0..COMMON), None);
        names[COMMON..REGISTRY - 1].fill(7);
        assert_eq!(free_entry(&names, 9, COMMON..REGISTRY), Some(REGISTRY - 1));
        assert_eq!(free_entry(&names, 9, 0..REGISTRY), Some(REGISTRY - 1));
    }

    #[test]
    fn a_wait_asks_a_far_table_ever_more_seldom_and_looks_at_a_near_one_always() {
        let due = |is_far: bool| {
            let mut looks = RareLooks::default();
            (0..1_000).filter(|_| looks.is_due(is_far)).collect::<Vec<_>>()
        };
        let far = due(true);
        assert_eq!(far[..5], [0, 2, 5, 10, 19]);
        assert!(far.windows(2).all(|pair| pair[1] - pair[0] <= RAREST as usize + 1), "{far:?}");
        assert!(far.len() < 70, "{}", far.len());
        assert_eq!(due(false).len(), 1_000);
    }
}
