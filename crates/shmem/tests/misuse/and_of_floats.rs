//! Only integers have bitwise reductions.
fn main() {
    let world = oxshmem::World::init().unwrap();
    world.and_of(1.0);
}
