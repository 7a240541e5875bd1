//! A context ends before its team.
fn main() {
    let world = oxshmem::World::init().unwrap();
    let context = {
        let even = world.split_strided(0, 2, 1).unwrap().unwrap();
        even.context()
    };
    context.quiet();
}
