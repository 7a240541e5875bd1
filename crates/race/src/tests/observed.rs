//! The knowledge that comes with a value that has been awaited or fetched.

use super::{D, SITE, TestNode, at, cell, fetch, program, put, read, sync, write};
use crate::access::AccessKind;
use crate::clock::StrandKind;
use crate::detector::Strand;
use crate::place::SymmetricPlace;

/// More than is published word by word.
const LONG: usize = 80;

fn long_put(pe: &Strand<'_, '_>, to: SymmetricPlace) {
    assert_eq!(pe.put(D, to, LONG, AccessKind::Write, SITE), None);
}

#[test]
fn an_observed_store_tells_nothing_of_what_its_strand_does_later() {
    let node = TestNode::new(2);
    let [a, b] = node.pes();
    write(&b, at(1, 8));
    write(&b, at(1, 0));
    // PE 1 is in a barrier already when PE 0 fetches what PE 1 has stored before.
    let waits = b.enter(7, true);
    assert!(fetch(&a, at(1, 0), false).is_some(), "a store is not atomic to a fetch");
    assert_eq!(read(&a, at(1, 8)), None, "the store that came later was observed");
    a.leave(a.enter(7, true));
    b.leave(waits);
    write(&b, at(1, 64));
    assert!(fetch(&a, at(1, 64), false).is_some(), "the store came after the barrier");
}

#[test]
fn an_observed_store_does_not_tell_of_the_stores_after_it() {
    let node = TestNode::new(2);
    let [a, b] = node.pes();
    write(&b, at(1, 0));
    a.observe(at(1, 0), 8);
    write(&b, at(1, 8));
    assert!(read(&a, at(1, 8)).is_some());
    write(&b, at(1, 0));
    a.observe(at(1, 0), 8);
    write(&b, at(1, 16));
    put(&b, at(0, 0));
    assert!(read(&a, at(1, 16)).is_some());
}

#[test]
fn a_store_is_awaited_although_its_cell_has_forgotten_other_writes() {
    for earlier in 0..4 {
        let node = TestNode::new(3);
        let [a, b, c] = node.pes();
        write(&b, at(1, 8));
        assert_eq!(b.access(at(0, 0), 4, AccessKind::Write, SITE), None);
        // The numbers of operations say where a cell begins to look for an access to forget.
        (0..earlier).for_each(|_| assert_eq!(put(&c, at(2, 64)), None));
        for byte in 4..8 {
            assert_eq!(c.put(D, at(0, byte), 1, AccessKind::Write, SITE), None);
        }
        a.observe(at(0, 0), 4);
        assert_eq!(read(&a, at(1, 8)), None, "after {earlier} puts");
    }
}

#[test]
fn an_observed_long_put_tells_nothing_of_what_its_strand_does_later() {
    let node = TestNode::new(2);
    let [a, b] = node.pes();
    write(&b, at(1, 8));
    long_put(&b, at(0, 0));
    write(&b, at(1, 16));
    put(&b, at(0, 200));
    b.quiet(D);
    a.observe(at(0, 72), 8);
    assert_eq!(read(&a, at(1, 8)), None);
    assert!(read(&a, at(1, 16)).is_some(), "the store came after the put");
    assert!(read(&a, at(0, 200)).is_some(), "the quiet came after the put");
}

#[test]
fn a_fence_before_a_long_put_orders_the_puts_before_it() {
    let node = TestNode::new(2);
    let [a, b] = node.pes();
    for (fenced, data) in [(true, 0), (false, 8)] {
        put(&b, at(0, data));
        if fenced {
            b.fence(D);
        }
        long_put(&b, at(0, 64));
        a.observe(at(0, 128), 8);
        assert_eq!(read(&a, at(0, data)).is_none(), fenced);
        sync(&[a, b]);
    }
}

#[test]
fn every_strand_that_observes_a_value_learns_from_it() {
    let node = TestNode::new(2);
    let pe = Box::leak(Box::new(node.detector(0)));
    let (first, sender) = (pe.strand(0), node.pe(1));
    let second = pe.strand(first.fork(StrandKind::Thread));
    write(&sender, at(1, 0));
    long_put(&sender, at(0, 0));
    write(&sender, at(1, 8));
    write(&sender, at(1, 16));
    for strand in [first, second] {
        strand.observe(at(0, 72), 8);
        strand.observe(at(1, 16), 8);
        assert_eq!(read(&strand, at(1, 0)).or(read(&strand, at(1, 8))), None);
    }
}

#[test]
fn a_repetition_tells_something_when_another_strand_has_taken_the_access_out() {
    let node = TestNode::new(3);
    let pes: [_; 3] = node.pes();
    let [a, b, c] = pes;
    // As the shim asks before it passes over an access.
    let is_repeated = |place| cell(&b, place).holds(program(&b, AccessKind::Write, 0xff).key());
    let places = [0, 8, 16].map(|offset| at(1, offset));
    for place in places {
        assert!(!is_repeated(place), "it was never made");
        write(&b, place);
    }
    assert_eq!(places.map(is_repeated), [true; 3]);
    assert!(read(&a, places[0]).is_some());
    assert!(is_repeated(places[0]), "a read takes no write out");
    // A strand waits for the value, and the next time is another one.
    a.observe(places[0], 8);
    assert_eq!(places.map(is_repeated), [false; 3]);
    write(&b, places[0]);
    assert!(read(&c, places[0]).is_some(), "the store that was repeated");
    // Another PE overwrites it after a sync.
    write(&b, places[1]);
    let stored = program(&b, AccessKind::Write, 0xff).key();
    sync(&pes);
    assert!(cell(&b, places[1]).holds(stored));
    assert_eq!(write(&a, places[1]), None);
    assert!(!cell(&b, places[1]).holds(stored));
    // The end of the PE.
    write(&b, places[2]);
    assert!(is_repeated(places[2]));
    b.pe.end();
    assert!(!is_repeated(places[2]));
}

#[test]
fn data_whose_signal_was_heard_is_not_over_for_a_third_pe() {
    let node = TestNode::new(3);
    let [a, b, c] = node.pes();
    let (signal, answer) = (at(1, 400), at(2, 400));
    let send = |place| assert_eq!(a.put_signal(D, place, 8, signal, SITE), None);
    send(at(1, 0));
    b.observe(signal, 8);
    assert!(read(&c, at(1, 0)).is_some(), "nobody has told PE 2");
    // Its owner tells PE 2.
    send(at(1, 8));
    b.observe(signal, 8);
    put(&b, answer);
    c.observe(answer, 8);
    assert_eq!(read(&c, at(1, 8)), None);
    // The sender does, after a quiet.
    send(at(1, 16));
    b.observe(signal, 8);
    a.quiet(D);
    put(&a, answer);
    c.observe(answer, 8);
    assert_eq!(read(&c, at(1, 16)), None);
    // PE 2 fetches the signal itself, before or after its owner has heard it.
    for (owner_first, data) in [(true, 24), (false, 32)] {
        send(at(1, data));
        let hear = [&b, &c];
        let [first, second] = if owner_first { hear } else { [hear[1], hear[0]] };
        first.observe(signal, 8);
        second.observe(signal, 8);
        assert_eq!(read(first, at(1, data)).or(read(second, at(1, data))), None);
    }
    // Puts of the sender to the same place need no order.
    send(at(1, 40));
    b.observe(signal, 8);
    send(at(1, 40));
    assert_eq!(put(&a, at(1, 40)), None);
}

#[test]
fn the_list_of_signals_keeps_those_that_nobody_has_heard() {
    let node = TestNode::new(3);
    let [a, b, c] = node.pes();
    let (early, late) = (at(1, 640), at(1, 648));
    assert_eq!(a.put_signal(D, at(1, 0), 8, early, SITE), None);
    for _ in 0..1000 {
        assert_eq!(a.put_signal(D, at(1, 8), 8, late, SITE), None);
        b.observe(late, 8);
    }
    assert!(read(&c, at(1, 0)).is_some(), "nobody has heard the first signal");
    b.observe(early, 8);
    assert_eq!(read(&b, at(1, 0)), None);
}
