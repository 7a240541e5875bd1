//! Memory is given back by the thread with the world.
fn main() {
    let world = oxshmem::World::init().unwrap();
    let numbers = world.allocate_slice(4, 0).unwrap();
    std::thread::scope(|threads| {
        threads.spawn(move || drop(numbers));
    });
}
