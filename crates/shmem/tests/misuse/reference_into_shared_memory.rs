//! Nobody gets a reference to what other PEs may write.
fn main() {
    let world = oxshmem::World::init().unwrap();
    let numbers = world.allocate_slice(4, 0_u64).unwrap();
    let first: &u64 = &numbers[0];
    println!("{first}");
}
