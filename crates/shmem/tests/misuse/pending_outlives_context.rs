//! A transfer is completed on its context, which must still be there.
fn main() {
    let world = oxshmem::World::init().unwrap();
    let numbers = world.allocate_slice(4, 0).unwrap();
    let transfer = {
        let context = world.context();
        numbers.put_owned(vec![1], context.pe(0))
    };
    transfer.wait();
}
