//! Nor can what owns something be in several places.
fn main() {
    let world = oxshmem::World::init().unwrap();
    world.allocate(vec![1, 2, 3]).unwrap();
}
