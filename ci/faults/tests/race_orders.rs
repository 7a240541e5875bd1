//! `oshcc --race`: each way in which programs order accesses, once as it should be and once with a mistake.
//!
//! The programs lie in `programs/race`. A mistake is found; the program without it is silent, on one node and on three.

use std::path::Path;

use oxshmem_faults::{Complaint, FOUND, Job, expect_no_complaints, program_with};

/// Cases for which PEs must reach each other's memory by a pointer.
const ONE_NODE: [&str; 5] =
    ["lock_of_the_language", "flag_of_the_language", "flag_of_two_words", "flags_in_one_word", "load_without_order"];

/// Words that the reports of some cases must have.
const WORDS: &[(&str, &[&str])] = &[
    (
        "target_before_wait",
        &["the buffer of a collective that is under way", "a load by PE", "long_sum_reduce_nb by PE"],
    ),
    ("source_before_wait", &["a store by PE 0", "follows shmemx_long_broadcast_nb by PE 0", "shmem_req_wait"]),
    ("test_without_success", &["a load by PE 0", "shmemx_long_fcollect_nb by PE 0"]),
    ("put_into_a_target", &["`table` of PE 0 (bytes 8", "shmemx_long_alltoall_nb by PE 0", "shmem_long_p by PE 1"]),
    ("get_of_a_target", &["`table` of PE 1", "shmemx_long_max_reduce_nb by PE 1", "shmem_long_g by PE 0"]),
    ("one_target_for_two", &["shmemx_long_fcollect_nb by PE", "follows shmemx_long_sum_reduce_nb by PE"]),
    ("put_that_is_not_counted", &["`table` of PE 1 (bytes 16", "shmem_putmem by PE 0"]),
    ("source_of_a_counted_get", &["`table` of PE 0 (bytes 24", "shmemx_getmem_ct by PE 1", "a store by PE 0"]),
    ("put_before_varying_blocks", &["of PE 0 (bytes 64", "shmem_long_p by PE 1", "shmemx_team_alltoallv by PE 0"]),
    ("get_of_packed_blocks", &["of PE 1", "shmemx_team_alltoallv_packed by PE 1", "shmem_long_g by PE 0"]),
];

/// Runs all cases of a program, both ways.
fn all_cases(source: &str, options: &[&str]) {
    let options: Vec<&str> = ["--race"].iter().chain(options).copied().collect();
    let program = program_with(&format!("race/{source}"), &options);
    let list = Job::new("-n 1").run(&program, ["list"]).expect(0).stdout;
    let mut wrong = Vec::new();
    for case in list.lines() {
        wrong.extend(case_is_judged(&program, case));
    }
    expect_no_complaints(&wrong);
}

/// Complaints about the detector's word on a case.
fn case_is_judged(program: &Path, case: &str) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let words = WORDS.iter().find(|(of, _)| *of == case).map_or(&[][..], |(_, words)| words);
    let nodes = ["-n 3", "-n 3 --nodes 3"];
    for options in &nodes[..if ONE_NODE.contains(&case) { 1 } else { 2 }] {
        let ended = Job::new(options).run(program, [case, "wrong"]);
        if ended.status != Some(FOUND) || !words.iter().all(|word| ended.stderr.contains(word)) {
            complaints.push(Complaint::new(format!("{case} is not found as {words:?} with {options}"), ended));
        }
        let ended = Job::new(options).run(program, [case, "right"]);
        if ended.status != Some(0) || ended.stderr.contains("data race on") {
            complaints.push(Complaint::new(format!("{case} is right, but accused or ended with {options}"), ended));
        }
    }
    complaints
}

#[test]
fn requests_counters_and_varying_blocks() {
    all_cases("requests.c", &[]);
}

#[test]
fn orders_of_one_thread_for_each_pe() {
    all_cases("orders.c", &[]);
}

#[test]
fn words_that_pes_wait_for() {
    all_cases("words.c", &[]);
}

#[test]
fn pes_with_several_threads() {
    all_cases("threads.c", &["-fopenmp", "-pthread"]);
}
