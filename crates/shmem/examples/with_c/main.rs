//! Rust and C in one process, in one world: a library in C works on memory that Rust has allocated.

use std::ffi::{c_double, c_int};

use oxshmem::{Symmetric, World, symmetric};

symmetric! {
    static MEAN: f64 = 0.0;
}

mod c {
    use super::{c_double, c_int};
    unsafe extern "C" {
        /// Of `average.c`: the mean of everybody's `value`, through a team of its own.
        pub(crate) fn average(mean: *mut c_double, value: c_double) -> c_int;
    }
}

/// The C function in the clothes of this crate.
fn average(_world: &World, mean: &Symmetric<f64>, value: f64) -> c_int {
    // SAFETY: the library is initialised, `mean` is symmetric, and all PEs make this call in the thread with the world.
    unsafe { c::average(mean.as_ptr(), value) }
}

fn main() -> Result<(), oxshmem::Error> {
    let world = World::init()?;
    let pes_by_c = average(&world, &MEAN, world.my_pe() as f64);
    assert_eq!(pes_by_c as usize, world.n_pes());
    assert_eq!(MEAN.load(), (world.n_pes() - 1) as f64 / 2.0);
    if world.my_pe() == 0 {
        println!("C says that {pes_by_c} PEs have the mean {}", MEAN.load());
    }
    Ok(())
}
