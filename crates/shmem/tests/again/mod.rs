//! Tests that need a job of their own.
#![allow(dead_code, reason = "every test program uses a part of it")]

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

/// The PEs of a job of their own that run the test of this thread, with these variables; `None` in such a PE.
pub(crate) fn own_job(pes: usize, variables: &[(&str, &str)]) -> Option<Vec<Ended>> {
    let is_pe = std::env::var_os("OXSHMEM_TEST_CALL").is_some();
    (!is_pe).then(|| again(pes, std::thread::current().name().expect("the harness names threads by tests"), variables))
}

/// The standard error of [`own_job`], all of whose PEs end well.
pub(crate) fn own_words(pes: usize, variables: &[(&str, &str)]) -> Option<String> {
    let job = own_job(pes, variables)?;
    assert!(job.iter().all(|pe| pe.status.success()), "{job:?}");
    Some(job.into_iter().map(|pe| pe.err).collect())
}
