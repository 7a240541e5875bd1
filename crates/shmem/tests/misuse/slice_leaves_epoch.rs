//! The slice of an exclusive epoch ends with it.
fn main() {
    let world = oxshmem::World::init().unwrap();
    let mut numbers = world.allocate_slice(4, 0_u64).unwrap();
    let mine = world.exclusive(&mut numbers, |mine| mine);
    mine[0] = 1;
}
