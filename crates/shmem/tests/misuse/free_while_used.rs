//! Nor can a part be used after the whole.
fn main() {
    let world = oxshmem::World::init().unwrap();
    let numbers = world.allocate_slice(4, 0).unwrap();
    let first = &numbers[0];
    drop(numbers);
    first.put(1, 0);
}
