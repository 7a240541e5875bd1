//! PEs with several strands, and the types of atomics.

use super::{D, SITE, TestNode, at, barrier, cell, fetch, program, put, read, sync, write};
use crate::access::{AccessKind, AtomicType};
use crate::clock::StrandKind;
use crate::detector::RaceRank;
use crate::transfers::FetchedAtomic;

const INT: AccessKind = AccessKind::Atomic(AtomicType::Integer(4));
const FLOAT: AccessKind = AccessKind::Atomic(AtomicType::Floating(4));

#[test]
fn strands_of_a_pe_are_ordered_by_what_they_tell_each_other() {
    let node = TestNode::new(1);
    let pe = Box::leak(Box::new(node.detector(0)));
    let first = pe.strand(0);
    write(&first, at(0, 0));
    let second = pe.strand(first.fork(StrandKind::Thread));
    assert_eq!(read(&second, at(0, 0)), None, "it begins with what its maker knows");
    write(&first, at(0, 8));
    let race = read(&second, at(0, 8)).expect("the store came after the fork");
    assert_eq!((race.earlier.by.strand, race.later.by.strand), (0, 1));
    write(&second, at(0, 16));
    second.release(9);
    write(&second, at(0, 24));
    first.acquire(9);
    assert_eq!(read(&first, at(0, 16)), None);
    assert!(read(&first, at(0, 24)).is_some());
    first.join(1);
    write(&second, at(0, 32));
    first.join(1);
    assert_eq!(read(&first, at(0, 32)), None);
}

#[test]
fn a_strand_of_which_nothing_is_known_knows_nothing_that_comes_later() {
    let node = TestNode::new(1);
    let pe = Box::leak(Box::new(node.detector(0)));
    let first = pe.strand(0);
    write(&first, at(0, 0));
    let adopted = pe.strand(pe.adopt());
    write(&first, at(0, 8));
    assert_eq!(read(&adopted, at(0, 0)), None);
    assert!(read(&adopted, at(0, 8)).is_some());
}

#[test]
fn a_quiet_ends_the_operations_of_which_its_strand_knows() {
    let node = TestNode::new(2);
    let pe = Box::leak(Box::new(node.detector(0)));
    let (first, other) = (pe.strand(0), node.pe(1));
    let second = pe.strand(first.fork(StrandKind::Thread));
    for (tells, offset) in [(true, 0), (false, 8)] {
        put(&second, at(1, offset));
        if tells {
            second.release(4);
            first.acquire(4);
        }
        barrier(&[first, other]);
        assert_eq!(read(&other, at(1, offset)).is_none(), tells);
    }
}

#[test]
fn a_barrier_tells_only_the_strand_that_calls_it() {
    let node = TestNode::new(2);
    let pe = Box::leak(Box::new(node.detector(1)));
    let (sender, first) = (node.pe(0), pe.strand(0));
    let second = pe.strand(first.fork(StrandKind::Thread));
    put(&sender, at(1, 0));
    barrier(&[sender, first]);
    assert!(read(&second, at(1, 0)).is_some());
    assert_eq!(read(&first, at(1, 0)), None);
}

#[test]
fn a_number_is_given_again_when_its_end_is_known() {
    let node = TestNode::new(1);
    let pe = Box::leak(Box::new(node.detector(0)));
    let first = pe.strand(0);
    let (one, two) = (first.fork(StrandKind::Thread), first.fork(StrandKind::Thread));
    assert_eq!((one, two), (1, 2));
    write(&pe.strand(one), at(0, 0));
    pe.end_strand(one);
    assert_eq!(first.fork(StrandKind::Thread), 3, "nobody has joined the first one");
    first.join(one);
    let again = pe.strand(first.fork(StrandKind::Thread));
    assert_eq!(again.name.strand, 1);
    assert_eq!(read(&again, at(0, 0)), None);
    // All numbers are taken: the last one stands for several.
    assert_eq!((first.fork(StrandKind::Thread), first.fork(StrandKind::Thread)), (3, 3));
    pe.end_strand(two);
    assert_eq!(first.fork(StrandKind::Thread), 2);
}

#[test]
fn a_strand_that_nobody_has_joined_is_known_when_its_number_was_given_again() {
    let node = TestNode::new(2);
    let pe = Box::leak(Box::new(node.detector(0)));
    let (first, sender) = (pe.strand(0), node.pe(1));
    let one = pe.strand(first.fork(StrandKind::Thread));
    write(&sender, at(0, 0));
    sender.release(6);
    one.acquire(6);
    pe.end_strand(one.name.strand);
    let others = [0; 3].map(|_| first.fork(StrandKind::Thread));
    assert_eq!(others, [2, 3, 1], "the number is free, and there is no other one");
    assert!(read(&pe.strand(2), at(0, 0)).is_some(), "nobody has told it");
    first.join(1);
    assert_eq!(read(&first, at(0, 0)), None);
}

#[test]
fn tasks_one_after_the_other_are_told_apart_when_all_numbers_have_been_used() {
    let node = TestNode::new(1);
    let pe = Box::leak(Box::new(node.detector(0)));
    let first = pe.strand(0);
    for round in 0..10 {
        let one = pe.strand(first.fork(StrandKind::Task));
        write(&one, at(0, 8 * round));
        pe.end_strand(one.name.strand);
        let other = pe.strand(first.fork(StrandKind::Task));
        assert!(read(&other, at(0, 8 * round)).is_some(), "{round}");
        pe.end_strand(other.name.strand);
    }
}

#[test]
fn a_strand_begins_with_what_was_published_for_it() {
    let node = TestNode::new(1);
    let pe = Box::leak(Box::new(node.detector(0)));
    let first = pe.strand(0);
    write(&first, at(0, 0));
    first.release(77);
    write(&first, at(0, 8));
    let task = pe.strand(pe.begin_from(77));
    assert_eq!(read(&task, at(0, 0)), None);
    assert!(read(&task, at(0, 8)).is_some(), "even on the thread that has made it");
}

#[test]
fn atomics_of_different_types_are_not_atomic_to_each_other() {
    let node = TestNode::new(2);
    let [a, b] = node.pes();
    assert_eq!(a.put(D, at(0, 0), 4, INT, SITE), None);
    assert_eq!(b.put(D, at(0, 0), 4, INT, SITE), None);
    assert!(b.put(D, at(0, 0), 4, FLOAT, SITE).is_some());
    // One origin, two widths; a fence orders them.
    assert_eq!(a.put(D, at(0, 16), 4, INT, SITE), None);
    assert!(a.put(D, at(0, 16), 8, AccessKind::SIGNAL, SITE).is_some());
    assert_eq!(a.put(D, at(0, 24), 4, INT, SITE), None);
    a.fence(D);
    assert_eq!(a.put(D, at(0, 24), 8, AccessKind::SIGNAL, SITE), None);
    barrier(&[a, b]);
    assert_eq!(b.put(D, at(0, 0), 4, FLOAT, SITE), None);
    let language = AtomicType::Language(4);
    assert!(!language.differs(AtomicType::Floating(4)) && language.differs(AtomicType::Integer(8)));
}

#[test]
fn an_atomic_fetch_needs_an_order_to_a_store_and_a_nonblocking_one_a_quiet() {
    let node = TestNode::new(2);
    let [a, b] = node.pes();
    write(&a, at(0, 0));
    assert!(fetch(&b, at(0, 0), false).is_some());
    let add = FetchedAtomic { stream: D, of: AtomicType::Integer(8), updates: true, nonblocking: true };
    for (quiet, offset) in [(true, 8), (false, 16)] {
        assert_eq!(b.fetch(add, at(0, offset), 8, SITE), None);
        if quiet {
            b.quiet(D);
        }
        sync(&[a, b]);
        assert_eq!(write(&a, at(0, offset)).is_none(), quiet);
    }
    // A fence orders what it does to the word before a flag.
    for (fenced, word, flag) in [(true, 24, 32), (false, 40, 48)] {
        assert_eq!(b.fetch(add, at(0, word), 8, SITE), None);
        if fenced {
            b.fence(D);
        }
        put(&b, at(0, flag));
        a.observe(at(0, flag), 8);
        assert_eq!(read(&a, at(0, word)).is_none(), fenced);
    }
}

#[test]
fn a_fence_orders_no_nonblocking_get() {
    let node = TestNode::new(2);
    let [a, _] = node.pes::<2>();
    for (quiet, offset) in [(true, 0), (false, 8)] {
        assert_eq!(a.pull(D, at(1, offset), 8, SITE), None);
        a.fence(D);
        if quiet {
            a.quiet(D);
        }
        assert_eq!(put(&a, at(1, offset)).is_none(), quiet);
    }
}

#[test]
fn an_answer_shows_that_a_source_was_read_but_only_a_quiet_frees_it() {
    let node = TestNode::new(2);
    let [a, b] = node.pes();
    let (data, there, back) = (at(1, 0), at(1, 64), at(0, 64));
    a.begin_buffer(D, 1000, None, 8, AccessKind::Read, SITE);
    a.put_signal(D, data, 8, there, SITE);
    let changed = || a.buffer(1000, 8, AccessKind::Write, SITE).map(|race| race.rank);
    assert_eq!(changed(), Some(RaceRank::Unordered));
    b.observe(there, 8);
    assert_eq!(changed(), Some(RaceRank::Unordered), "nobody has answered");
    b.put(D, back, 8, AccessKind::SIGNAL, SITE);
    a.observe(back, 8);
    assert_eq!(changed(), Some(RaceRank::ByTheLetter));
    a.quiet(D);
    assert_eq!(changed(), None);
}

#[test]
fn a_quiet_frees_the_buffers_of_the_operations_that_its_strand_knows_of() {
    let node = TestNode::new(2);
    let pe = Box::leak(Box::new(node.detector(0)));
    let first = pe.strand(0);
    let second = pe.strand(first.fork(StrandKind::Thread));
    first.begin_buffer(D, 1000, None, 8, AccessKind::Read, SITE);
    let changed = || first.buffer(1000, 8, AccessKind::Write, SITE).is_some();
    second.quiet(D);
    second.end_sources();
    assert!(changed(), "the operation may come after the quiet");
    first.release(5);
    second.acquire(5);
    second.quiet(D);
    assert!(!changed());
}

#[test]
fn an_answer_to_one_put_shows_nothing_of_another_one() {
    let node = TestNode::new(3);
    let [a, b, _] = node.pes();
    let (there, back) = (at(1, 64), at(0, 64));
    // To a PE that has not heard it, and without a signal.
    a.begin_buffer(D, 1000, None, 8, AccessKind::Read, SITE);
    a.put_signal(D, at(2, 0), 8, at(2, 64), SITE);
    a.begin_buffer(D, 2000, None, 8, AccessKind::Read, SITE);
    put(&a, at(1, 0));
    // Two blocks of one call site, which are one buffer.
    for (address, signal) in [(3000, at(1, 72)), (3008, there)] {
        a.begin_buffer(D, address, None, 8, AccessKind::Read, SITE);
        a.put_signal(D, at(1, address - 2992), 8, signal, SITE);
    }
    b.observe(there, 8);
    b.put(D, back, 8, AccessKind::SIGNAL, SITE);
    a.observe(back, 8);
    let changed = |address| a.buffer(address, 8, AccessKind::Write, SITE).map(|race| race.rank);
    assert_eq!([1000, 2000, 3000].map(changed), [Some(RaceRank::Unordered); 3]);
    b.observe(at(1, 72), 8);
    assert_eq!(
        [1000, 2000, 3008].map(changed),
        [RaceRank::Unordered, RaceRank::Unordered, RaceRank::ByTheLetter].map(Some)
    );
}

#[test]
fn a_signal_tells_only_the_strand_that_hears_it() {
    let node = TestNode::new(2);
    let pe = Box::leak(Box::new(node.detector(1)));
    let (sender, first) = (node.pe(0), pe.strand(0));
    let second = pe.strand(first.fork(StrandKind::Thread));
    let (data, signal) = (at(1, 0), at(1, 64));
    sender.put_signal(D, data, 8, signal, SITE);
    first.observe(signal, 8);
    assert_eq!(read(&first, data), None);
    assert!(read(&second, data).is_some(), "it has not heard the signal");
    assert!(read(&sender, data).is_some(), "its own put is over after a quiet only");
    sender.quiet(D);
    assert_eq!(read(&sender, data), None);
    for by_signal in [true, false] {
        let (data, signal) = (at(1, if by_signal { 8 } else { 16 }), at(1, 72));
        sender.put_signal(D, data, 8, signal, SITE);
        first.observe(signal, 8);
        if by_signal {
            second.observe(signal, 8);
        } else {
            sender.quiet(D);
            sender.release(5);
            second.acquire(5);
        }
        assert_eq!(read(&second, data), None);
    }
}

#[test]
fn strands_that_hear_a_signal_at_the_same_time_have_its_data_both() {
    let node = TestNode::new(2);
    let pe = Box::leak(Box::new(node.detector(1)));
    let (sender, first) = (node.pe(0), pe.strand(0));
    let second = pe.strand(first.fork(StrandKind::Thread));
    let (data, signal) = (at(1, 0), at(1, 64));
    sender.put_signal(D, data, 8, signal, SITE);
    // One of them has found the put and has not gone on.
    let found = node.signals[1].unheard(signal.word());
    assert_eq!(found.len(), 1);
    second.observe(signal, 8);
    assert_eq!(read(&second, data), None);
    assert!(node.signals[1].unheard(signal.word()).is_empty());
    first.observe(signal, 8);
    assert_eq!(read(&first, data), None);
    // A put that has come to the same place is another one.
    sender.put_signal(D, at(1, 8), 8, signal, SITE);
    node.signals[1].mark_heard(1, &found[0].1);
    assert_eq!(node.signals[1].unheard(signal.word()).len(), 1);
}

#[test]
fn a_repeated_access_is_remembered_at_its_new_time_and_another_strand_ends_that() {
    let node = TestNode::new(2);
    let [a, b] = node.pes();
    let renews = |mask| cell(&a, at(0, 0)).renew(&program(&a, AccessKind::Write, mask));
    let again = || renews(0xff);
    assert!(!again(), "it was never made");
    write(&a, at(0, 0));
    assert!(again());
    sync(&[a, b]);
    assert!(again(), "at a later time");
    assert!(!renews(0x0f) && !renews(0xf0));
    assert!(read(&b, at(0, 0)).is_some(), "the repetition came after the sync");
    assert!(again(), "the time is the same");
    sync(&[a, b]);
    assert!(!again(), "another strand has accessed the cell");
}
