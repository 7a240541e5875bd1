//! Tests that need a job of their own.

use std::process::Command;

use oxshmem::test::{Ended, launch};

/// Runs the test of this name, ignored or not, as the PEs of a job with these variables. `OXSHMEM_TEST_CALL` tells them
/// that they are PEs. A name that no test has is a mistake of the caller: the harness then runs nothing, and ends well.
pub(crate) fn again(pes: usize, test: &str, variables: &[(&str, &str)]) -> Vec<Ended> {
    let job = launch(pes, |_| {
        let mut command = Command::new(std::env::current_exe()?);
        command.args([test, "--exact", "--nocapture", "--include-ignored"]);
        command.env("OXSHMEM_TEST_CALL", "0").envs(variables.iter().copied());
        Ok(command)
    });
    let job = job.expect("the job runs");
    for pe in &job {
        let has_run = pe.out.lines().any(|line| line == "running 1 test");
        assert!(has_run, "a PE ran no test `{test}`: {}\n{}{}", pe.status, pe.out, pe.err);
    }
    job
}
