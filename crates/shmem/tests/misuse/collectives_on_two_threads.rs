//! Collective calls come from one thread.
fn main() {
    let world = oxshmem::World::init().unwrap();
    std::thread::scope(|threads| {
        threads.spawn(|| world.barrier());
    });
}
