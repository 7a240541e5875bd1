//! A PE is one owner of a lock; the thread with the world speaks for it.
fn main() {
    let world = oxshmem::World::init().unwrap();
    let lock = world.allocate(oxshmem::Lock::new()).unwrap();
    let held = lock.lock(&world);
    std::thread::scope(|threads| _ = threads.spawn(move || drop(held)));
}
