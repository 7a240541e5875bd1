//! Properties of this machine that tests ask for, and whether they may take long.

use std::process::Command;

use crate::prefix;

/// Whether there is a program of this name.
pub fn has_program(name: &str) -> bool {
    Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Whether the installation has Fortran modules; without them it says that the test of this name is not run.
pub fn has_fortran_modules(test: &str) -> bool {
    let found = prefix().join("include/shmem_f08.mod").exists();
    if !found {
        println!("not run: {test}: there are no Fortran modules (gfortran was not there)");
    }
    found
}

/// Whether somebody wants what takes minutes.
pub fn is_long() -> bool {
    std::env::var_os("CHECK_LONG").is_some()
}
