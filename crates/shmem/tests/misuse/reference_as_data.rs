//! Addresses mean nothing on other PEs.
fn main() {
    let world = oxshmem::World::init().unwrap();
    world.allocate("text").unwrap();
}
