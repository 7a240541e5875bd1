//! Words tell what their own writers knew, however many other words have something to tell.

use std::sync::atomic::Ordering::Relaxed;

use super::{D, SITE, Strand, SymmetricPlace, TestNode, at, fetch, put, read, write};
use crate::access::AccessKind;
use crate::clock::ClockShape;
use crate::published::PublishedLengths;

/// Twice as many words as have clocks of their own.
const MANY: usize = 100_000;
/// The words that all flood, and words behind them.
const HEAP: usize = MANY + 8;

fn flood(pe: &Strand<'_, '_>) {
    (0..MANY).for_each(|word| assert_eq!(pe.put(D, at(1, 8 * word), 8, AccessKind::SIGNAL, SITE), None));
}

fn behind(pe: usize, word: usize) -> SymmetricPlace {
    at(pe, 8 * (MANY + word))
}

#[test]
fn a_word_tells_nothing_of_what_was_published_at_others() {
    let node = TestNode::with_cells(3, HEAP);
    let [a, b, c] = node.pes();
    write(&a, behind(0, 0));
    flood(&a);
    // PE 2 waits for a flag of PE 1, which knows nothing of PE 0.
    put(&b, behind(2, 1));
    c.observe(behind(2, 1), 8);
    assert!(read(&c, behind(0, 0)).is_some());
    // PE 1 fetches a word that nobody has updated.
    assert_eq!(fetch(&b, behind(1, 2), true), None);
    assert!(read(&b, behind(0, 0)).is_some());
}

#[test]
fn a_word_that_has_lost_its_clock_still_tells_what_it_knew() {
    let node = TestNode::with_cells(2, HEAP);
    let [a, b] = node.pes();
    write(&a, behind(0, 0));
    flood(&a);
    let lost = node.lost[1][0].iter().map(|bits| bits.load(Relaxed).count_ones() as usize).sum::<usize>();
    assert!((MANY / 3..MANY).contains(&lost), "{lost} words have lost their clocks");
    for word in [0, MANY / 2, MANY - 1] {
        assert_eq!(fetch(&b, at(1, 8 * word), false), None);
        assert_eq!(read(&b, behind(0, 0)), None, "word {word}");
    }
    // Memory that was freed has lost nothing.
    b.forget(at(1, 0), 8 * MANY);
    assert!(node.lost[1][0].iter().all(|bits| bits.load(Relaxed) == 0));
}

#[test]
fn every_word_tells_of_all_its_writers() {
    let node = TestNode::with_cells(3, HEAP);
    let [a, b, c] = node.pes();
    let words = [0, 7, MANY / 2];
    write(&a, behind(0, 0));
    words.iter().for_each(|&word| assert_eq!(a.put(D, at(1, 8 * word), 8, AccessKind::SIGNAL, SITE), None));
    write(&b, behind(1, 0));
    flood(&b);
    // Some of these words have lost what PE 0 knew, and then got what PE 1 knew.
    for word in words {
        assert_eq!(fetch(&c, at(1, 8 * word), false), None);
        assert_eq!(read(&c, behind(0, 0)).or(read(&c, behind(1, 0))), None, "word {word}");
    }
}

#[test]
fn a_flag_in_use_keeps_its_clock() {
    let node = TestNode::with_cells(2, HEAP);
    let [a, b] = node.pes();
    let flag = behind(1, 1);
    for round in 0..40 {
        put(&a, flag);
        for word in 0..MANY / 40 {
            let word = word + round * (MANY / 40);
            assert_eq!(a.put(D, at(1, 8 * word), 8, AccessKind::SIGNAL, SITE), None);
        }
        b.observe(flag, 8);
    }
    write(&a, behind(0, 0));
    assert_eq!(a.put(D, at(1, 0), 8, AccessKind::SIGNAL, SITE), None);
    b.observe(flag, 8);
    assert!(read(&b, behind(0, 0)).is_some(), "the store came after the last flag");
}

#[test]
fn flags_in_one_word_are_apart() {
    let node = TestNode::new(3);
    let [a, b, c] = node.pes();
    for bytes in [4, 2, 1] {
        let word = 64 * bytes;
        for (pe, data, flag) in [(&a, at(0, word), at(2, word)), (&b, at(1, word), at(2, word + bytes))] {
            write(pe, data);
            assert_eq!(pe.put(D, flag, bytes, AccessKind::Write, SITE), None);
        }
        c.observe(at(2, word), bytes);
        assert_eq!(read(&c, at(0, word)), None);
        assert!(read(&c, at(1, word)).is_some(), "the other flag was not awaited");
    }
    // The whole word tells of both.
    write(&b, at(1, 8));
    assert_eq!(b.put(D, at(2, 12), 4, AccessKind::Write, SITE), None);
    c.observe(at(2, 8), 8);
    assert_eq!(read(&c, at(1, 8)), None);
    // And each half of what was put as one.
    write(&a, at(0, 8));
    put(&a, at(2, 24));
    b.observe(at(2, 28), 4);
    assert_eq!(read(&b, at(0, 8)), None);
}

#[test]
fn clocks_of_words_take_little_memory_on_any_node() {
    for pes in [1, 2, 16, 64, 256] {
        let shape = ClockShape { pes, strands: 1 };
        let lengths = PublishedLengths::new(shape);
        let words = lengths.sets * 9 * shape.words() * 4;
        assert!(words <= (64 << 20).max(pes * (4 << 20)), "{pes} PEs: {words} bytes");
        assert!(lengths.sets >= 200, "{pes} PEs");
    }
}
