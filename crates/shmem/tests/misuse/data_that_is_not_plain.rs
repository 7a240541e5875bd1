//! A bool that another PE has torn or made up would not be one.
fn main() {
    let world = oxshmem::World::init().unwrap();
    world.allocate(true).unwrap();
}
