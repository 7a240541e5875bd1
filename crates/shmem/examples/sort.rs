//! An integer sort as in ISx: PE p gets all keys of the p-th part of their range, and sorts them alone.
#![forbid(unsafe_code)]

use oxshmem::{Atomic, World};

const KEYS: usize = 20_000;
const RANGE: u64 = 1 << 27;

fn main() -> Result<(), oxshmem::Error> {
    let world = World::init()?;
    let (me, n) = (world.my_pe(), world.n_pes());
    let keys: Vec<u64> = random(me as u64).take(KEYS).collect();
    let owner = |key: u64| (key * n as u64 / RANGE) as usize;

    let mut buckets = vec![Vec::new(); n];
    for &key in &keys {
        buckets[owner(key)].push(key);
    }
    // Room for everything: the keys are random, but how random is not for us to say.
    let mut received = world.allocate_slice(n * KEYS, u64::MAX)?;
    let filled = world.allocate(Atomic::new(0_usize))?;
    for (step, _) in buckets.iter().enumerate() {
        let to = (me + step) % n;
        let at = filled.fetch_add(buckets[to].len(), to);
        received[at..].put_slice(&buckets[to], to);
    }
    world.barrier();

    let count = filled.load();
    world.exclusive(&mut received, |all| all[..count].sort_unstable());

    let mine = received[..count].to_vec();
    assert!(mine.is_sorted() && mine.iter().all(|&key| owner(key) == me));
    let sum = |keys: &[u64]| keys.iter().fold(0_u64, |sum, key| sum.wrapping_add(*key));
    assert_eq!(world.sum_of(count), n * KEYS);
    assert_eq!(world.sum_of(sum(&mine)), world.sum_of(sum(&keys)));
    if me == 0 {
        println!("sorted {} keys", n * KEYS);
    }
    Ok(())
}

/// Keys in the range, others for every seed.
fn random(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % RANGE
    })
}
