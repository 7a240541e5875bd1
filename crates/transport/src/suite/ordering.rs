//! A reader that sees the later operation sees the earlier one: signals and fences. The PEs play in pairs around the
//! ring; the reader looks at the later word in a tight loop and must find the earlier data complete.

use std::cell::Cell;
use std::sync::atomic::Ordering;

use super::{SuitePe, heap, rounds, tries};
use crate::{Amo, AmoDomain, Region, SignalUpdate, Width};

/// Words of the game, in every PE's heap: written by the previous PE, except the last one, by the next PE.
const FLAG: u64 = 0;
const SECOND_FLAG: u64 = 64;
const SEEN: u64 = 128;
const WORDS: [u64; 3] = [FLAG, SECOND_FLAG, SEEN];
const DATA: u64 = 4096;

/// A put with signal of every length, set and add in turn.
pub(super) fn a_signal_never_overtakes_its_data(pe: &mut SuitePe) {
    pe.clear(&WORDS);
    let lengths = [0, 1, 8, 56, 1_000, 9_000, 70_000, 300_000].into_iter().filter(|&n| !cfg!(miri) || n < 1_000);
    let mut round = 0u64;
    for n in lengths {
        let many = if n < 10_000 { tries(400) } else { 12 };
        for _ in 0..many {
            round += 1;
            let update = if round.is_multiple_of(2) { SignalUpdate::Set(round) } else { SignalUpdate::Add(1) };
            let mut source = vec![round as u8; n];
            // SAFETY: `source` lives until `quiet` returns.
            unsafe {
                pe.issue(|lane| {
                    lane.put_signal(heap(pe.next(), DATA), source.as_ptr(), n, heap(pe.next(), FLAG), update)
                })
            };
            // The lane has copied it.
            if n <= pe.lane().copied_with_signal() {
                source.fill(!(round as u8));
            }
            pe.wait("a signal", |pe| pe.word(FLAG).load(Ordering::Acquire) >= round);
            let data = pe.bytes(Region::Heap, DATA, n);
            assert!(
                data.iter().all(|&byte| byte == round as u8),
                "round {round}: the signal came before its {n} bytes"
            );
            tell_seen(pe, round);
        }
    }
}

/// A put with signal of every length reaches its reader although the writer never completes it: a writer that waits for the
/// reader's word, as in a pipeline, must not have to call quiet. The writer's own progress is that of the whole PE.
pub(super) fn a_signal_needs_no_quiet(pe: &mut SuitePe) {
    pe.clear(&WORDS);
    let sources = [8, 5_000, 9_000, 300_000].map(|n| vec![n as u8 | 1; if cfg!(miri) { n.min(100) } else { n }]);
    for round in 1..=rounds(40) as u64 {
        let source = &sources[round as usize % sources.len()];
        let (n, update) = (source.len(), SignalUpdate::Set(round));
        // SAFETY: the sources live until the last `quiet` returns.
        unsafe {
            pe.issue(|lane| lane.put_signal(heap(pe.next(), DATA), source.as_ptr(), n, heap(pe.next(), FLAG), update))
        };
        pe.wait_beside_operations("a signal", |pe| pe.word(FLAG).load(Ordering::Acquire) == round);
        let data = pe.bytes(Region::Heap, DATA, n);
        assert!(data == *source, "round {round}: the signal came before its {n} bytes");
        // SAFETY: a signal without data has no source, and its flag is an aligned word of the heap.
        unsafe {
            let seen = heap(pe.previous(), SEEN);
            pe.issue(|lane| lane.put_signal(seen, std::ptr::null(), 0, seen, update));
        }
        pe.wait_beside_operations("the reader", |pe| pe.word(SEEN).load(Ordering::Acquire) == round);
    }
    pe.quiet();
}

/// Signals that set one word, each behind a fence of signals and with data of its own: the word never falls, and what it has come to is there.
pub(super) fn signals_of_a_word_keep_their_order(pe: &mut SuitePe) {
    const SIGNALS: u64 = 6;
    pe.clear(&WORDS);
    let lengths = if cfg!(miri) { [0, 8, 50] } else { [0, 3_000, 40_000] };
    for round in 0..tries(200) as u64 {
        let n = lengths[round as usize % 3];
        let place = |signal: u64| DATA + signal * n as u64;
        let sources: Vec<Vec<u8>> = (1..=SIGNALS).map(|signal| vec![(round + signal) as u8; n]).collect();
        for (signal, source) in (0..).zip(&sources) {
            let update = SignalUpdate::Set(round * SIGNALS + signal + 1);
            pe.issue(|lane| {
                lane.fence_signals();
                // SAFETY: the sources live until `quiet` returns, and the flag is an aligned word of the heap.
                unsafe {
                    lane.put_signal(heap(pe.next(), place(signal)), source.as_ptr(), n, heap(pe.next(), FLAG), update)
                };
            });
        }
        let last = Cell::new(round * SIGNALS);
        pe.wait("the last signal", |pe| {
            let seen = pe.word(FLAG).load(Ordering::Acquire);
            let before = last.replace(seen);
            assert!(seen >= before, "a signal has set the word from {before} to {seen}");
            for signal in before - round * SIGNALS..seen - round * SIGNALS {
                let data = pe.bytes(Region::Heap, place(signal), n);
                let value = (round + signal + 1) as u8;
                assert!(
                    data.iter().all(|&byte| byte == value),
                    "round {round}: signal {signal} came before its {n} bytes"
                );
            }
            seen == (round + 1) * SIGNALS
        });
        tell_seen(pe, round + 1);
    }
}

/// Data, fence, flag; both kinds of put, long before short.
pub(super) fn a_fence_separates_puts(pe: &mut SuitePe) {
    pe.clear(&WORDS);
    let lengths = if cfg!(miri) { [8, 100, 12, 50] } else { [8, 300, 20_000, 150_000] };
    for round in 1..=tries(800) as u64 {
        let n = lengths[round as usize % 4];
        let source = vec![round as u8; n];
        if round % 3 == 0 {
            pe.put(heap(pe.next(), DATA), &source);
        } else {
            // SAFETY: `source` lives until `quiet` returns.
            unsafe { pe.issue(|lane| lane.put_nbi(heap(pe.next(), DATA), source.as_ptr(), n)) };
        }
        pe.issue(|lane| lane.fence());
        pe.put(heap(pe.next(), FLAG), &round.to_ne_bytes());
        pe.issue(|lane| lane.fence());
        pe.put(heap(pe.next(), SECOND_FLAG), &round.to_ne_bytes());
        pe.wait("the second flag", |pe| pe.word(SECOND_FLAG).load(Ordering::Acquire) == round);
        assert_eq!(pe.word(FLAG).load(Ordering::Acquire), round, "the second flag came before the first");
        let data = pe.bytes(Region::Heap, DATA, n);
        assert!(data.iter().all(|&byte| byte == round as u8), "round {round}: the flag came before its {n} bytes");
        tell_seen(pe, round);
    }
}

/// Data, fence, atomic; atomic, fence, put: the last writer wins.
pub(super) fn a_fence_separates_puts_and_atomics(pe: &mut SuitePe) {
    pe.clear(&WORDS);
    for round in 1..=tries(800) as u64 {
        let source = vec![round as u8; if cfg!(miri) { 50 } else { 2_000 }];
        // SAFETY: `source` lives until `quiet` returns.
        unsafe { pe.issue(|lane| lane.put_nbi(heap(pe.next(), DATA), source.as_ptr(), source.len())) };
        pe.update(heap(pe.next(), SECOND_FLAG), Width::Eight, Amo::Swap(u64::MAX));
        fence(pe);
        pe.update(heap(pe.next(), FLAG), Width::Eight, Amo::Add(1));
        pe.put(heap(pe.next(), SECOND_FLAG), &round.to_ne_bytes());
        pe.wait("the atomic", |pe| pe.word(FLAG).load(Ordering::Acquire) == round);
        let data = pe.bytes(Region::Heap, DATA, source.len());
        assert!(data.iter().all(|&byte| byte == round as u8), "round {round}: the atomic came before the data");
        pe.wait("the put after the atomic", |pe| pe.word(SECOND_FLAG).load(Ordering::Acquire) == round);
        tell_seen(pe, round);
    }
}

/// A stream of short puts or of atomics, fence, a put over all their words: the last writer wins, whatever share of the stream has
/// gathered somewhere.
pub(super) fn a_fence_ends_a_stream(pe: &mut SuitePe) {
    pe.clear(&WORDS);
    let lengths = if cfg!(miri) { [128, 128] } else { [128, 20_000] };
    for round in 1..=tries(90) as u64 {
        let n = lengths[round as usize % 2];
        for word in 0..16 {
            let place = heap(pe.next(), DATA + word * 8);
            if round % 3 == 0 {
                pe.update(place, Width::Eight, Amo::Swap(u64::MAX));
            } else {
                pe.put(place, &[u8::MAX; 8]);
            }
        }
        fence(pe);
        pe.put(heap(pe.next(), DATA), &vec![round as u8; n]);
        fence(pe);
        pe.put(heap(pe.next(), FLAG), &round.to_ne_bytes());
        pe.wait("the flag", |pe| pe.word(FLAG).load(Ordering::Acquire) == round);
        let data = pe.bytes(Region::Heap, DATA, n);
        assert!(data.iter().all(|&byte| byte == round as u8), "round {round}: the stream came behind {n} bytes");
        tell_seen(pe, round);
    }
}

/// A fence as the runtime makes it (`ContextLane::fence`): a put of a PE to itself is a store, which waits for no atomic of the network.
fn fence(pe: &mut SuitePe) {
    pe.issue(|lane| lane.fence());
    if pe.next() == pe.me && pe.fabric.capabilities().amo == AmoDomain::Network {
        pe.quiet();
    }
}

/// Completes what this PE has issued, tells the writer that it may go on, and waits for the reader's word.
fn tell_seen(pe: &mut SuitePe, round: u64) {
    pe.quiet();
    pe.put(heap(pe.previous(), SEEN), &round.to_ne_bytes());
    pe.wait("the reader", |pe| pe.word(SEEN).load(Ordering::Acquire) == round);
}
