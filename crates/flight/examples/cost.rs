//! Measures what the record of a call costs: `cargo run --release -p oxshmem-flight --example cost`.

use std::hint::black_box;
use std::time::Instant;

use oxshmem_flight::calls::{CallRing, CallSubject, RingWriters};

/// Calls of one round.
const CALLS: u64 = 1 << 20;
const ROUNDS: usize = 21;

fn main() {
    let ring = Box::leak(Box::new(CallRing::new()));
    for (name, shared) in [("one thread writes", false), ("several threads may write", true)] {
        ring.begin_recording(if shared { RingWriters::Many } else { RingWriters::One });
        // They alternate, so that a change of the machine's speed affects both.
        let mut rounds: Vec<(f64, f64)> =
            (0..ROUNDS).map(|_| (round(|_| {}), round(|meeting| record(ring, meeting)))).collect();
        rounds.sort_by(|one, other| (one.1 - one.0).total_cmp(&(other.1 - other.0)));
        let (bare, recorded) = rounds[ROUNDS / 2];
        println!("{name}: {:.2} ns for begin and end of a call (median of {ROUNDS} rounds)", recorded - bare);
    }
}

/// As a collective is recorded.
#[inline(never)]
fn record(ring: &'static CallRing, meeting: u64) {
    let number = ring.begin("shmem_barrier_all", CallSubject { peer: None, team: Some((0, meeting)), bytes: 0 });
    ring.end(number);
}

/// Nanoseconds of one call.
fn round(call: impl Fn(u64)) -> f64 {
    let begin = Instant::now();
    for i in 0..CALLS {
        call(black_box(i));
    }
    begin.elapsed().as_nanos() as f64 / CALLS as f64
}
