//! A scope belongs to the thread that completes it.
fn main() {
    let world = oxshmem::World::init().unwrap();
    let numbers = world.allocate_slice(4, 0).unwrap();
    world.scope(|scope| {
        std::thread::scope(|threads| _ = threads.spawn(|| scope.put(&numbers, &[1], 0)));
    });
}
