//! The greatest of everybody's numbers, by a collective over memory and by one over values.
#![forbid(unsafe_code)]

use oxshmem::World;

fn main() -> Result<(), oxshmem::Error> {
    const COUNT: usize = 1000;
    let world = World::init()?;
    let (me, n) = (world.my_pe(), world.n_pes());
    let (mine, greatest) = (world.allocate_slice(COUNT, 0_i64)?, world.allocate_slice(COUNT, 0_i64)?);
    // PE (i + 1) % n has the greatest number at place i.
    mine.store_all((0..COUNT).map(|i| (i + (i + n - me) % n) as i64));
    world.max(&greatest, &mine);
    assert!((0..COUNT).all(|i| greatest[i].load() == (i + n - 1) as i64));
    assert_eq!(world.max_of(-(me as f64)), 0.0);
    if me == 0 {
        println!("max of place 999: {}", greatest[COUNT - 1].load());
    }
    Ok(())
}
