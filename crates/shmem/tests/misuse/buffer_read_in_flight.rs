//! A buffer that is being filled is not read before the data is there.
fn main() {
    let world = oxshmem::World::init().unwrap();
    let numbers = world.allocate_slice(4, 0).unwrap();
    let mut buffer = [0, 0];
    world.scope(|scope| {
        scope.get(&numbers, &mut buffer, 0);
        println!("{}", buffer[0]);
    });
}
