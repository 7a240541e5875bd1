//! Many PEs over TCP on one machine: each talks to every other one.
#![allow(non_snake_case, reason = "tests carry the number of the fault")]

use std::time::Duration;

use oxshmem_faults::{Job, MemoryGroup, program};

/// A job that takes longer hangs. The slowest of these took 80 s on two busy processors.
const LIMIT: Duration = Duration::from_secs(900);

fn everybody(pes: u32, nodes: u32, job: Job) {
    let ended = job.env("SHMEM_TRANSPORT", "tcp").limit(LIMIT).run(&program("everybody.c"), [""; 0]).expect(0);
    println!("{nodes} nodes: {}", ended.stdout.trim());
    assert!(ended.stdout.contains(&format!("{pes} PEs met")), "{ended}");
    assert!(!ended.stderr.contains("oxshmem: PE"), "{ended}");
}

#[test]
fn fault_R1_every_pe_of_256_reaches_every_other_one_over_tcp() {
    for nodes in [8, 32] {
        everybody(256, nodes, Job::new(&format!("-n 256 --nodes {nodes}")));
    }
}

/// Half a million connections take gigabytes of the kernel's memory, so these jobs run inside a group and every week only.
#[test]
fn fault_R1_every_pe_of_1024_reaches_every_other_one_over_tcp() {
    if std::env::var_os("CHECK_LONG").is_none() {
        return println!(
            "not run: fault_R1 with 512 and 1,024 PEs: it takes minutes and 12 GiB (CHECK_LONG=1 runs it)"
        );
    }
    for (pes, gib) in [(512, 6), (1024, 14)] {
        let Some(group) = MemoryGroup::or_say(gib << 30) else { return };
        everybody(pes, 16, Job::new(&format!("-n {pes} --nodes 16")).inside(&group));
        println!("{pes} PEs took {} MiB", group.peak() >> 20);
    }
}
