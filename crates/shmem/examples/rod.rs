//! Heat spreads along a rod that all PEs share: each PE has a piece with one cell of border on either side, and puts its own
//! ends into its neighbours' borders.
#![forbid(unsafe_code)]

use oxshmem::World;

const CELLS: usize = 100;
const STEPS: usize = 500;

fn main() -> Result<(), oxshmem::Error> {
    let world = World::init()?;
    let (me, n) = (world.my_pe(), world.n_pes());
    let mut now = world.allocate_slice(CELLS + 2, 0.0_f64)?;
    if me == 0 {
        now[0].store(100.0); // one end of the rod is hot
    }
    let mut change = 0.0_f64;
    for _ in 0..STEPS {
        if me > 0 {
            now[CELLS + 1].put(now[1].load(), me - 1);
        }
        if me + 1 < n {
            now[0].put(now[CELLS].load(), me + 1);
        }
        world.barrier(); // all borders have come
        let old = now.to_vec();
        // `exclusive` waits for all PEs before and after it, so no put meets the slice.
        change = world.exclusive(&mut now, |new| {
            let mut change = 0.0_f64;
            for i in 1..=CELLS {
                new[i] = 0.5 * (old[i - 1] + old[i + 1]);
                change = change.max((new[i] - old[i]).abs());
            }
            change
        });
    }
    let largest = world.max_of(change);
    if me == 0 {
        println!("{STEPS} steps, the last one changed a cell by at most {largest:.6}");
    }
    Ok(())
}
