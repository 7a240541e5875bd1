//! Not even a transfer takes the slice of an epoch out of it.
fn main() {
    let world = oxshmem::World::init().unwrap();
    let mut numbers = world.allocate_slice(4, 0).unwrap();
    let transfer = world.exclusive(&mut numbers, |_mine| numbers.put_owned(vec![1], 0));
    transfer.wait();
}
