//! Limits that shells, schedulers and other users set.
#![allow(non_snake_case, reason = "tests carry the number of the fault")]

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::Command;
use std::time::Duration;

use oxshmem_faults::{Job, MemoryGroup, OtherUser, not_run, prefix, program};

#[test]
fn fault_T6_a_lock_on_meminfo_holds_nobody() {
    let allocate = program("calloc.c");
    // In a `/proc` of its own: the lock would hold all jobs of an older library on this machine.
    let script = "flock /proc/meminfo sleep 1000 & until ! flock -n /proc/meminfo true; do :; done; exec \"$0\" \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "/bin/sh", "-c", script]);
    let probe = Command::new("unshare").args(["--mount", "--pid", "--fork", "--mount-proc", "true"]).output();
    if !probe.is_ok_and(|probe| probe.status.success()) {
        return not_run("unshare cannot make a /proc of its own here");
    }
    command.arg(prefix().join("bin/oshrun")).args(["-n", "3"]);
    // The library waited for half a minute.
    let ended = Job::by(command).limit(Duration::from_secs(28)).run(&allocate, [""; 0]).expect(0);
    assert!(ended.stdout.contains("done"), "{ended}");
}

/// Each PE is process 1 of a container; the network is the host's, or one of its own.
#[test]
fn pes_in_containers_of_their_own_meet_where_they_share_the_network() {
    let allocate = program("calloc.c");
    let may = |namespace: &str| {
        let probe = Command::new("unshare").args([namespace, "--fork", "true"]).output();
        probe.is_ok_and(|probe| probe.status.success())
    };
    if !may("--pid") || !may("--net") {
        return not_run("unshare cannot make a container here");
    }
    let job = Job::new("-n 3 unshare --pid --fork --kill-child").limit(Duration::from_secs(28));
    let ended = job.run(&allocate, [""; 0]).expect(0);
    assert!(ended.stdout.contains("done"), "{ended}");
    let job = Job::new("-n 2 unshare --net").limit(Duration::from_secs(28));
    job.run(&allocate, [""; 0]).expect(1).says(&["does not listen in the network of PE 1 (net:[", "--network=host"]);
}

/// Allocations of a size that needs no turn, and of one that does in a group of 512 MiB, whose reserve is 16 MiB.
const SIZES: [&str; 3] = ["80", "20000000", "80"];

/// The names of the turn of the user who runs the tests.
fn turn() -> Vec<String> {
    let user = Command::new("id").arg("-u").output().expect("id is everywhere").stdout;
    (0..8).map(|number| format!("oxshmem/memory/{}/{number}", String::from_utf8_lossy(&user).trim())).collect()
}

#[test]
fn fault_T6_a_turn_that_another_user_keeps_holds_nobody() {
    let allocate = program("allocate.c");
    let Some(group) = MemoryGroup::or_say(512 << 20) else { return };
    let names = turn();
    // All names, and the first ones, between jobs that use the others.
    for count in [names.len(), 3] {
        let begun = std::iter::repeat_with(|| {
            std::thread::sleep(Duration::from_millis(10));
            OtherUser::listens(&names[..count])
        });
        // A job of another test may have a name for a moment.
        let Some(_stranger) = begun.take(100).find_map(|stranger| stranger) else { return };
        for options in ["-n 3", "-n 4 --nodes 2"] {
            let job = Job::new(options).limit(Duration::from_secs(28)).inside(&group);
            let ended = job.run(&allocate, SIZES).expect(0);
            assert_eq!(ended.stdout.matches("served").count(), SIZES.len(), "{options}: {ended}");
        }
    }
}

#[test]
fn fault_T6_a_turn_that_a_process_of_the_user_keeps_holds_no_small_allocation() {
    let allocate = program("calloc.c");
    let address = SocketAddr::from_abstract_name(turn()[0].as_bytes()).expect("a short name");
    // A job of another test may have it for a moment.
    let kept = (0..10_000).find_map(|_| {
        std::thread::sleep(Duration::from_millis(1));
        UnixListener::bind_addr(&address).ok()
    });
    assert!(kept.is_some(), "nobody keeps the turn for ten seconds");
    for options in ["-n 3", "-n 4 --nodes 2"] {
        let job = Job::new(options).limit(Duration::from_secs(28));
        assert!(job.run(&allocate, [""; 0]).expect(0).stdout.contains("done"), "{options}");
    }
}

#[test]
fn fault_V1_jobs_start_under_a_limit_of_addresses_or_say_what_they_need() {
    let hello = program("hello.c");
    // A heap of 16 GiB for each PE needed 48 GiB besides 16 of control windows.
    for (kilobytes, pes) in [(20_000_000, "2"), (40_000_000, "2"), (40_000_000, "4")] {
        let mut job = Job::under(&format!("-v {kilobytes}"), "oshrun");
        job.command().args(["-n", pes]);
        let ended = job.run(&hello, [""; 0]).expect(0);
        assert!(!ended.stdout.is_empty(), "{ended}");
    }
    let mut job = Job::under("-v 4000000", "oshrun");
    job.command().args(["-n", "2"]);
    job.run(&hello, [""; 0]).expect(1).says(&["the limit of addresses", "2 PEs of one node need", "raise it by"]);
    let mut job = Job::under("-v 20000000", "oshrun").env("SHMEM_SYMMETRIC_SIZE", "16G");
    job.command().args(["-n", "2"]);
    job.run(&hello, [""; 0]).expect(1).says(&["the limit of addresses", "raise it by", "SHMEM_SYMMETRIC_SIZE"]);
}

#[test]
fn values_that_no_node_can_serve_are_named_once_with_those_that_it_can() {
    let hello = program("hello.c");
    let refused = |variables: &[(&str, &str)], words: &[&str]| {
        let job = variables.iter().fold(Job::new("-n 2"), |job, (name, value)| job.env(name, value));
        let ended = job.run(&hello, [""; 0]).expect(1).says(words);
        assert_eq!(ended.stderr.matches(words[0]).count(), 1, "{ended}");
        assert!(!ended.stderr.contains("could not meet"), "{ended}");
    };
    refused(
        &[("SHMEM_SYMMETRIC_SIZE", "1000000G")],
        &["SHMEM_SYMMETRIC_SIZE=1000000G is too large for 2 PEs", "enough for 16 TiB", "to 16131G or less"],
    );
    let pages = ("SHMEM_SYMMETRIC_HEAP_PAGE_SIZE", "3M");
    refused(
        &[("SHMEM_SYMMETRIC_HEAP_USE_HUGE_PAGES", "1"), pages],
        &["SHMEM_SYMMETRIC_HEAP_PAGE_SIZE=3M is no size of huge pages of this kernel", "to fix:"],
    );
}

#[test]
fn fault_V2_a_limit_of_open_files_is_named_with_what_is_enough() {
    let hello = program("hello.c");
    let mut refused = 0;
    for files in [12, 16, 18, 20, 22, 24, 28, 32, 68] {
        let mut job = Job::under(&format!("-n {files}"), "oshrun");
        job.command().args(["-n", "2"]);
        let ended = job.run(&hello, [""; 0]);
        if ended.status != Some(0) {
            refused += 1;
            ended.says(&["(ulimit -n)", "are enough"]);
        }
    }
    assert!(refused > 0, "no limit was too low");
}
