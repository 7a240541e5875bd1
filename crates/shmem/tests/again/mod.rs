//! Tests that need a job of their own.

use std::process::Command;

use oxshmem::test::{Ended, launch};

/// Runs the test of this name, ignored or not, as the PEs of a job with these variables. `OXSHMEM_TEST_CALL` tells them
/// that they are PEs.
pub(crate) fn again(pes: usize, test: &str, variables: &[(&str, &str)]) -> Vec<Ended> {
    let job = launch(pes, |_| {
        let mut command = Command::new(std::env::current_exe()?);
        command.args([test, "--exact", "--nocapture", "--include-ignored"]);
        command.env("OXSHMEM_TEST_CALL", "0").envs(variables.iter().copied());
        Ok(command)
    });
    job.expect("the job runs")
}
