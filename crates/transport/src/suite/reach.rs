//! Where and when a PE can be reached: grown memory, many lanes, a target that computes, addresses that do not exist.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::{HEAP, HEAP_BEFORE_GROWTH, PATIENCE, SuitePe, base, drain, heap, is_long, issue, pattern, put, rounds};
use crate::lock::taken;
use crate::{
    Amo, AtomicArguments, GetArguments, Issuer, LaneOptions, PutArguments, Region, Remote, Segment, SignalUpdate, Width,
};

/// Unregistered memory is refused; after growth it is reached.
pub(super) fn grown_memory_is_reached(pe: &mut SuitePe) {
    let place = heap(pe.next(), HEAP_BEFORE_GROWTH as u64 - 4);
    // SAFETY: the source is a constant.
    expect_error(pe, |lane| unsafe { lane.put(place, [1; 8].as_ptr(), 8) });
    pe.meet();
    let grown = Segment { base: base(pe.words(Region::Heap)), len: HEAP };
    pe.fabric.register(Region::Heap, grown).expect("a region may grow");
    pe.meet();
    let source = pattern(u64::from(pe.me), 1000);
    pe.put(place, &source);
    pe.meet();
    let expected = pattern(u64::from(pe.previous()), 1000);
    assert!(pe.bytes(Region::Heap, place.offset, 1000) == expected, "a put across the old end is damaged");
}

/// Atomics, puts and gets without a wait: the lane is busy from some number on. Otherwise the operations under way take
/// memory without end, and requests of others wait behind all of them. The test measures memory where the PE is a
/// process, and two of them issue much: the first one, and the second one, to which it issues. Others issue fewer, which is still more
/// than any lane takes (8,192 of UCX).
pub(super) fn who_never_waits_is_held_back(pe: &mut SuitePe) {
    const MOST_MEMORY: usize = 64 << 20;
    let alone = pe.alone;
    let count_of = |me: u32| rounds(if alone && (me < 2 || is_long()) { 200_000 } else { 3_000 }) as u64;
    let (count, count_of_previous) = (count_of(pe.me), count_of(pe.previous()));
    pe.word(0).store(0, Ordering::Release);
    pe.word(8).store(pe.me.into(), Ordering::Release);
    pe.meet();
    let (next, before) = (pe.next(), resident());
    let (mut fetched, own) = (u64::MAX, u64::from(pe.me));
    for _ in 0..count {
        pe.update(heap(next, 0), Width::Eight, Amo::Add(1));
        // SAFETY: both words stay where they are until the quiet.
        unsafe {
            pe.issue(|lane| lane.put_nbi(heap(next, 16), (&raw const own).cast(), 8));
            pe.issue(|lane| lane.get_nbi((&raw mut fetched).cast(), heap(next, 8), 8));
        }
    }
    let more = resident().saturating_sub(before);
    pe.quiet();
    assert!(!pe.alone || more <= MOST_MEMORY, "{count} operations of each kind take {more} bytes");
    assert_eq!(fetched, next.into());
    pe.meet();
    assert_eq!(pe.word(0).load(Ordering::Acquire), count_of_previous);
    assert_eq!(pe.word(16).load(Ordering::Acquire), pe.previous().into());
}

/// Each operation takes at most one lock of its provider, and at least one of them takes one.
pub(super) fn an_operation_takes_one_lock(pe: &mut SuitePe) {
    let to = heap(pe.next(), 64);
    let mut word = 0u64;
    let at = (&raw mut word).cast::<u8>();
    // Peers know each other from here on.
    pe.put(to, &[0; 8]);
    pe.issue(|lane| {
        // SAFETY: the word outlives the quiet below.
        unsafe {
            lane.get_nbi(at, to, 8);
            lane.amo(to, Width::Eight, Amo::Add(1), at);
        }
    });
    pe.quiet();
    let put = PutArguments { to, source: at, n: 8 };
    let get = GetArguments { dest: at, from: to, n: 8 };
    let atomic = AtomicArguments { to, width: Width::Eight, amo: Amo::Add(1), old: std::ptr::null_mut() };
    let mut locks = 0;
    for round in 0..40 {
        let before = taken();
        // SAFETY: the word outlives the quiet below.
        let _busy_or_issued = unsafe {
            match round % 4 {
                0 => pe.lane().put(&put) == 0,
                1 => pe.lane().put_nbi(&put) == 0,
                2 => pe.lane().get_nbi(&get) == 0,
                _ => pe.lane().amo(&atomic).is_ok(),
            }
        };
        let now = taken() - before;
        assert!(now <= 1, "operation {round} has taken {now} locks");
        locks += now;
        pe.quiet();
    }
    assert!(pe.next() == pe.me || locks > 0, "the locks of this provider are not counted");
}

/// Bytes of memory that this process has; Miri does not say.
fn resident() -> usize {
    if cfg!(miri) {
        return 0;
    }
    let status = std::fs::read_to_string("/proc/self/status").expect("the kernel shows the process");
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
    1024 * kilobytes.and_then(|number| number.trim().parse::<usize>().ok()).expect("VmRSS is a number")
}

/// Sixteen lanes in turn, then four at once on threads of their own.
pub(super) fn lanes_do_not_disturb_each_other(pe: &mut SuitePe) {
    let new_lane = || pe.fabric.lane(LaneOptions::default()).expect("there are lanes");
    let lanes: Vec<_> = (0..16).map(|_| new_lane()).collect();
    let room = 64;
    for round in 0..rounds(50) as u64 {
        for (i, lane) in lanes.iter().enumerate() {
            let to = heap(pe.next(), (i * room) as u64);
            put(&*pe.fabric, &**lane, to, &pattern(round * 100 + i as u64, room));
            issue(&*pe.fabric, &**lane, |lane| lane.fence());
        }
    }
    lanes.into_iter().for_each(|lane| drain(&*lane));
    pe.meet();
    for i in 0..16 {
        let last = pattern((rounds(50) as u64 - 1) * 100 + i as u64, room);
        assert!(pe.bytes(Region::Heap, (i * room) as u64, room) == last, "lane {i} lost its last put");
    }

    let count = rounds(500) as u64;
    pe.clear(&[8192]);
    let (fabric, next) = (&pe.fabric, pe.next());
    std::thread::scope(|scope| {
        for i in 0..4u64 {
            scope.spawn(move || {
                let lane = fabric.lane(LaneOptions::default()).expect("there are lanes");
                let mut olds = vec![0u64; count as usize];
                for (round, old) in olds.iter_mut().enumerate() {
                    put(&**fabric, &*lane, heap(next, 4096 + i * 256), &pattern(round as u64 + i, 200));
                    let old: *mut u8 = (old as *mut u64).cast();
                    issue(&**fabric, &*lane, |lane| {
                        lane.fence();
                        // SAFETY: `olds` lives until the lane has nothing outstanding.
                        unsafe { lane.amo(heap(next, 8192), Width::Eight, Amo::Add(1), old) };
                    });
                }
                drain(&*lane);
                olds.sort_unstable();
                olds.dedup();
                assert_eq!(olds.len() as u64, count, "a lane got an old value twice");
            });
        }
    });
    pe.meet();
    assert_eq!(pe.word(8192).load(Ordering::Acquire), 4 * count);
    for i in 0..4 {
        assert!(pe.bytes(Region::Heap, 4096 + i * 256, 200) == pattern(count - 1 + i, 200), "thread {i}");
    }
}

/// On a lane whose completions are rarely waited for: everything arrives although no caller waits, everything is
/// complete when one does, and the lane may be dropped with something under way.
pub(super) fn a_lane_that_rarely_waits_completes(pe: &mut SuitePe) {
    let (counter, data, count) = (8192, 16 << 10, rounds(400) as u64);
    pe.clear(&[counter]);
    let lane =
        pe.fabric.lane(LaneOptions { rarely_completed: true, ..LaneOptions::default() }).expect("there are lanes");
    // Short, longer than what is copied, longer than a message of any provider.
    let sources: Vec<_> =
        [8, 5_000, if cfg!(miri) { 6_000 } else { 40_000 }].iter().map(|&n| pattern(count, n)).collect();
    for round in 0..count {
        let source = &sources[(round + 1) as usize % sources.len()];
        issue(&*pe.fabric, &*lane, |lane| {
            let (to, signal) = (heap(pe.next(), data), heap(pe.next(), counter));
            // SAFETY: the sources live until the lane has nothing outstanding.
            unsafe { lane.put_signal(to, source.as_ptr(), source.len(), signal, SignalUpdate::Add(1)) };
        });
    }
    pe.wait("what was put without a wait", |pe| pe.word(counter).load(Ordering::Acquire) == count);
    drain(&*lane);
    let last = &sources[count as usize % sources.len()];
    assert!(pe.bytes(Region::Heap, data, last.len()) == *last, "the last put is lost");
    pe.meet();
    issue(&*pe.fabric, &*lane, |lane| {
        // SAFETY: `put` has copied the bytes when it returns.
        unsafe { lane.put(heap(pe.next(), data), 7_u64.to_ne_bytes().as_ptr(), 8) };
    });
    drop(lane);
    pe.wait("what a dropped lane has put", |pe| pe.word(data).load(Ordering::Acquire) == 7);
}

/// A lane that rarely waits says when sources may be reused, which may be before their puts are complete.
pub(super) fn what_a_lane_lets_go_may_be_reused(pe: &mut SuitePe) {
    let counter = 8192;
    let data = 16 << 10;
    for (turn, size) in [100, 5_000, 40_000, 300_000, 2_000_001].into_iter().enumerate() {
        if cfg!(miri) && size > 6_000 {
            continue;
        }
        pe.clear(&[counter]);
        let lane =
            pe.fabric.lane(LaneOptions { rarely_completed: true, ..LaneOptions::default() }).expect("there are lanes");
        let mut source = vec![0; size];
        // The longest are many messages each.
        let count = if size > 1_000_000 { 3 } else { rounds(10) as u64 };
        for round in 0..count {
            source.copy_from_slice(&pattern((turn as u64) << 40 | u64::from(pe.me) << 20 | round, size));
            issue(&*pe.fabric, &*lane, |lane| {
                let (to, signal) = (heap(pe.next(), data), heap(pe.next(), counter));
                // SAFETY: the source lives, and stays as it is until local completion.
                unsafe { lane.put_signal(to, source.as_ptr(), size, signal, SignalUpdate::Add(1)) };
            });
            let start = Instant::now();
            while !lane.poll_local_completion().expect("no operation fails") {
                pe.fabric.progress();
                assert!(start.elapsed() < PATIENCE, "the source of a put of {size} bytes is never free");
            }
            source.fill(0xDD);
            pe.wait("a put that was complete locally", |pe| pe.word(counter).load(Ordering::Acquire) > round);
            let expected = pattern((turn as u64) << 40 | u64::from(pe.previous()) << 20 | round, size);
            assert!(pe.bytes(Region::Heap, data, size) == expected, "a put of {size} bytes lost its source");
            pe.meet();
        }
        while lane.outstanding() > 0 {
            lane.progress().expect("no operation fails");
            pe.fabric.progress();
        }
        pe.meet();
    }
}

/// PE 0 looks at nothing but its own memory until the others have put to it, got from it and updated it.
pub(super) fn a_pe_that_computes_is_served(pe: &mut SuitePe) {
    let (done, data) = (64, 4096);
    pe.clear(&[done]);
    let others = u64::from(pe.pes) - 1;
    if pe.me == 0 {
        let start = Instant::now();
        while pe.word(done).load(Ordering::Acquire) < others {
            assert!(start.elapsed() < PATIENCE, "PE 0 was not served while it computed");
            assert!(!pe.failed.load(Ordering::Relaxed), "another PE has failed");
            std::hint::black_box((0..100u64).sum::<u64>());
            if cfg!(miri) {
                std::thread::yield_now();
            }
        }
        return;
    }
    let source = pattern(u64::from(pe.me), 50_000.min(HEAP / 64));
    let place = heap(0, data + u64::from(pe.me) * source.len() as u64);
    pe.put(place, &source);
    pe.quiet();
    assert!(pe.get(place, source.len()) == source, "what a computing PE serves is damaged");
    pe.update(heap(0, done), Width::Eight, Amo::Add(1));
    pe.quiet();
}

/// Errors come back to the lane that asked, and to no other.
pub(super) fn what_is_out_of_range_is_an_error(pe: &mut SuitePe) {
    let end = HEAP as u64;
    let mut bytes = [0u8; 16];
    let at = bytes.as_mut_ptr();
    for to in 0..pe.pes {
        let beyond = |offset| heap(to, offset);
        // SAFETY: sources and destinations live until each lane is done with them; that the remote side does not exist is
        // what is tested.
        unsafe {
            expect_error(pe, |lane| lane.put(beyond(end - 7), at, 8));
            expect_error(pe, |lane| lane.put_nbi(beyond(u64::MAX - 3), at, 8));
            expect_error(pe, |lane| lane.get_nbi(at, beyond(end), 16));
            expect_error(pe, |lane| lane.amo(beyond(end), Width::Eight, Amo::Add(1), at));
            expect_error(pe, |lane| lane.amo(beyond(end - 2), Width::Four, Amo::Swap(1), std::ptr::null_mut()));
            expect_error(pe, |lane| lane.amo(beyond(3), Width::Two, Amo::Fetch, at));
            let long = Remote { pe: to, region: Region::Control, offset: 0 };
            let mut much = vec![0; 300_000];
            expect_error(pe, |lane| lane.get_nbi(much.as_mut_ptr(), long, much.len()));
        }
    }
    // The PE's own lane is unharmed.
    pe.put(heap(pe.next(), 0), &[9; 8]);
    pe.meet();
    assert_eq!(pe.bytes(Region::Heap, 0, 8), [9; 8]);
}

/// A new lane that issues something wrong ends with nothing outstanding and an error that stays.
fn expect_error(pe: &SuitePe, act: impl FnOnce(&Issuer<'_>)) {
    let lane = pe.fabric.lane(LaneOptions::default()).expect("there are lanes");
    issue(&*pe.fabric, &*lane, act);
    let start = Instant::now();
    while lane.outstanding() > 0 || lane.progress().is_ok() {
        let _ = lane.progress();
        assert!(start.elapsed() < PATIENCE, "an access that is out of range is neither refused nor finished");
        std::thread::yield_now();
    }
    assert!(lane.progress().is_err(), "the error of a lane is final");
}
