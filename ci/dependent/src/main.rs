//! A program in Rust whose part in C uses OpenSHMEM. `cargo xtask test dependent` builds it with the installed library and with its own.

use std::ffi::c_int;

// Links the library, whose routines only the C part calls.
use oxshmem_c as _;

unsafe extern "C" {
    /// Of `part.c`: makes one job of its own and returns how many maxima are wrong.
    safe fn part() -> c_int;
}

fn main() {
    assert_eq!(part(), 0);
}
