//! Symmetric memory ends before the world.
fn main() {
    let world = oxshmem::World::init().unwrap();
    let number = world.allocate(0).unwrap();
    drop(world);
    number.put(1, 0);
}
