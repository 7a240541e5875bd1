//! A context is used by one thread at a time.
fn main() {
    let world = oxshmem::World::init().unwrap();
    let context = world.context();
    std::thread::scope(|threads| {
        threads.spawn(|| context.quiet());
    });
}
