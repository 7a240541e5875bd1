//! Puts and gets: every byte arrives, and no other.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::{HEAP, SuitePe, heap, pattern, rounds};
use crate::{Amo, AwaitedState, Region, Remote, Width};

/// Lengths around everything that may matter to a provider.
fn sizes() -> Vec<usize> {
    let around = [16, 64, 128, 1 << 10, 4 << 10, 8 << 10, 16 << 10, 64 << 10];
    let all = (0..=9).chain(around.into_iter().flat_map(|n| n - 1..=n + 1));
    all.filter(|&n| !cfg!(miri) || [1, 8, 9, 17, 129].contains(&n)).collect()
}

/// The place that `writer` has in every PE's `region`, and how long it is.
fn place(pe: &SuitePe, writer: u32, region: Region) -> (u64, usize) {
    // The first part of the control region belongs to the meetings.
    let start = if region == Region::Control { u64::from(pe.pes) * 8 } else { 0 };
    let room = (pe.words(region).len() * 8 - start as usize) / pe.pes as usize;
    (start + u64::from(writer) * room as u64, room)
}

/// Both kinds of put, every size, region and PE, at even and odd offsets, with untouched bytes on both sides.
pub(super) fn puts_arrive_whole(pe: &mut SuitePe) {
    for (case, size) in sizes().into_iter().enumerate() {
        let margin = 8 + case % 3;
        for region in Region::ALL {
            let (offset, room) = place(pe, pe.me, region);
            if size + 2 * margin > room {
                continue;
            }
            let clear = vec![0xEE; size + 2 * margin];
            let source = pattern(u64::from(pe.me) + case as u64 * 1000, size);
            for to in 0..pe.pes {
                pe.put(Remote { pe: to, region, offset }, &clear);
            }
            pe.quiet();
            for to in 0..pe.pes {
                let to = Remote { pe: to, region, offset: offset + margin as u64 };
                if case % 2 == 0 {
                    pe.put(to, &source);
                } else {
                    // SAFETY: `source` lives until `quiet` returns.
                    unsafe { pe.issue(|lane| lane.put_nbi(to, source.as_ptr(), size)) };
                }
            }
            pe.quiet();
        }
        pe.meet();
        for region in Region::ALL {
            for writer in 0..pe.pes {
                let (offset, room) = place(pe, writer, region);
                if size + 2 * margin > room {
                    continue;
                }
                let mut expected = vec![0xEE; size + 2 * margin];
                expected[margin..margin + size].copy_from_slice(&pattern(u64::from(writer) + case as u64 * 1000, size));
                let there = pe.bytes(region, offset, size + 2 * margin);
                assert!(there == expected, "PE {}: {size} bytes of PE {writer} in {region:?} are wrong", pe.me);
            }
        }
        pe.meet();
    }
}

/// Every size from every region of every PE, several gets at once.
pub(super) fn gets_fetch_what_is_there(pe: &mut SuitePe) {
    for region in Region::ALL {
        let (offset, room) = place(pe, pe.me, region);
        let mine = Remote { pe: pe.me, region, offset };
        pe.put(mine, &pattern(u64::from(pe.me) + 77, room.min(80 << 10)));
    }
    pe.meet();
    for size in sizes() {
        for region in Region::ALL {
            let mut copies: Vec<Vec<u8>> = (0..pe.pes).map(|_| vec![0; size + 16]).collect();
            for (from, copy) in (0..pe.pes).zip(&mut copies) {
                let (offset, room) = place(pe, from, region);
                if size + 3 <= room {
                    // SAFETY: the copies live until `quiet` returns.
                    unsafe {
                        pe.issue(|lane| {
                            lane.get_nbi(
                                copy.as_mut_ptr().add(8),
                                Remote { pe: from, region, offset: offset + 3 },
                                size,
                            )
                        });
                    }
                }
            }
            pe.quiet();
            for (from, copy) in (0..pe.pes).zip(&copies) {
                let (_, room) = place(pe, from, region);
                if size + 3 <= room {
                    let expected = &pattern(u64::from(from) + 77, size + 3)[3..];
                    assert!(&copy[8..8 + size] == expected, "{size} bytes got from PE {from}, {region:?} are wrong");
                    assert!(copy[..8] == [0; 8] && copy[8 + size..] == [0; 8], "a get of {size} bytes spills");
                }
            }
        }
    }
}

/// A caller that waits for what it has fetched finds it there, whatever else it has issued; the rest is complete at the quiet.
pub(super) fn what_a_caller_awaits_is_there(pe: &mut SuitePe) {
    let (mine, theirs, counter) = (4096, HEAP as u64 / 2, 64);
    let n = if cfg!(miri) { 1_001 } else { 300_001 };
    for round in 0..rounds(10) as u64 {
        let number = |of: u32| u64::from(of) << 20 | round;
        pe.put(heap(pe.me, mine), &pattern(number(pe.me), n));
        pe.word(counter).store(number(pe.me), Ordering::Release);
        pe.meet();
        let source = pattern(number(pe.me) + 77, n);
        let (mut copy, mut old) = (vec![0; n], 0_u64);
        let next = pe.next();
        // SAFETY: the source lives until `quiet` returns, the copy and the old value until the caller has waited for them.
        unsafe {
            pe.issue(|lane| lane.put_nbi(heap(next, theirs), source.as_ptr(), n));
            pe.issue(|lane| lane.get_awaited(copy.as_mut_ptr(), heap(next, mine), n));
            pe.issue(|lane| lane.amo_awaited(heap(next, counter), Width::Eight, Amo::Fetch, (&raw mut old).cast()));
        }
        let start = Instant::now();
        let look = || if round % 2 == 0 { pe.lane().poll_awaited() } else { pe.lane().poll_awaited_from(next) };
        while look().expect("no operation fails") == AwaitedState::UnderWay {
            pe.fabric.progress();
            pe.breathe(start, "what it has fetched");
        }
        assert!(copy == pattern(number(next), n) && old == number(next), "round {round}: it is not there");
        pe.meet();
        let previous = pe.previous();
        assert!(
            pe.bytes(Region::Heap, theirs, n) == pattern(number(previous) + 77, n),
            "the put of round {round} is lost"
        );
        pe.meet();
    }
}

/// A few megabytes to the next PE and back from it.
pub(super) fn megabytes_arrive_whole(pe: &mut SuitePe) {
    let n = if cfg!(miri) { 3_001 } else { (7 << 20) + 3 };
    for round in 0..2 {
        let source = pattern(u64::from(pe.me) + 31 * (round + 1), n);
        let to = heap(pe.next(), 5);
        if round == 0 {
            pe.put(to, &source);
        } else {
            // SAFETY: `source` lives until `quiet` returns.
            unsafe { pe.issue(|lane| lane.put_nbi(to, source.as_ptr(), n)) };
        }
        pe.quiet();
        pe.meet();
        let previous = u64::from(pe.previous());
        assert!(pe.bytes(Region::Heap, 5, n) == pattern(previous + 31 * (round + 1), n), "a long put is damaged");
        assert!(pe.get(to, n) == source, "a long get is damaged");
        pe.meet();
    }
}

/// One buffer, overwritten as soon as each put has returned.
pub(super) fn the_source_of_a_put_is_free_on_return(pe: &mut SuitePe) {
    for size in
        [1, 8, 100, 5_000, 40_000, 100_000, 300_000, 2_000_001].into_iter().filter(|&size| !cfg!(miri) || size < 1_000)
    {
        let count = if size > 1_000 { 20 } else { rounds(500) };
        // Six megabytes of each size at most: the longest puts are many messages each.
        let count = count.min(pe.words(Region::Heap).len() * 2 / size);
        let mut buffer = vec![0; size];
        for i in 0..count {
            buffer.copy_from_slice(&pattern((u64::from(pe.me) << 20) + i as u64, size));
            pe.put(heap(pe.next(), (i * size) as u64), &buffer);
            buffer.fill(0xDD);
        }
        pe.meet();
        for i in 0..count {
            let expected = pattern((u64::from(pe.previous()) << 20) + i as u64, size);
            assert!(
                pe.bytes(Region::Heap, (i * size) as u64, size) == expected,
                "put {i} of {size} bytes lost its source"
            );
        }
        pe.meet();
    }
}

/// Every PE writes to every other and reads back, all at once.
pub(super) fn all_to_all(pe: &mut SuitePe) {
    let n = if cfg!(miri) { 100 } else { 30_000 };
    for round in 0..rounds(20) as u64 {
        let offset = |writer: u32| u64::from(writer) * n as u64;
        let sources: Vec<_> = (0..pe.pes).map(|to| pattern(round ^ u64::from(pe.me * 64 + to), n)).collect();
        for (to, source) in (0..pe.pes).zip(&sources) {
            // SAFETY: the sources live until `quiet` returns.
            unsafe { pe.issue(|lane| lane.put_nbi(heap(to, offset(pe.me)), source.as_ptr(), n)) };
        }
        pe.meet();
        for from in 0..pe.pes {
            let expected = pattern(round ^ u64::from(from * 64 + pe.me), n);
            assert!(
                pe.bytes(Region::Heap, offset(from), n) == expected,
                "round {round}: the part of PE {from} is wrong"
            );
        }
        let mut back = vec![vec![0; n]; pe.pes as usize];
        for (from, back) in (0..pe.pes).zip(&mut back) {
            // SAFETY: the buffers live until `quiet` returns.
            unsafe { pe.issue(|lane| lane.get_nbi(back.as_mut_ptr(), heap(from, offset(pe.me)), n)) };
        }
        pe.quiet();
        assert!(back == sources, "round {round}: what comes back is not what was sent");
        pe.meet();
    }
}
