//! Symmetric memory stays while a transfer works on it.
fn main() {
    let world = oxshmem::World::init().unwrap();
    let numbers = world.allocate_slice(4, 0).unwrap();
    let transfer = numbers.put_owned(vec![1, 2], 0);
    drop(numbers);
    transfer.wait();
}
