//! A static belongs to all the program, so nobody gets it alone.
oxshmem::symmetric! {
    static NUMBERS: [u64; 4] = [0; 4];
}
fn main() {
    let world = oxshmem::World::init().unwrap();
    world.exclusive(&mut NUMBERS, |mine| mine.fill(1));
}
