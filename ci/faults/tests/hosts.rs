//! Faults between hosts and processes: forks, strangers, encryption, files that stay behind.
#![allow(non_snake_case, reason = "tests carry the number of the fault")]

use std::path::Path;
use std::time::Duration;

use oxshmem_faults::{Job, JobEnd, not_run, program, program_with};

/// Two PEs that are two nodes over a transport, or one node over none. `None`: this machine does not have it, which is said.
fn over(transport: &str) -> Option<Job> {
    if transport.is_empty() {
        return Some(Job::new("-n 2"));
    }
    let job = || Job::new("-n 2 --nodes 2").env("SHMEM_TRANSPORT", transport);
    let tried = job().run(&program("hello.c"), [""; 0]);
    if tried.lacks_transport(transport) {
        return None;
    }
    tried.expect(0);
    Some(job())
}

/// All transports between nodes, and none.
const TRANSPORTS: [&str; 5] = ["", "tcp", "ofi:tcp;ofi_rxm", "ofi:shm", "ucx:tcp"];

#[test]
fn fault_W5_a_forked_child_disturbs_nobody_and_gets_a_sentence() {
    let forked = program_with("forked.c", &["-Wno-deprecated-declarations"]);
    for transport in TRANSPORTS {
        let Some(job) = over(transport) else { continue };
        let ended: JobEnd = job.run(&forked, [""; 0]).expect(0);
        assert!(!ended.stdout.contains("has"), "{transport}: {ended}");
        assert_eq!(ended.stdout.matches("done").count(), 2, "{transport}: {ended}");
        // The children of both PEs that make a call, and none of those that only exit. `oshrun` shows an error that both say once, and
        // names the other PE in a note.
        let shown = ended.stderr.matches("because: the connections, the memory of other PEs").count();
        let notes = ended.stderr.matches("  (and 1 other: PE ").count();
        assert_eq!(shown + notes, 2 * 18, "{transport}: {ended}");
        for call in 0..19 {
            // The first child finalizes and the last one makes no call; one ends with a status of its own.
            let status = match call {
                0 | 18 => 0,
                11 => 3,
                _ => 1,
            };
            for pe in 0..2 {
                let line = format!("PE {pe} call {call} status {status}\n");
                assert!(ended.stdout.contains(&line), "{transport}: {line}{ended}");
            }
        }
    }
}

/// Its C library shares its variables with the child until the library gives the child others. The connections have a thread.
#[test]
fn a_fully_static_program_outlives_its_children() {
    if !Path::new("/usr/lib/x86_64-linux-gnu/libc.a").exists() && !Path::new("/usr/lib64/libc.a").exists() {
        return not_run("no static program can be linked here");
    }
    let forked = program_with("forked.c", &["-static", "-Wno-deprecated-declarations"]);
    for shape in ["-n 2", "-n 2 --nodes 2"] {
        let ended = Job::new(shape)
            .env("SHMEM_TRANSPORT", "tcp")
            .limit(Duration::from_secs(60))
            .run(&forked, [""; 0])
            .expect(0);
        assert_eq!(ended.stdout.matches("done").count(), 2, "{shape}: {ended}");
    }
}

#[test]
fn fault_L2_encryption_on_one_side_is_the_reason_that_is_told_at_once() {
    let program = program("hello.c");
    for pe in 0..2 {
        let job = Job::new("-n 2 --nodes 2").env("SHMEM_TRANSPORT", "tcp").env("SHMEM_PEER_TIMEOUT", "1000");
        let ended = job.run_where(pe, "SHMEM_TCP_ENCRYPT=1", &program, &[]).expect(1);
        assert!(!ended.stderr.contains("does not belong to this job"), "{ended}");
        ended.says(&[&format!("SHMEM_TCP_ENCRYPT is set for PE {pe} and not for PE {}", 1 - pe)]);
    }
}

/// Connections of further rails would find no place at a PE that has fewer.
#[test]
fn rails_on_one_side_are_the_reason_that_is_told_at_once() {
    let program = program_with("eager.c", &["-Wno-deprecated-declarations"]);
    let job = Job::new("-n 2 --nodes 2").env("SHMEM_TRANSPORT", "tcp");
    let ended = job.run_where(1, "SHMEM_RAILS=2", &program, &[]).expect(1);
    ended.says(&["SHMEM_RAILS is 1 for PE 0 and more than 1 for PE 1", "set SHMEM_RAILS alike for all PEs"]);
}

#[test]
fn fault_L4_pes_of_one_machine_listen_on_loopback_only() {
    let program = program("listening.c");
    let job = || Job::new("-n 2 --nodes 2").env("SHMEM_TRANSPORT", "tcp");
    let ended = job().run(&program, [""; 0]).expect(0);
    let listening: Vec<&str> = ended.stdout.lines().filter(|line| line.contains("listens on")).collect();
    assert!(listening.len() == 2 && listening.iter().all(|line| line.ends_with(" 127.0.0.1")), "{ended}");
    // The user has the last word, as long as the machine has another interface at all.
    let words = |ended: &JobEnd| ended.stdout.matches("listens on").count();
    let ended = job().env("SHMEM_TCP_INTERFACE", "lo").run(&program, [""; 0]).expect(0);
    assert_eq!(words(&ended), 2, "{ended}");
}

#[test]
fn fault_L5_no_end_leaves_files_of_libfabric_behind() {
    let program = program("ends.c");
    for (how, status) in [("finalize", 0), ("return", 0), ("exit", 3), ("kill", 137)] {
        let Some(job) = over("ofi:shm") else { return };
        let ended = job.run(&program, [how]).expect(status);
        let pids: Vec<&str> = ended.stdout.lines().filter_map(|line| line.strip_prefix("pid ")).collect();
        assert_eq!(pids.len(), 2, "{ended}");
        let files = std::fs::read_dir("/dev/shm").expect("a folder").flatten();
        let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
        let left: Vec<String> =
            names.filter(|name| pids.iter().any(|pid| name.starts_with(&format!("{pid}:")))).collect();
        assert!(left.is_empty(), "{how} leaves {left:?}: {ended}");
    }
}

#[test]
fn a_job_that_was_stopped_goes_on() {
    // The peers are as silent as this PE while all are stopped, and nobody is gone.
    let job = Job::new("-n 4 --nodes 4").env("SHMEM_TRANSPORT", "tcp").env("SHMEM_PEER_TIMEOUT", "4");
    let ended = job.run(&program("stopped.c"), ["all", "10"]).expect(0);
    assert!(ended.stdout.contains("all went on"), "{ended}");
}

#[test]
fn fault_W3_a_pe_that_is_stopped_for_ever_is_noticed() {
    let job = Job::new("-n 4 --nodes 4").env("SHMEM_TRANSPORT", "tcp").env("SHMEM_PEER_TIMEOUT", "3");
    let ended = job.run(&program("stopped.c"), ["last", "1000"]).expect(1);
    ended.says(&["PE 3 at", "is lost", "nothing has been heard of it for 3."]);
}

/// `srun --bcast` puts the program on each node under a name of its own.
#[test]
fn one_program_whose_file_has_another_name_on_each_node_is_one_program() {
    let one = program("hello.c");
    let other = one.with_extension("elsewhere");
    std::fs::copy(&one, &other).expect("a copy");
    for options in ["-n 1", "--nodes 2 -n 1"] {
        let ended = Job::new(options).run(&one, [":", "-n", "1", &other.display().to_string()]).expect(0);
        assert_eq!(ended.stdout.matches("what it should").count(), 2, "{options}: {ended}");
    }
}

#[test]
fn contexts_that_are_left_to_the_last_finalize_disturb_no_later_life() {
    let left = program("left_contexts.c");
    for transport in TRANSPORTS {
        let Some(job) = over(transport) else { continue };
        let ended = job.run(&left, [""; 0]).expect(0);
        assert_eq!(ended.stdout.matches("3 of 3 lives").count(), 2, "{transport}: {ended}");
    }
}
