//! Floating-point numbers are swapped, not counted with.
fn main() {
    let world = oxshmem::World::init().unwrap();
    world.allocate(oxshmem::Atomic::new(0.0_f64)).unwrap().fetch_add(1.0, 0);
}
