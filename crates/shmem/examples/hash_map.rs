//! A hash map that is spread over all PEs; everybody inserts and looks up at the same time.
#![forbid(unsafe_code)]

use oxshmem::{Atomic, Error, SymmetricBox, World};

/// Counts per key, in open addressing. Key 0 marks a free place.
struct Counts<'w> {
    keys: SymmetricBox<'w, [Atomic<u64>]>,
    counts: SymmetricBox<'w, [Atomic<u64>]>,
    pes: usize,
}

impl<'w> Counts<'w> {
    /// With room for `places` keys on each PE.
    fn new(world: &'w World, places: usize) -> Result<Self, Error> {
        let keys = world.allocate_slice(places, Atomic::new(0))?;
        let counts = world.allocate_slice(places, Atomic::new(0))?;
        Ok(Self { keys, counts, pes: world.n_pes() })
    }

    /// Adds to a key's count. `false` if there is no room.
    fn add(&self, key: u64, count: u64) -> bool {
        let (pe, places) = self.places_of(key);
        for place in places {
            let there = self.keys[place].compare_swap(0, key, pe);
            if there == 0 || there == key {
                self.counts[place].add(count, pe);
                return true;
            }
        }
        false
    }

    fn count(&self, key: u64) -> Option<u64> {
        let (pe, places) = self.places_of(key);
        for place in places {
            match self.keys[place].fetch(pe) {
                0 => return None,
                there if there == key => return Some(self.counts[place].fetch(pe)),
                _ => {}
            }
        }
        None
    }

    /// On which PE a key is, and where to look for it there.
    fn places_of(&self, key: u64) -> (usize, impl Iterator<Item = usize>) {
        let hash = (key ^ key >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize;
        let len = self.keys.len();
        ((hash >> 40) % self.pes, (0..len).map(move |step| ((hash >> 8) + step) % len))
    }
}

fn main() -> Result<(), Error> {
    const KEYS: u64 = 2000;
    let world = World::init()?;
    let (me, n) = (world.my_pe() as u64, world.n_pes() as u64);
    let counts = Counts::new(&world, 4 * KEYS as usize)?;
    // Everybody counts all keys, beginning elsewhere, and those of its own once more.
    for i in 0..n * KEYS {
        let key = 1 + (i + me * KEYS) % (n * KEYS);
        assert!(counts.add(key, if (key - 1) / KEYS == me { 2 } else { 1 }), "the map is full");
    }
    world.barrier();
    assert!((1..=n * KEYS).all(|key| counts.count(key) == Some(n + 1)));
    assert_eq!(counts.count(n * KEYS + 1), None);
    // Nobody adds any more, but everybody still looks: the map ends when all are done.
    if me == 0 {
        println!("{} keys counted {} times", n * KEYS, n + 1);
    }
    Ok(())
}
