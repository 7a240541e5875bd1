//! Atomics: what they do alone, and that nothing is lost when all do them at once.

use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};

use super::{SuitePe, base, heap, rounds, tries};
use crate::{Amo, AmoDomain, Region, Width};

/// Does `amo` and waits for the old value.
fn fetch(pe: &mut SuitePe, to: crate::Remote, width: Width, amo: Amo) -> u64 {
    let mut old = [0u8; 8];
    // SAFETY: `old` lives until `quiet` returns.
    unsafe { pe.issue(|lane| lane.amo(to, width, amo, old.as_mut_ptr())) };
    pe.quiet();
    u64::from_le_bytes(old)
}

fn mask(width: Width) -> u64 {
    u64::MAX >> (64 - 8 * width.bytes())
}

/// The widths that the provider's atomics have.
fn widths(pe: &SuitePe) -> &'static [Width] {
    let all = &Width::ALL;
    if pe.fabric.capabilities().amo == AmoDomain::Network { &all[1..] } else { all }
}

/// The result of an atomic, in plain arithmetic.
fn model(old: u64, amo: Amo) -> u64 {
    match amo {
        Amo::Fetch => old,
        Amo::Swap(value) => value,
        Amo::Add(value) => old.wrapping_add(value),
        Amo::And(value) => old & value,
        Amo::Or(value) => old | value,
        Amo::Xor(value) => old ^ value,
        Amo::CompareSwap { cond, value } if old == cond => value,
        Amo::CompareSwap { .. } => old,
    }
}

/// Every atomic, width and PE, with and without the old value; the neighbours of the object stay as they are.
pub(super) fn atomics_follow_their_model(pe: &mut SuitePe) {
    let start = 0x8123_4567_89AB_CDEF_u64;
    for &width in widths(pe) {
        let low = |value: u64| value & mask(width);
        let (a, b) = (low(0xF0F0_1234_FFFF_FFFF), low(0x0FED_CBA9_8765_4321));
        let all = [
            Amo::Fetch,
            Amo::Swap(a),
            Amo::Add(a),
            Amo::Add(low(u64::MAX)),
            Amo::And(b),
            Amo::Or(a),
            Amo::Xor(b),
            Amo::CompareSwap { cond: low(start), value: b },
            Amo::CompareSwap { cond: b, value: a },
        ];
        for to in 0..pe.pes {
            for amo in all {
                // The object is in the middle of three words of this PE's own at the target.
                let offset = u64::from(pe.me) * 64;
                let before: Vec<u8> = [start; 3].iter().flat_map(|word| word.to_le_bytes()).collect();
                pe.put(heap(to, offset), &before);
                pe.quiet();
                let old = fetch(pe, heap(to, offset + 8), width, amo);
                assert_eq!(old, low(start), "the old value of {amo:?}, {width:?} on PE {to}");
                let once = low(model(low(start), amo));
                let seen = fetch(pe, heap(to, offset + 8), width, Amo::Fetch);
                assert_eq!(seen, once, "{amo:?}, {width:?} on PE {to}");
                pe.update(heap(to, offset + 8), width, amo);
                pe.quiet();
                let after = pe.get(heap(to, offset), 24);
                let mut expected = before.clone();
                let twice = low(model(once, amo)).to_le_bytes();
                expected[8..8 + width.bytes()].copy_from_slice(&twice[..width.bytes()]);
                assert_eq!(after, expected, "{amo:?}, {width:?} on PE {to} touches its neighbours");
            }
        }
    }
}

/// All PEs add to counters of all widths on PE 0 at once; totals are exact and every old value comes once.
pub(super) fn hammered_totals_are_exact(pe: &mut SuitePe) {
    let count = tries(2_000) as u64;
    let offset = |width: Width| 4096 + 64 * width.bytes() as u64;
    clear(pe);
    for _ in 0..count {
        for &width in widths(pe) {
            pe.update(heap(0, offset(width)), width, Amo::Add(1));
        }
    }
    let tickets: Vec<AtomicU64> = (0..count).map(|_| AtomicU64::new(0)).collect();
    for ticket in &tickets {
        // SAFETY: the tickets live until `quiet` returns.
        unsafe { pe.issue(|lane| lane.amo(heap(0, 8192), Width::Eight, Amo::Add(1), ticket.as_ptr().cast())) };
    }
    pe.quiet();
    // Every PE marks its tickets on PE 1 or, alone, on itself; a ticket drawn twice leaves a mark of 2.
    let board = 1 % pe.pes;
    for ticket in &tickets {
        let place = 16_384 + 4 * ticket.load(Ordering::Relaxed);
        pe.update(heap(board, place), Width::Four, Amo::Add(1));
    }
    pe.meet();
    let total = count * u64::from(pe.pes);
    for &width in widths(pe) {
        assert_eq!(fetch(pe, heap(0, offset(width)), width, Amo::Fetch), total & mask(width), "{width:?}");
    }
    assert_eq!(fetch(pe, heap(0, 8192), Width::Eight, Amo::Fetch), total);
    if pe.me == board {
        let marks = pe.bytes(Region::Heap, 16_384, 4 * total as usize);
        assert!(marks.chunks_exact(4).all(|mark| mark == [1, 0, 0, 0]), "an old value came twice or never");
    }
}

/// Increments made of a loop of compare-and-swap.
pub(super) fn compare_and_swap_loses_nothing(pe: &mut SuitePe) {
    clear(pe);
    let count = rounds(100) as u64;
    for _ in 0..count {
        let mut seen = 0;
        loop {
            let swap = Amo::CompareSwap { cond: seen, value: seen + 1 };
            match fetch(pe, heap(0, 128), Width::Four, swap) {
                old if old == seen => break,
                old => seen = old,
            }
        }
    }
    pe.meet();
    assert_eq!(fetch(pe, heap(0, 128), Width::Four, Amo::Fetch), count * u64::from(pe.pes));
}

/// A PE's own atomics on itself meet those of its peers, and its processor sees what has been done.
pub(super) fn own_atomics_meet_those_of_peers(pe: &mut SuitePe) {
    clear(pe);
    let (count, next) = (rounds(500) as u64, pe.next());
    let (own, far) = (heap(pe.me, 512), heap(next, 512));
    for i in 0..count {
        [own, far].into_iter().for_each(|to| pe.update(to, Width::Eight, Amo::Add(1)));
        if i % 64 == 0 {
            fetch(pe, own, Width::Eight, Amo::Add(1));
        }
    }
    pe.quiet();
    pe.meet();
    let total = 2 * count + count.div_ceil(64);
    assert_eq!(fetch(pe, own, Width::Eight, Amo::Fetch), total);
    assert_eq!(pe.word(512).load(Ordering::Acquire), total);
}

/// The target's processor and its peers add to the same objects.
pub(super) fn processor_and_provider_update_one_word(pe: &mut SuitePe) {
    let domain = pe.fabric.capabilities().amo;
    if domain != AmoDomain::Processor {
        return println!("  not run: the provider's atomics are of the domain {domain:?}");
    }
    clear(pe);
    let count = tries(3_000) as u64;
    for i in 0..count {
        for width in Width::ALL {
            let offset = 256 + 8 * width.bytes() as u64;
            if pe.me == 0 {
                // SAFETY: aligned objects in this PE's heap, which only atomics touch meanwhile.
                unsafe {
                    let at = base(pe.words(Region::Heap)).add(offset as usize);
                    match width {
                        Width::Two => drop(AtomicU16::from_ptr(at.cast()).fetch_add(1, Ordering::SeqCst)),
                        Width::Four => drop(AtomicU32::from_ptr(at.cast()).fetch_add(1, Ordering::SeqCst)),
                        Width::Eight => drop(AtomicU64::from_ptr(at.cast()).fetch_add(1, Ordering::SeqCst)),
                    }
                }
            } else {
                pe.update(heap(0, offset), width, Amo::Add(1));
            }
        }
        if i % 64 == 0 {
            std::thread::yield_now();
        }
    }
    pe.meet();
    let total = count * u64::from(pe.pes);
    for width in Width::ALL {
        let offset = 256 + 8 * width.bytes() as u64;
        assert_eq!(fetch(pe, heap(0, offset), width, Amo::Fetch), total & mask(width), "{width:?}");
    }
}

/// Every PE clears what the atomics of a test use.
fn clear(pe: &mut SuitePe) {
    pe.put(heap(pe.me, 0), &vec![0; if cfg!(miri) { 20 << 10 } else { 96 << 10 }]);
    pe.meet();
}
