//! Two to four PEs in one process, one statement at a time.

use std::sync::atomic::{AtomicU32, AtomicU64};

use crate::access::{Access, AccessKind, AtomicType, Site};
use crate::cell::{CellHalf, ShadowCell, ShadowPart};
use crate::clock::{ClockShape, Column, Stream};
use crate::detector::{Detector, Race, Strand};
use crate::memory::SharedState;
use crate::order::CollectiveMeeting;
use crate::pending::CallBuffer;
use crate::place::{MemoryPart, SymmetricPlace};
use crate::published::{PublishedClocks, PublishedLengths, WordSet};
use crate::signals::SignalList;
use crate::transfers::FetchedAtomic;

mod long_runs;
mod observed;
mod published;
mod strands;

/// A node whose PEs have a hundred words of heap and some static variables.
struct TestNode {
    shape: ClockShape,
    used: AtomicU32,
    kinds: Vec<AtomicU32>,
    clocks: Vec<AtomicU32>,
    /// Locks, first and other parts of the clocks.
    published: [Vec<AtomicU32>; 3],
    sets: Vec<WordSet>,
    pairs: Vec<AtomicU64>,
    signals: Vec<SignalList>,
    /// The cells of each PE's parts, in halves.
    shadow: Vec<[[Vec<CellHalf>; 2]; 2]>,
    lost: Vec<[Vec<AtomicU64>; 2]>,
}

fn zeros<T: Default>(n: usize) -> Vec<T> {
    (0..n).map(|_| T::default()).collect()
}

impl TestNode {
    fn new(pes: usize) -> TestNode {
        TestNode::with_cells(pes, CELLS)
    }

    fn with_cells(pes: usize, cells: usize) -> TestNode {
        let shape = ClockShape { pes, strands: STRANDS };
        let lengths = PublishedLengths::new(shape);
        TestNode {
            shape,
            used: AtomicU32::new(0),
            kinds: zeros(pes * STRANDS),
            clocks: zeros(pes * STRANDS * shape.words()),
            published: [lengths.locks, lengths.firsts, lengths.rests].map(zeros),
            sets: zeros(lengths.sets),
            pairs: zeros(64),
            signals: zeros(pes),
            shadow: (0..pes).map(|_| [cells, 20].map(|cells| [zeros(cells), zeros(cells)])).collect(),
            lost: (0..pes).map(|_| [cells, 20].map(|cells| zeros(cells.div_ceil(64)))).collect(),
        }
    }

    fn detector(&self, me: usize) -> Detector<'_> {
        let [locks, firsts, rests] = &self.published;
        let state = SharedState {
            shape: self.shape,
            used: &self.used,
            kinds: &self.kinds,
            clocks: &self.clocks,
            published: PublishedClocks {
                shape: self.shape,
                used: &self.used,
                locks,
                sets: &self.sets,
                firsts,
                rests,
                lost: self.lost.iter().map(|parts| parts.each_ref().map(|bits| &bits[..])).collect(),
            },
            pairs: &self.pairs,
            signals: &self.signals,
            shadows: self
                .shadow
                .iter()
                .map(|parts| parts.each_ref().map(|[front, back]| ShadowPart::new(front, back)))
                .collect(),
        };
        Detector::new(me, false, state)
    }

    /// The first strand of a PE, which lives as long as the test.
    fn pe(&self, me: usize) -> Strand<'_, '_> {
        Box::leak(Box::new(self.detector(me))).strand(0)
    }

    fn pes<const N: usize>(&self) -> [Strand<'_, '_>; N] {
        std::array::from_fn(|me| self.pe(me))
    }
}

const STRANDS: usize = 4;
/// The cells of a heap.
const CELLS: usize = 100;
const D: Stream = Stream::Default;
const SITE: Site = Site { pc: 17, call: 1 };

fn at(pe: usize, offset: usize) -> SymmetricPlace {
    SymmetricPlace { pe, segment: MemoryPart::Heap, offset }
}

fn barrier(pes: &[Strand<'_, '_>]) {
    for pe in pes {
        pe.quiet(D);
    }
    sync(pes);
}

fn sync(pes: &[Strand<'_, '_>]) {
    let meetings: Vec<CollectiveMeeting> = pes.iter().map(|pe| pe.enter(7, true)).collect();
    pes.iter().zip(meetings).for_each(|(pe, meeting)| pe.leave(meeting));
}

fn put(pe: &Strand<'_, '_>, to: SymmetricPlace) -> Option<Race> {
    pe.put(D, to, 8, AccessKind::Write, SITE)
}

fn read(pe: &Strand<'_, '_>, from: SymmetricPlace) -> Option<Race> {
    pe.access(from, 8, AccessKind::Read, SITE)
}

fn write(pe: &Strand<'_, '_>, to: SymmetricPlace) -> Option<Race> {
    pe.access(to, 8, AccessKind::Write, SITE)
}

/// The cell around a place.
fn cell<'m>(pe: &Strand<'_, 'm>, around: SymmetricPlace) -> ShadowCell<'m> {
    pe.pe.state.cells(around, 1).next().expect("a cell").1
}

/// A load or store of these bytes of a cell now.
fn program(pe: &Strand<'_, '_>, kind: AccessKind, mask: u8) -> Access {
    Access { by: pe.name, time: pe.now(), column: Column::Program, kind, mask, site: SITE }
}

fn fetch(pe: &Strand<'_, '_>, from: SymmetricPlace, updates: bool) -> Option<Race> {
    let call = FetchedAtomic { stream: D, of: AtomicType::Integer(8), updates, nonblocking: false };
    pe.fetch(call, from, 8, SITE)
}

#[test]
fn a_barrier_orders_a_put_and_a_sync_does_not() {
    let node = TestNode::new(2);
    let pes: [_; 2] = node.pes();
    assert_eq!(put(&pes[0], at(1, 0)), None);
    let race = read(&pes[1], at(1, 0)).expect("nothing orders them");
    assert_eq!((race.earlier.by.pe, race.later.by.pe, race.place, race.bytes), (0, 1, Some(at(1, 0)), 8));
    put(&pes[0], at(1, 8));
    barrier(&pes);
    assert_eq!(read(&pes[1], at(1, 8)), None);
    put(&pes[0], at(1, 16));
    sync(&pes);
    assert!(read(&pes[1], at(1, 16)).is_some());
    write(&pes[1], at(1, 24));
    sync(&pes);
    assert_eq!(read(&pes[0], at(1, 24)), None);
}

#[test]
fn a_flag_needs_a_fence_before_it() {
    let node = TestNode::new(2);
    let pes: [_; 2] = node.pes();
    for (data, flag, fenced) in [(0, 8, true), (16, 24, false)] {
        put(&pes[0], at(1, data));
        if fenced {
            pes[0].fence(D);
        }
        assert_eq!(put(&pes[0], at(1, flag)), None);
        pes[1].observe(at(1, flag), 8);
        assert_eq!(read(&pes[1], at(1, flag)), None);
        assert_eq!(read(&pes[1], at(1, data)).is_none(), fenced);
    }
}

#[test]
fn a_fence_orders_puts_to_the_same_pe_only() {
    let node = TestNode::new(3);
    let pes: [_; 3] = node.pes();
    put(&pes[0], at(1, 0));
    pes[0].fence(D);
    put(&pes[0], at(2, 8));
    pes[2].observe(at(2, 8), 8);
    assert!(read(&pes[2], at(1, 0)).is_some());
    // PE 1 may tell others of the put that it has seen.
    put(&pes[0], at(1, 32));
    pes[0].fence(D);
    put(&pes[0], at(1, 40));
    pes[1].observe(at(1, 40), 8);
    put(&pes[1], at(2, 48));
    pes[2].observe(at(2, 48), 8);
    assert_eq!(read(&pes[2], at(1, 32)), None);
}

#[test]
fn a_signal_covers_the_data_of_its_own_call() {
    let node = TestNode::new(2);
    let pes: [_; 2] = node.pes();
    assert_eq!(pes[0].put_signal(D, at(1, 0), 24, at(1, 64), SITE), None);
    assert_eq!(pes[0].put_signal(D, at(1, 32), 24, at(1, 72), SITE), None);
    pes[1].observe(at(1, 72), 8);
    assert_eq!(read(&pes[1], at(1, 40)), None);
    assert!(read(&pes[1], at(1, 8)).is_some(), "the other signal was not awaited");
    // The sender must not send again before it knows that the data was read.
    assert!(pes[0].put_signal(D, at(1, 32), 24, at(1, 72), SITE).is_some());
}

#[test]
fn buffers_of_nonblocking_operations_belong_to_them_until_a_quiet() {
    let node = TestNode::new(2);
    let pes: [_; 2] = node.pes();
    assert_eq!(pes[0].begin_buffer(D, 1000, None, 80, AccessKind::Read, SITE), None);
    assert!(pes[0].buffer(1040, 8, AccessKind::Write, SITE).is_some());
    assert_eq!(pes[0].buffer(1040, 8, AccessKind::Read, SITE), None);
    assert_eq!(pes[0].buffer(1080, 8, AccessKind::Write, SITE), None);
    pes[0].quiet(Stream::Other);
    assert!(pes[0].buffer(1040, 8, AccessKind::Write, SITE).is_some());
    pes[0].quiet(D);
    assert_eq!(pes[0].buffer(1040, 8, AccessKind::Write, SITE), None);
}

#[test]
fn atomics_need_no_order_among_each_other_but_with_plain_accesses() {
    let node = TestNode::new(3);
    let pes: [_; 3] = node.pes();
    for pe in &pes {
        assert_eq!(pe.put(D, at(0, 0), 8, AccessKind::SIGNAL, SITE), None);
        assert_eq!(fetch(pe, at(0, 0), true), None);
    }
    assert!(read(&pes[0], at(0, 0)).is_some());
    barrier(&pes);
    assert_eq!(read(&pes[0], at(0, 0)), None);
}

#[test]
fn what_an_atomic_publishes_is_learnt_by_who_fetches_it() {
    let node = TestNode::new(3);
    let pes: [_; 3] = node.pes();
    put(&pes[0], at(2, 0));
    pes[0].quiet(D);
    pes[0].put(D, at(2, 8), 8, AccessKind::SIGNAL, SITE);
    assert_eq!(fetch(&pes[1], at(2, 8), false), None);
    assert_eq!(read(&pes[1], at(2, 0)), None);
    assert!(read(&pes[2], at(2, 0)).is_some());
}

#[test]
fn a_get_after_a_put_of_the_same_pe_needs_a_quiet() {
    let node = TestNode::new(2);
    let pes: [_; 2] = node.pes();
    assert_eq!(put(&pes[0], at(1, 0)).or(put(&pes[0], at(1, 0))), None, "puts after puts are usual");
    assert!(read(&pes[0], at(1, 0)).is_some());
    put(&pes[0], at(1, 8));
    pes[0].quiet(D);
    assert_eq!(read(&pes[0], at(1, 8)), None);
}

#[test]
fn a_wait_ends_a_put_of_the_pe_to_itself() {
    let node = TestNode::new(1);
    let pes: [_; 1] = node.pes();
    put(&pes[0], at(0, 0));
    pes[0].observe(at(0, 0), 8);
    assert_eq!(read(&pes[0], at(0, 0)), None);
}

#[test]
fn a_lock_orders_its_holders() {
    let node = TestNode::new(2);
    let pes: [_; 2] = node.pes();
    for pe in &pes {
        pe.lock(3);
        assert_eq!(read(pe, at(0, 0)).or(put(pe, at(0, 0))), None);
        pe.quiet(D);
        pe.unlock(3);
    }
    assert!(put(&pes[0], at(0, 0)).is_some());
}

#[test]
fn only_bytes_that_both_touch_are_in_a_race_and_memory_that_was_freed_is_fresh() {
    let node = TestNode::new(2);
    let pes: [_; 2] = node.pes();
    assert_eq!(pes[0].put(D, at(1, 0), 4, AccessKind::Write, SITE), None);
    assert_eq!(pes[1].access(at(1, 4), 4, AccessKind::Write, SITE), None);
    let race = pes[1].access(at(1, 2), 4, AccessKind::Write, SITE).expect("two bytes are the put's");
    assert_eq!((race.place, race.bytes), (Some(at(1, 2)), 2));
    put(&pes[0], at(1, 80));
    pes[1].forget(at(1, 80), 8);
    assert_eq!(write(&pes[1], at(1, 80)), None);
}

#[test]
fn a_root_tells_and_the_others_learn() {
    let node = TestNode::new(3);
    let pes: [_; 3] = node.pes();
    write(&pes[0], at(0, 0));
    write(&pes[1], at(1, 0));
    let meetings: Vec<CollectiveMeeting> = pes.iter().enumerate().map(|(pe, this)| this.enter(9, pe == 0)).collect();
    pes.iter().zip(meetings).for_each(|(pe, meeting)| pe.leave(meeting));
    assert_eq!(read(&pes[2], at(0, 0)), None);
    assert!(read(&pes[2], at(1, 0)).is_some());
}

/// A root on a node may be so far ahead of a member.
#[test]
fn a_root_that_is_ahead_tells_nothing_of_what_it_does_later() {
    let node = TestNode::new(2);
    let [root, member] = node.pes();
    let late = member.enter(9, false);
    root.leave(root.enter(9, true));
    write(&root, at(0, 0));
    (0..17).for_each(|_| root.leave(root.enter(9, true)));
    member.leave(late);
    assert!(read(&member, at(0, 0)).is_some(), "the member knows of a write after the broadcast that it leaves");
}

#[test]
fn members_of_a_scan_learn_from_those_below_them() {
    const SIZE: u32 = 7;
    let node = TestNode::new(SIZE as usize);
    let pes: [_; SIZE as usize] = node.pes();
    // A word for each reader, because a word remembers few accesses.
    let word = |writer: usize, reader: usize| at(writer, 8 * reader);
    for (writer, pe) in pes.iter().enumerate() {
        (0..pes.len()).for_each(|reader| assert_eq!(write(pe, word(writer, reader)), None));
    }
    let meetings: Vec<CollectiveMeeting> = (0..).zip(&pes).map(|(me, pe)| pe.enter_scan(9, me, SIZE)).collect();
    let over = |meeting: CollectiveMeeting| CollectiveMeeting::of_number(meeting.number());
    pes.iter().zip(meetings).for_each(|(pe, meeting)| pe.leave(over(meeting)));
    for (reader, pe) in pes.iter().enumerate() {
        for writer in (0..pes.len()).filter(|writer| *writer != reader) {
            let is_race = read(pe, word(writer, reader)).is_some();
            assert_eq!(is_race, writer > reader, "PE {reader} reads what PE {writer} has written");
        }
    }
}

#[test]
fn a_pair_of_sites_is_new_once() {
    let node = TestNode::new(1);
    let pe = node.detector(0);
    let shared = pe.shared();
    assert!(shared.is_new((1, 2), (3, 4)) && !shared.is_new((3, 4), (1, 2)) && shared.is_new((1, 2), (3, 5)));
}

/// An array of eight bytes in the memory of a PE.
fn array(place: SymmetricPlace, kind: AccessKind) -> CallBuffer {
    CallBuffer { address: 0x1000 + place.offset, place: Some(place), len: 8, kind }
}

#[test]
fn the_buffers_of_a_call_that_has_returned_are_its_own_until_the_request_ends() {
    let node = TestNode::new(2);
    let [a, b] = node.pes();
    let (source, target) = (at(0, 0), at(0, 8));
    let arrays = [array(source, AccessKind::Read), array(target, AccessKind::Write)];
    let meeting = [&a, &b].map(|pe| pe.enter(7, true));
    assert_eq!(a.begin_request(5, Some(meeting[0]), arrays, SITE), None);
    assert!(
        a.buffer(0x1008, 8, AccessKind::Read, SITE).is_some() && a.buffer(0x1000, 8, AccessKind::Write, SITE).is_some()
    );
    assert_eq!(a.buffer(0x1000, 8, AccessKind::Read, SITE), None);
    // No quiet and no barrier ends them, for nobody.
    assert!(a.quiet(D));
    let other = [&a, &b].map(|pe| pe.enter(8, true));
    other.into_iter().zip([&a, &b]).for_each(|(meeting, pe)| pe.leave(meeting));
    assert!(a.buffer(0x1008, 8, AccessKind::Read, SITE).is_some());
    assert_eq!(read(&b, source), None);
    assert!(read(&b, target).is_some());
    // The call ends, and what follows is ordered like every other access.
    let (race, still) = a.end_request(5);
    assert!(race.is_some(), "the read of PE 1 came before the end");
    assert!(!still && a.buffer(0x1008, 8, AccessKind::Read, SITE).is_none());
    b.leave(meeting[1]);
    assert!(put(&b, target).is_some());
    barrier(&[a, b]);
    let [a, b] = node.pes();
    assert_eq!((read(&a, target), read(&b, target)), (None, None));
}

#[test]
fn source_and_target_of_a_call_may_be_the_same() {
    let node = TestNode::new(2);
    let [a, _] = node.pes::<2>();
    let arrays = [array(at(0, 0), AccessKind::Read), array(at(0, 0), AccessKind::Write)];
    assert_eq!(a.begin_request(5, None, arrays, SITE), None);
    assert!(a.begin_request(6, None, arrays, SITE).is_some(), "two calls at once");
    assert!(a.end_request(6).1);
    assert_eq!(a.end_request(5), (None, false));
    assert_eq!(a.end_request(5), (None, false), "a request that nobody has begun");
}
