//! Only atomic operations touch atomics.
fn main() {
    let world = oxshmem::World::init().unwrap();
    let counter = world.allocate(oxshmem::Atomic::new(0_u64)).unwrap();
    counter.put(oxshmem::Atomic::new(1), 0);
}
