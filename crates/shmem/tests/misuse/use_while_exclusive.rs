//! In an exclusive epoch the memory is an ordinary slice, so nobody may put into it.
fn main() {
    let world = oxshmem::World::init().unwrap();
    let mut numbers = world.allocate_slice(4, 0_u64).unwrap();
    world.exclusive(&mut numbers, |mine| {
        mine[0] = 1;
        numbers[1].put(2, 0);
    });
}
