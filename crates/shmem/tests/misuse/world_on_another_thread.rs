//! The world stays where it is: with it a thread makes collective calls.
fn main() {
    let world = oxshmem::World::init().unwrap();
    std::thread::spawn(move || world.barrier());
}
