//! And they touch nothing else.
fn main() {
    let world = oxshmem::World::init().unwrap();
    let number = world.allocate(0_u64).unwrap();
    number.fetch_add(1, 0);
}
