//! A histogram whose bins lie on all PEs; everybody counts into everybody's bins.
#![forbid(unsafe_code)]

use oxshmem::{Atomic, World};

fn main() -> Result<(), oxshmem::Error> {
    const SAMPLES: usize = 50_000;
    const BINS: usize = 64;
    let world = World::init()?;
    let (me, n) = (world.my_pe(), world.n_pes());
    let bins = world.allocate_slice(BINS, Atomic::new(0_u64))?;
    let mut state = me as u64 + 1;
    for _ in 0..SAMPLES {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let bin = (state >> 40) as usize % (BINS * n);
        bins[bin % BINS].inc(bin / BINS);
    }
    world.barrier();
    let mine: u64 = bins.iter().map(|bin| bin.load()).sum();
    assert_eq!(world.sum_of(mine), (n * SAMPLES) as u64);
    // Each bin expects as many as the next; a deviation of a third would be no chance.
    assert!(bins.iter().all(|bin| bin.load().abs_diff((SAMPLES / BINS) as u64) < (SAMPLES / BINS / 3) as u64));
    if me == 0 {
        println!("counted {} samples in {} bins", n * SAMPLES, n * BINS);
    }
    Ok(())
}
