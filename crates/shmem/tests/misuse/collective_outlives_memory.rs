//! And its memory.
fn main() {
    let world = oxshmem::World::init().unwrap();
    let numbers = world.allocate_slice(4, 0).unwrap();
    let started = world.start_sum(&numbers, &numbers);
    drop(numbers);
    started.wait();
}
