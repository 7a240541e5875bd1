//! A team ends before the world.
fn main() {
    let world = oxshmem::World::init().unwrap();
    let all = world.split_strided(0, 1, world.n_pes()).unwrap();
    drop(world);
    drop(all);
}
