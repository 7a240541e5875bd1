//! Properties of this machine that tests ask for, and whether they may take long.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::{not_run, prefix};

/// Whether there is a program of this name; what is not run without it is said.
pub fn has_program(name: &str) -> bool {
    let found = Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        not_run(format_args!("there is no {name}"));
    }
    found
}

/// Whether the installation has Fortran modules; what is not run without them is said.
pub fn has_fortran_modules() -> bool {
    let found = prefix().join("include/shmem_f08.mod").exists();
    if !found {
        not_run("there are no Fortran modules (gfortran was not there)");
    }
    found
}

/// Whether something comes true within this time.
pub fn comes_true(limit: Duration, mut is_true: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while !is_true() {
        if begun.elapsed() > limit {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

/// Waits for something that must come true within this time.
#[track_caller]
pub fn until(what: &str, limit: Duration, is_true: impl FnMut() -> bool) {
    assert!(comes_true(limit, is_true), "waited in vain until {what}");
}

/// Whether checks that take minutes are to run.
pub fn is_long() -> bool {
    std::env::var_os("CHECK_LONG").is_some()
}

/// One of these, whose turn it is; all where checks may take minutes.
pub fn by_turns<T>(all: &[T], turn: usize) -> &[T] {
    let one = turn % all.len();
    if is_long() { all } else { &all[one..=one] }
}
