//! PEs that end without a word, and the order of their output.
#![allow(non_snake_case, reason = "tests carry the number of the fault")]

use std::time::Duration;

use oxshmem_faults::{Job, program};

/// A job that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(30);

#[test]
fn fault_W3_a_pe_that_is_gone_without_a_word_ends_the_job() {
    let vanish = program("vanish.c");
    for (options, way, call) in [
        ("-n 3", "_exit", "barrier"),
        ("-n 3", "exec", "barrier"),
        ("-n 3", "exec_true", "later"),
        ("-n 3", "quick_exit", "barrier"),
        ("-n 3", "syscall", "later"),
        ("-n 3", "daemon", "barrier"),
        ("-n 2", "_exit", "wait"),
        ("-n 2", "exec", "wait"),
        ("-n 4 --nodes 2", "_exit", "barrier"),
        ("-n 4 --nodes 2", "exec", "later"),
        ("-n 2 --nodes 2", "_exit", "barrier"),
        ("-n 2 --nodes 2", "exec", "barrier"),
        ("-n 2 --nodes 2", "_exit", "wait"),
    ] {
        let ended = Job::new(options).limit(LIMIT).run(&vanish, [way, call]);
        println!("{options} {way} {call}: {:?}\n{}", ended.took, ended.stderr);
        assert_eq!(ended.status, Some(1), "{options} {way} {call}: {ended}");
        let is_told = ["has ended without shmem_finalize", "connection", "reach"];
        assert!(is_told.iter().any(|words| ended.stderr.contains(words)), "{options} {way} {call}: {ended}");
    }
}

#[test]
fn fault_W3_a_killed_pe_still_decides_the_status() {
    let vanish = program("vanish.c");
    for options in ["-n 3", "-n 4 --nodes 2"] {
        let ended = Job::new(options).limit(LIMIT).run(&vanish, ["kill", "barrier"]).expect(137);
        ended.says(&["was killed by SIGKILL"]);
    }
}

/// A PE without descriptors is no PE that is gone.
#[test]
fn fault_W3_a_pe_that_closes_every_descriptor_is_still_there() {
    let ended = Job::new("-n 3").limit(LIMIT).run(&program("vanish.c"), ["closefrom", "barrier"]);
    assert!(ended.stdout.contains("together"), "{ended}");
    assert!(!ended.stderr.contains("without shmem_finalize, and"), "{ended}");
}
