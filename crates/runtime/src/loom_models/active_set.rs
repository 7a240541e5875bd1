//! Active sets whose places change hands.

use std::sync::atomic::Ordering::SeqCst;

use super::{CROWDED, DEDICATED, blank, settled};
use crate::collectives::active_set::{Key, KnownSet, Places, SetName, SetPlace};
use crate::collectives::call::Call;
use crate::collectives::node_eager::{post, take};
use crate::collectives::node_exchange::exchange;
use crate::memory::control::eager::EagerMemory;
use crate::memory::control::seat::Seat;
use crate::sync::{Apart, AtomicU32, Mistake, yield_now};
use crate::teams::members::Members;
use crate::teams::team::TeamState;

/// The memory of one PE: a single place, so that every other pair has to take it over.
struct Board {
    lock: AtomicU32,
    clock: AtomicU32,
    memory: Box<Memory>,
}

#[repr(C)]
struct Memory {
    place: SetPlace,
    seats: [Seat; 3],
}

impl Board {
    fn new() -> Self {
        let seat = |_| Seat { slot: blank(), mark: Apart(AtomicU32::new(0)), eager: EagerMemory::new() };
        let seats = core::array::from_fn(seat);
        let memory = Memory { place: SetPlace::new(), seats };
        Self { lock: AtomicU32::new(0), clock: AtomicU32::new(0), memory: Box::new(memory) }
    }

    fn places(&self, me: u32) -> Places {
        Places {
            // SAFETY: the board lives as long as the model's threads, which alone use the places.
            lock: unsafe { &*(&raw const self.lock) },
            // SAFETY: the board lives as long as the model's threads, which alone use the places.
            clock: unsafe { &*(&raw const self.clock) },
            base: (&raw const *self.memory) as usize,
            each: size_of::<Memory>(),
            pes: 3,
            count: 1,
            me,
            // Both ways of leaving, and each beside the other.
            alone: me % 2 == 0,
        }
    }

    fn is_left(&self) {
        self.memory.seats.iter().for_each(|seat| assert_eq!(settled(&seat.mark.0), 0));
        assert_eq!(settled(&self.lock), 0);
    }
}

/// Sets of PEs 0 and 1, and of PE 2 (or 1) alone.
const PAIR: Key = Key { start: 0, stride: 1, size: 2, array: 64 };
const ALONE: Key = Key { start: 0, stride: 1, size: 1, array: 128 };

/// One exchange of `key`'s members; looks first at the place that the PE has `known` from before, without the lock.
fn collective(
    board: &Board,
    pe: u32,
    key: &Key,
    my: u32,
    known: &mut Option<KnownSet>,
    round: u64,
    enter: fn(&KnownSet) -> bool,
) {
    within(board, pe, key, my, known, enter, |team| {
        let word = |member: u32| key.array + round * 8 + u64::from(member);
        exchange(Call::new(team, "model"), &[word(my)], |member, words| assert_eq!(words[0], word(member)));
    });
}

/// One collective of `key`'s members.
fn within(
    board: &Board,
    pe: u32,
    key: &Key,
    my: u32,
    known: &mut Option<KnownSet>,
    enter: fn(&KnownSet) -> bool,
    run: impl FnOnce(&TeamState),
) {
    let places = board.places(pe);
    if !known.as_ref().is_some_and(enter) {
        let index = loop {
            match places.search(key) {
                Some(index) => break index,
                None => yield_now(),
            }
        };
        let found = places.known(index, SetName::default(), Members::Triplet { start: 0, stride: 1 }, key.size, my);
        if known.as_ref().is_none_or(|known| !known.is_same(&found)) {
            *known = Some(found);
        }
    }
    let known = known.as_ref().expect("was found");
    run(&known.team);
    known.leave();
}

/// Looks whether it is the same place still, and only then marks itself.
fn enter_late(known: &KnownSet) -> bool {
    let door = known.door.as_ref().expect("a place of the node");
    let is_right = door.is_there();
    if is_right {
        door.mark.fetch_add(1, SeqCst);
    }
    is_right
}

/// PEs 0 and 1 meet twice, PE 2 comes between, with another array.
fn meet(board: &Board, pe: u32) {
    if pe == 2 {
        return collective(board, pe, &ALONE, 0, &mut None, 1, KnownSet::enter);
    }
    let mut known = None;
    collective(board, pe, &PAIR, pe, &mut known, 1, KnownSet::enter);
    collective(board, pe, &PAIR, pe, &mut known, 2, KnownSet::enter);
}

#[test]
fn loom_a_counted_place_changes_hands_between_collectives_only() {
    CROWDED.with_preemptions(2).briefly().explore::<3, _>(Board::new, meet, Board::is_left);
}

/// PEs 0 and 1 meet, then each of them takes the place over.
#[test]
fn loom_a_place_changes_hands_when_all_have_left() {
    let pe = |board: &Board, pe: u32| {
        collective(board, pe, &PAIR, pe, &mut None, 1, KnownSet::enter);
        collective(board, pe, &Key { array: 128 + u64::from(pe), ..ALONE }, 0, &mut None, 2, KnownSet::enter);
    };
    DEDICATED.explore::<2, _>(Board::new, pe, Board::is_left);
}

/// The root of a broadcast leaves before the other member has come. A PE that wants the place waits until that one has taken the broadcast.
#[test]
fn loom_a_place_stays_with_its_pair_while_a_broadcast_is_posted() {
    let pe = |board: &Board, pe: u32| {
        if pe == 2 {
            return collective(board, pe, &ALONE, 0, &mut None, 1, KnownSet::enter);
        }
        within(board, pe, &PAIR, pe, &mut None, KnownSet::enter, |team| {
            let mut word = 7 * (1 - u64::from(pe));
            // SAFETY: a word fits an entry.
            unsafe {
                match pe {
                    0 => post(Call::new(team, "model"), (&raw const word).cast(), 8),
                    _ => take(Call::new(team, "model"), 0, (&raw mut word).cast(), 8),
                }
            }
            assert_eq!(word, 7);
        });
    };
    DEDICATED.with_preemptions(2).briefly().explore::<3, _>(Board::new, pe, Board::is_left);
}

/// Two sets of one PE each, one place: both come back to it.
fn contend(board: &Board, pe: u32, enter: fn(&KnownSet) -> bool) {
    let key = Key { array: 64 + u64::from(pe), ..ALONE };
    let mut known = None;
    collective(board, pe, &key, 0, &mut known, 1, enter);
    collective(board, pe, &key, 0, &mut known, 2, enter);
}

#[test]
fn loom_who_finds_a_strange_place_leaves_it_alone() {
    DEDICATED.explore::<2, _>(Board::new, |board, pe| contend(board, pe, KnownSet::enter), Board::is_left);
}

#[test]
#[should_panic]
fn loom_mutant_who_looks_before_marking_itself_meets_strangers() {
    DEDICATED.explore::<2, _>(Board::new, |board, pe| contend(board, pe, enter_late), Board::is_left);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn loom_mutant_without_release_a_place_is_given_on_too_early() {
    let setting = DEDICATED.with(Mistake::NoRelease);
    setting.explore::<2, _>(Board::new, |board, pe| contend(board, pe, KnownSet::enter), Board::is_left);
}
