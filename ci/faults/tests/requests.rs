//! Collectives that return at once: their number, and what programs do with requests.

#![allow(non_snake_case, reason = "tests carry the number of the fault")]

use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use oxshmem_faults::{Job, program_with};

/// A job that hangs takes longer than this on every machine.
const LIMIT: Duration = Duration::from_secs(300);

static REQUESTS: LazyLock<PathBuf> = LazyLock::new(|| program_with("requests.c", &["-pthread"]));

#[test]
fn fault_N1_any_number_of_collectives_of_a_team_is_under_way_in_any_order() {
    for job in ["-n 2", "-n 2 --nodes 2"] {
        for order in ["forwards", "backwards", "shuffled", "tested"] {
            println!("{job}, {order}");
            Job::new(job).limit(LIMIT).run(&REQUESTS, ["many", "10000", order]).expect(0);
        }
    }
}

#[test]
fn fault_N3_a_copy_of_a_request_says_that_the_collective_is_over() {
    for job in ["-n 2", "-n 2 --nodes 2"] {
        for level in ["0", "2"] {
            Job::new(job).env("SHMEM_CHECK", level).limit(LIMIT).run(&REQUESTS, ["twice"]).expect(0);
        }
    }
}

#[test]
fn fault_N3_garbage_is_named() {
    for level in ["0", "1", "2", "3"] {
        for what in ["number", "address", "ones", "next", "team", "null"] {
            let ended = Job::new("-n 2").env("SHMEM_CHECK", level).limit(LIMIT).run(&REQUESTS, ["garbage", what]);
            let words = match what {
                "null" => ["shmem_req_wait: request is NULL", ""],
                _ => ["shmem_req_wait: request is 0x", "which was never a request"],
            };
            assert!(!ended.crashed(), "{what} at level {level}: {ended}");
            ended.expect(1).says(&words);
        }
    }
}

#[test]
fn fault_N3_requests_that_nobody_waits_for_end_with_the_job() {
    for job in ["-n 3", "-n 3 --nodes 3"] {
        let count = if job == "-n 3" { "100000" } else { "20000" };
        Job::new(job).limit(LIMIT).run(&REQUESTS, ["never", count]).expect(0);
    }
}
