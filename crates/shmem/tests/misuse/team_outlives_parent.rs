//! A team ends before the team it was split from.
fn main() {
    let world = oxshmem::World::init().unwrap();
    let parent = world.split_strided(0, 1, 1).unwrap().unwrap();
    let child = parent.split_strided(0, 1, 1).unwrap();
    drop(parent);
    drop(child);
}
