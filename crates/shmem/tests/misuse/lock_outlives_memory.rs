//! A lock is released before its memory is given back.
fn main() {
    let world = oxshmem::World::init().unwrap();
    let lock = world.allocate(oxshmem::Lock::new()).unwrap();
    let held = lock.lock(&world);
    drop(lock);
    drop(held);
}
