//! Records of a PE that starts a job of its own, and of one that executes another program in its place.

#![allow(non_snake_case, reason = "tests carry a number")]

use std::path::Path;

use oxshmem_faults::{Job, JobEnd, TestFolder, program};
use oxshmem_profile::job::RecordedJob;

/// Runs the program with a profile. How it ended, how many PEs are recorded, and their calls of some routines.
fn recorded(folder: &Path, argument: &str) -> (JobEnd, u32, [u64; 3]) {
    let job = Job::new(&format!("-n 2 --profile={}", folder.display()));
    let ended = job.run(&program("job_in_pe.c"), [argument]).expect(0);
    assert!(ended.stdout.contains("alone: PE 0 of 1"), "{ended}");
    let records = RecordedJob::read(folder).expect("records can be read").expect("there are records");
    let sites = || records.ledgers.iter().flat_map(|ledger| ledger.sites.values());
    let calls = |routine: &str| sites().filter(|site| site.routine == routine).map(|site| site.calls).sum();
    let calls = ["shmem_barrier_all", "shmem_long_g", "shmem_long_p"].map(calls);
    (ended, records.pes, calls)
}

#[test]
fn profile_15_a_job_that_a_pe_starts_alone_takes_no_record_of_the_outer_job() {
    let folder = TestFolder::new("profile-15");
    let (ended, pes, calls) = recorded(&folder, "once");
    assert_eq!((pes, calls), (2, [2 * 4, 0, 0]), "{ended}");
    ended.says(&["profile of 2 PEs"]);
}

#[test]
fn profile_15_a_program_that_a_pe_executes_in_its_place_is_recorded() {
    let folder = TestFolder::new("profile-15-again");
    let (ended, pes, calls) = recorded(&folder, "again");
    // The record of a PE is that of its last program.
    assert_eq!((pes, calls), (2, [0, 0, 2 * 7]), "{ended}");
}
