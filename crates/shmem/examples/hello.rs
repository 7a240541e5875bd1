//! The smallest program: `oshrun -n 4 hello`.
#![forbid(unsafe_code)]

fn main() -> Result<(), oxshmem::Error> {
    let world = oxshmem::World::init()?;
    println!("Hello from PE {} of {}", world.my_pe(), world.n_pes());
    Ok(())
}
