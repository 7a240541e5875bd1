//! PEs that never call the library: the thread does what is left to do, on both sides.

mod job;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use job::connected;
use oxshmem_transport::{Amo, Region, Remote, Width};

/// Some operations are issued, then neither side calls anything: the last one takes effect all the same, whether the
/// thread was asleep or napping when they were issued.
#[test]
fn what_is_issued_takes_effect_without_another_call() {
    let ([mut a, b], _) = connected();
    let place = |word: usize| Remote { pe: 1, region: Region::Heap, offset: 8 * word as u64 };
    for round in 1..300u64 {
        for word in 1..=(round % 7) as usize {
            // SAFETY: `put` copies its source, a number of this frame.
            unsafe { a.issue(|lane| lane.put(place(word), (&raw const round).cast(), 8)) };
        }
        // SAFETY: null asks for no old value.
        unsafe { a.issue(|lane| lane.amo(place(0), Width::Eight, Amo::Add(1), std::ptr::null_mut())) };
        let start = Instant::now();
        while b.words[0].load(Ordering::Acquire) < round {
            assert!(start.elapsed() < Duration::from_secs(30), "round {round}: what was issued stays where it is");
            std::thread::yield_now();
        }
        for word in 1..=(round % 7) as usize {
            assert_eq!(b.words[word].load(Ordering::Acquire), round);
        }
        // Now and then it waits long enough for the thread to fall asleep, or polls as a caller.
        match round % 5 {
            0 => std::thread::sleep(Duration::from_millis(2)),
            1 => drop(a.fabric.progress()),
            _ => {}
        }
    }
    a.quiet().expect("nothing fails");
}
