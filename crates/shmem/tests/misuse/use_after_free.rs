//! Memory that was freed on all PEs cannot be used.
fn main() {
    let world = oxshmem::World::init().unwrap();
    let numbers = world.allocate_slice(4, 0).unwrap();
    drop(numbers);
    numbers[0].put(1, 0);
}
