//! How a new team gets its slot: the leases of `oxshmem_schedule::lease`, with the team's exchanges as its messages.
//!
//! With the slot go the numbers from which the new team counts its exchanges and its scheduled calls. Every PE knows
//! numbers that no line and no word of its slots has passed; the greatest of the members' numbers are agreed on together
//! with the leases.

use oxshmem_base::planted;
use oxshmem_schedule::lease::{Leases, Search, Settled, Slots, WORDS};
use parking_lot::{Mutex, MutexGuard};

use crate::collectives::call::Call;
use crate::collectives::signature::CallKind;
use crate::collectives::{between_nodes, free_buffers, node_exchange};
use crate::memory::control::{PAYLOAD_WORDS, REGISTRY, SLOTS, SPANNING};
use crate::start::state;
use crate::teams::team::{SplitPart, TeamLeases, TeamState, mix};

/// Pieces that hold the bits of all slots.
const PIECES: usize = SLOTS.div_ceil(64 * WORDS);

/// Pieces from which active sets have their slots: all that teams over several nodes may have but the last one. Sets keep their
/// slots until their work array is freed, and a program may use a new one for each call. So the last piece is there for the splits of such a program.
const SET_PIECES: usize = (SPANNING - REGISTRY) / (64 * WORDS) - 1;

/// A search in all pieces that have slots, where a PE has so many of them. In a piece without slots all members would offer nothing.
const fn search_all(seed: u64, slots: usize) -> Search {
    Slots::<PIECES>::search_in(seed, slots.div_ceil(64 * WORDS))
}

/// The most kept parts in which a PE is: each has a slot, and up to eight for its next teams.
const MOST_PARTS: u64 = 32;

/// Slots that the world's first splits take without a message.
const WORLD_SHARE: u16 = 32;

/// Teams that the library makes for itself, beside the world.
const PREDEFINED: u64 = 2;

/// The slots that this PE has not given to a team, and what it knows of the others.
struct FreeSlots {
    slots: Slots<PIECES>,
    /// No line of this PE has passed this number.
    passed: u64,
    /// Teams in which this PE is, or is about to be.
    teams: u64,
    /// Kept parts in which this PE is.
    parts: u64,
}

static FREE_SLOTS: Mutex<Option<FreeSlots>> = Mutex::new(None);

/// A slot for a team, and what it hands down to the team's children.
pub(crate) struct Lease {
    pub(crate) slot: u16,
    /// Whether the caller is a member of the team, which counts then.
    joins: bool,
    pub(crate) base: u64,
    /// The hash of the team that it is for: see [`TeamState::next_name_hash`].
    pub(crate) name_hash: u64,
    pub(crate) children: Leases,
}

impl TeamLeases {
    /// The first state of a child of a splitting parent.
    pub(crate) fn inherited(lease: &mut Lease) -> Self {
        Self { leases: std::mem::take(&mut lease.children), base: lease.base }
    }
}

/// Starts with all slots free but the world's; returns the world's leases.
pub(crate) fn begin() -> TeamLeases {
    let (slots, leases) = Slots::new(between_nodes::slots() as u16, WORLD_SHARE);
    *lock() = Some(FreeSlots { slots, passed: 0, teams: 0, parts: 0 });
    free_buffers::begin();
    TeamLeases { leases, base: 0 }
}

fn lock() -> MutexGuard<'static, Option<FreeSlots>> {
    FREE_SLOTS.lock()
}

fn with_free_slots<R>(act: impl FnOnce(&mut FreeSlots) -> R) -> R {
    act(lock().as_mut().expect("teams exist only between begin and the last finalize"))
}

/// Takes a lease of `parent` for a team that the caller `joins` or not; all its members call this, in the same order. Sends something only
/// if there is none left, or if the user limits the number of teams. `None`, on all members alike, if no slot is free on all of them, or the
/// user does not want more teams.
pub(crate) fn lease_collectively(call: &'static str, parent: &TeamState, joins: bool) -> Option<Lease> {
    if agree_whether_full(call, parent, joins) { None } else { lease_beyond_limit(call, parent, joins) }
}

/// The same for teams that the user's limit does not count. The PEs may not have compared their limits yet.
pub(crate) fn lease_beyond_limit(call: &'static str, parent: &TeamState, joins: bool) -> Option<Lease> {
    let mut held = parent.held.lock();
    let slot = match held.leases.pop() {
        Some(slot) => slot,
        None => {
            agree(call, parent, search_all(parent.slot_or_zero(), between_nodes::slots()), &mut held)?;
            held.leases.pop()?
        }
    };
    let children = held.leases.hand_down();
    with_free_slots(|free| free.teams += u64::from(joins));
    let name_hash = parent.next_name_hash(slot, held.base);
    Some(Lease { slot, joins, base: held.base, name_hash, children })
}

/// Whether some member of the team that `joins` a new one has as many teams as `SHMEM_TEAMS_MAX` allows. Where there is such a limit, which
/// all PEs have alike (`collectives::agreement`), the members reduce their counts: all call this, and wait for each other.
pub(crate) fn agree_whether_full(call: &'static str, team: &TeamState, joins: bool) -> bool {
    let most = state::current().and_then(|life| life.settings.teams_max);
    most.is_some_and(|most| {
        let teams = if joins { with_free_slots(|free| free.teams) } else { 0 };
        and_and_max(call, team, [0; WORDS], teams).1 >= most.saturating_add(PREDEFINED)
    })
}

/// Finds a slot for a team whose members alone meet, as `meeting`. The agreement grants this one; teams that are split agree again.
pub(crate) fn meet(call: &'static str, meeting: &TeamState, identity: u64) -> Option<Lease> {
    let lease = meet_in(call, meeting, identity, search_all(identity, between_nodes::slots()))?;
    with_free_slots(|free| free.teams += 1);
    Some(Lease { joins: true, ..lease })
}

/// The same for an active set, which has one of the slots that sets may have and counts as no team.
pub(crate) fn meet_as_set(call: &'static str, meeting: &TeamState, identity: u64) -> Option<Lease> {
    meet_in(call, meeting, identity, Slots::<PIECES>::search_in(identity, SET_PIECES))
}

/// The same for a part of a team that is about to be [kept](super::kept_parts), unless some member has as many as it can.
pub(crate) fn meet_as_part(call: &'static str, meeting: &TeamState, identity: u64) -> Option<Lease> {
    let parts = with_free_slots(|free| free.parts);
    if and_and_max(call, meeting, [0; WORDS], parts).1 >= MOST_PARTS {
        return None;
    }
    let lease = meet_as_set(call, meeting, identity)?;
    with_free_slots(|free| free.parts += 1);
    Some(lease)
}

fn meet_in(call: &'static str, meeting: &TeamState, identity: u64, search: Search) -> Option<Lease> {
    let mut held = TeamLeases::default();
    agree(call, meeting, search, &mut held)?;
    let slot = held.leases.pop()?;
    debug_assert_eq!(held.leases.left(), 0, "the first agreement grants one lease");
    let name_hash = mix(&[identity, slot.into(), held.base]);
    Some(Lease { slot, joins: false, base: held.base, name_hash, children: Leases::default() })
}

/// Gets leases for `held` by agreement of the team.
fn agree(call: &'static str, team: &TeamState, mut search: Search, held: &mut TeamLeases) -> Option<()> {
    loop {
        let (offer, passed) = with_free_slots(|free| (free.slots.offer(&search), free.passed));
        let (agreed, base) = and_and_max(call, team, *offer.words(), passed);
        match with_free_slots(|free| free.slots.settle(&mut search, offer, &agreed, &mut held.leases)) {
            Settled::Granted => {
                held.base = base;
                return Some(());
            }
            Settled::Again => {}
            Settled::Contended => std::thread::yield_now(),
            Settled::Exhausted => return None,
        }
    }
}

/// The and of all members' words, and the greatest of their numbers: a reduction, in which they wait for each other.
fn and_and_max(call: &'static str, team: &TeamState, words: [u64; WORDS], passed: u64) -> ([u64; WORDS], u64) {
    let (mut agreed, mut base) = (words, passed);
    let call = Call::of(team, call, CallKind::Split);
    #[cfg(not(loom))]
    let _recorded = call.record(0);
    #[cfg(not(loom))]
    if let Some(span) = &team.span {
        between_nodes::all_of(call, span, &mut agreed);
        return (agreed, between_nodes::greatest(call, span, base));
    }
    let mut payload = [0; PAYLOAD_WORDS];
    payload[..WORDS].copy_from_slice(&words);
    payload[WORDS] = passed;
    node_exchange::exchange(call, &payload, |_, words| {
        agreed.iter_mut().zip(words).for_each(|(agreed, word)| *agreed &= word);
        base = base.max(words[WORDS]);
    });
    (agreed, base)
}

/// Gives back a lease of a team in which this PE is not, or which is not made.
pub(crate) fn decline(mut lease: Lease) {
    with_free_slots(|free| {
        free.slots.release(lease.slot);
        free.slots.release_all(&mut lease.children);
        free.teams -= u64::from(lease.joins);
    });
}

/// Gives back in `call` what a destroyed team had. The team is quiet: its last exchange had no payload.
pub(crate) fn give_back(call: &'static str, team: &TeamState) {
    if team.slot.is_some() {
        give_back_of_set(call, team);
        with_free_slots(|free| free.teams -= 1);
        give_back_parts(call, team);
    }
}

/// The same for the kept parts of a destroyed team. All members have left the last exchange of each, because they have met since.
fn give_back_parts(call: &'static str, team: &TeamState) {
    let parts = std::mem::take(&mut *team.split_parts.lock());
    for part in parts.into_values() {
        if let SplitPart::Kept(part) = part {
            give_back_of_set(call, &part);
            with_free_slots(|free| free.parts -= 1);
        }
    }
}

/// The same for the team of an active set, which counts as none.
pub(crate) fn give_back_of_set(call: &'static str, team: &TeamState) {
    let Some(slot) = team.slot else { return };
    between_nodes::give_back(call, team);
    let (last, mut held) = (team.greatest_number(), team.held.lock());
    with_free_slots(|free| {
        free.slots.release(slot as u16);
        free.slots.release_all(&mut held.leases);
        free.passed = planted!("lease-of-an-old-number", free.passed.max(last), 0);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::control;
    use crate::teams::members::Members;
    use std::collections::BTreeSet;

    fn alone(slot: u32, base: u64) -> TeamState {
        TeamState::new(Members::Triplet { start: 0, stride: 1 }, 1, 0, slot, base)
    }

    #[test]
    fn a_search_begins_in_a_piece_that_has_slots() {
        for slots in [SLOTS, SPANNING - REGISTRY] {
            for seed in 0..2 * PIECES as u64 {
                let mut free = Slots::<PIECES>::new(slots as u16, WORLD_SHARE).0;
                let offer = free.offer(&search_all(seed, slots));
                let offered: u32 = offer.words().iter().copied().map(u64::count_ones).sum();
                // One bit is no slot.
                assert!(offered > 1, "{slots} slots: nothing is offered from {seed} on");
            }
        }
    }

    /// One test, because a process has one set of free slots.
    #[test]
    fn slots_are_leased_once_and_come_back_with_the_number_that_they_passed() {
        control::tests::windows();
        let world = alone(0, 0).holding(begin());
        let lease = |world| lease_collectively("test", world, true).expect("a free slot");

        let mut teams: Vec<TeamState> = Vec::new();
        let mut slots = BTreeSet::from([0]);
        for _ in 0..200 {
            let mut lease = lease(&world);
            assert!(slots.insert(lease.slot.into()), "slot {} is leased twice", lease.slot);
            assert_eq!(lease.base, 0);
            let held = TeamLeases::inherited(&mut lease);
            teams.push(alone(lease.slot.into(), lease.base).holding(held));
        }

        // More exchanges than 32 bits can count.
        let far = (1 << 32) + 3;
        let last = teams.pop().expect("there are 200").after(9, far);
        give_back("test", &last);
        let fresh = (0..4096).map(|_| lease(&world)).find(|lease| lease.base != 0).expect("a slot that was given back");
        assert_eq!(fresh.base, far);
        assert!(!teams.iter().any(|team| team.slot == Some(fresh.slot.into())));

        // The most active sets that there can be leave slots to teams, and count as none.
        let counted = with_free_slots(|free| free.teams);
        let as_set = |array| meet_as_set("test", &world, array).map(|lease| lease.slot);
        let sets: BTreeSet<u16> = (0..).map_while(as_set).collect();
        assert_eq!(with_free_slots(|free| free.teams), counted);
        assert!(sets.len() > 1000 && sets.iter().all(|slot| usize::from(*slot) < SET_PIECES * 64 * WORDS));
        assert!(teams.iter().all(|team| team.slot.is_some_and(|slot| !sets.contains(&(slot as u16)))));
        let left: BTreeSet<u16> = (0..100).map(|_| lease(&world).slot).collect();
        assert!(left.len() == 100 && left.is_disjoint(&sets));
    }
}
