//! Many PEs over TCP on one machine: each talks to every other one.
#![allow(non_snake_case, reason = "tests carry the number of the fault")]

use std::collections::VecDeque;
use std::io::Write;
use std::net::{Ipv4Addr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use oxshmem_faults::{Job, MemoryGroup, is_long, not_run, program, program_with};

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
    for nodes in if is_long() { vec![8, 32] } else { vec![32] } {
        everybody(256, nodes, Job::new(&format!("-n 256 --nodes {nodes}")));
    }
}

/// Half a million connections take gigabytes of the kernel's memory, so these jobs run inside a group and every week only.
#[test]
fn fault_R1_every_pe_of_1024_reaches_every_other_one_over_tcp() {
    if !is_long() {
        return not_run("jobs of 512 and 1,024 PEs take minutes and 12 GiB (CHECK_LONG=1 runs them)");
    }
    for (pes, gib) in [(512, 6), (1024, 14)] {
        let Some(group) = MemoryGroup::or_say(gib << 30) else { return };
        everybody(pes, 16, Job::new(&format!("-n {pes} --nodes 16")).inside(&group));
        println!("{pes} PEs took {} MiB", group.peak() >> 20);
    }
}

/// More sets of PEs of several nodes want to meet at once than there are slots for that, and the only two PEs that can go on come last.
#[test]
fn fault_R1_active_sets_that_wait_for_each_other_in_turn_meet() {
    let chain = program_with("pairs_in_a_chain.c", &["-Wno-deprecated-declarations"]);
    let job = Job::new("-n 132 --nodes 132").env("SHMEM_TRANSPORT", "tcp").limit(Duration::from_secs(300));
    assert!(job.run(&chain, [""; 0]).expect(0).stdout.contains("132 PEs met in a chain"));
}

/// More members have come to sets of one first PE than that keeps names, and the one that it meets first comes last.
#[test]
fn fault_R1_active_sets_meet_whoever_has_come_before_their_first_pe() {
    let early = program_with("early_members.c", &["-Wno-deprecated-declarations", "-pthread"]);
    let job = Job::new("-n 6 --nodes 6").env("SHMEM_TRANSPORT", "tcp").limit(Duration::from_secs(300));
    assert!(job.run(&early, [""; 0]).expect(0).stdout.contains("all sets have met"));
}

/// Strangers that hold connections, say half a hello or nothing, and come again at once.
fn besiege(ports: std::ops::Range<u16>, over: &AtomicBool, came: &AtomicU64) {
    let mut held = VecDeque::new();
    while !over.load(Ordering::Relaxed) {
        for port in ports.clone() {
            // Between two jobs nobody listens.
            let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else { continue };
            let number = came.fetch_add(1, Ordering::Relaxed);
            // A connection that was sent away already takes no words.
            let _ = stream.write(&[0; 64][..number as usize % 64]);
            held.push_back(stream);
            if held.len() > 300 {
                held.pop_front();
            }
        }
    }
}

#[test]
fn fault_R1_strangers_keep_no_pe_out() {
    const PES: u16 = 8;
    let everybody = program("everybody.c");
    let first = 20_000 + (std::process::id() % 1_000) as u16 * PES;
    let ports = first..first + PES;
    let (over, came) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let _end = SiegeEnd(&over);
        for _ in 0..2 {
            scope.spawn(|| besiege(ports.clone(), &over, &came));
        }
        let mut starts = 0;
        let (most, strangers) = if is_long() { (20, 50_000) } else { (6, 12_000) };
        while starts < most || came.load(Ordering::Relaxed) < strangers {
            let job = Job::new(&format!("-n {PES} --nodes 4")).env("SHMEM_TRANSPORT", "tcp").limit(LIMIT);
            let ended =
                job.env("SHMEM_TCP_PORTS", format!("{first}-{}", ports.end - 1)).run(&everybody, [""; 0]).expect(0);
            assert!(ended.stdout.contains("8 PEs met"), "{ended}");
            starts += 1;
        }
        println!("{} connections of strangers during {starts} starts", came.load(Ordering::Relaxed));
    });
}

/// Ends the siege also where the test fails.
struct SiegeEnd<'a>(&'a AtomicBool);

impl Drop for SiegeEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
