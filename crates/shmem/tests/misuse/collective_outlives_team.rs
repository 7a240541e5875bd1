//! A collective that has been started borrows its team.
fn main() {
    let world = oxshmem::World::init().unwrap();
    let started = {
        let even = world.split_strided(0, 2, 1).unwrap().unwrap();
        even.start_sum_of(1)
    };
    started.wait();
}
