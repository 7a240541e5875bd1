//! A buffer outlives the transfers that use it.
fn main() {
    let world = oxshmem::World::init().unwrap();
    let numbers = world.allocate_slice(4, 0).unwrap();
    world.scope(|scope| {
        let buffer = vec![1, 2];
        scope.put(&numbers, &buffer, 0);
    });
}
