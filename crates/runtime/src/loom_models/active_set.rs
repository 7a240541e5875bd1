//! Active sets whose places change hands.

use std::sync::atomic::Ordering::SeqCst;

use super::{CROWDED, DEDICATED, blank, settled};
use crate::active_set::{Key, Mark, Place, Places};
use crate::control::{Apart, Slot};
use crate::primitive::{AtomicU32, Mistake, yield_now};
use crate::slot::exchange;
use crate::team::Members;

/// What one PE keeps: a single place, so that every other pair has to take it over.
struct Board {
    lock: AtomicU32,
    clock: AtomicU32,
    memory: Box<Memory>,
}

#[repr(C)]
struct Memory {
    place: Place,
    marks: [Mark; 3],
    slots: [Slot; 3],
}

impl Board {
    fn new() -> Self {
        let marks = core::array::from_fn(|_| Apart(AtomicU32::new(0)));
        let memory = Memory { place: Place::new(), marks, slots: [blank(), blank(), blank()] };
        Self { lock: AtomicU32::new(0), clock: AtomicU32::new(0), memory: Box::new(memory) }
    }

    fn places(&self, me: u32) -> Places {
        Places {
            // SAFETY: the board lives as long as the model's threads, which alone use the places.
            lock: unsafe { &*(&raw const self.lock) },
            // SAFETY: as above.
            clock: unsafe { &*(&raw const self.clock) },
            base: (&raw const *self.memory) as usize,
            each: size_of::<Memory>(),
            pes: 3,
            count: 1,
            me,
        }
    }

    fn is_left(&self) {
        self.memory.marks.iter().for_each(|mark| assert_eq!(settled(&mark.0), 0));
        assert_eq!(settled(&self.lock), 0);
    }
}

/// Sets of PEs 0 and 1, and of PE 2 (or 1) alone.
const PAIR: Key = Key { start: 0, stride: 1, size: 2, array: 64 };
const ALONE: Key = Key { start: 0, stride: 1, size: 1, array: 128 };

/// One exchange of `key`'s members; `known`: looks at the place without the lock first.
fn collective(board: &Board, pe: u32, key: &Key, my: u32, round: u64, known: bool, enter: fn(&Places, &Key) -> bool) {
    let places = board.places(pe);
    while !(known && enter(&places, key) || places.search(key).is_some()) {
        yield_now();
    }
    places.attend(0, Members::Triplet { start: 0, stride: 1 }, key.size, my, |team| {
        let word = |member: u32| key.array + round * 8 + u64::from(member);
        exchange(team, "model", &[word(my)], |member, words| assert_eq!(words[0], word(member)));
    });
}

fn enter_known(places: &Places, key: &Key) -> bool {
    places.enter_known(0, key)
}

/// Looks whose place it is, and only then marks itself.
fn enter_late(places: &Places, key: &Key) -> bool {
    let is_ours = places.place(0).is_of(key);
    if is_ours {
        places.mark(0, places.me).fetch_add(1, SeqCst);
    }
    is_ours
}

/// PEs 0 and 1 meet twice, PE 2 comes between, with another array.
fn meet(board: &Board, pe: u32) {
    if pe == 2 {
        return collective(board, pe, &ALONE, 0, 1, false, enter_known);
    }
    collective(board, pe, &PAIR, pe, 1, false, enter_known);
    collective(board, pe, &PAIR, pe, 2, true, enter_known);
}

#[test]
fn loom_a_counted_place_changes_hands_between_collectives_only() {
    CROWDED.with_preemptions(2).explore::<3, _>(Board::new, meet, Board::is_left);
}

/// PEs 0 and 1 meet, then each of them takes the place over.
#[test]
fn loom_a_place_changes_hands_when_all_have_left() {
    let pe = |board: &Board, pe: u32| {
        collective(board, pe, &PAIR, pe, 1, false, enter_known);
        collective(board, pe, &Key { array: 128 + u64::from(pe), ..ALONE }, 0, 2, false, enter_known);
    };
    DEDICATED.explore::<2, _>(Board::new, pe, Board::is_left);
}

/// Two sets of one PE each, one place: both come back to it.
fn contend(board: &Board, pe: u32, enter: fn(&Places, &Key) -> bool) {
    let key = Key { array: 64 + u64::from(pe), ..ALONE };
    collective(board, pe, &key, 0, 1, false, enter);
    collective(board, pe, &key, 0, 2, true, enter);
}

#[test]
fn loom_who_finds_a_strange_place_leaves_it_alone() {
    DEDICATED.explore::<2, _>(Board::new, |board, pe| contend(board, pe, enter_known), Board::is_left);
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
    setting.explore::<2, _>(Board::new, |board, pe| contend(board, pe, enter_known), Board::is_left);
}
