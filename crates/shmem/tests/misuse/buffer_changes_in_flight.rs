//! A buffer that is being sent does not change.
fn main() {
    let world = oxshmem::World::init().unwrap();
    let numbers = world.allocate_slice(4, 0).unwrap();
    let mut buffer = [1, 2];
    world.scope(|scope| {
        scope.put(&numbers, &buffer, 0);
        buffer[0] = 3;
    });
}
