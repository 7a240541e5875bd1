//! Records of a PE that calls the library inside of a call: a handler of signals does so while the PE waits.

#![allow(non_snake_case, reason = "tests carry a number")]

use std::path::Path;

use oxshmem_faults::{Job, TestFolder, line_of, program};

const PROGRAM: &str = "call_in_wait.c";

/// PE 0 is in a wait that only its handler ends, which would be a deadlock of its two PEs otherwise.
fn job(option: &str, path: &Path) -> Job {
    Job::new(&format!("-n 2 {option}={}", path.display())).env("SHMEM_DEADLOCK", "off")
}

#[test]
fn profile_14_a_wait_is_under_way_behind_the_calls_that_a_handler_has_made_in_it() {
    let folder = TestFolder::new("profile-14");
    let ended = job("--profile", &folder).run(&program(PROGRAM), ["die"]).expect(137);
    let line = line_of(PROGRAM, "shmem_long_wait_until(&flag");
    ended.says(&[&format!("verdict: PE 0 was ended in shmem_long_wait_until ({PROGRAM}:{line}): the time of a call")]);
}
