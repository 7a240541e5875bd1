//! `oshcc --race` and `SHMEM_CHECK=3`: small wrong programs are named, their corrected twins and correct programs are not.

use std::path::PathBuf;
use std::sync::LazyLock;

use oxshmem_faults::{FOUND, Job, JobEnd, has_fortran_modules, line_of, not_run, program, program_by, program_with};

/// Each case of `programs/races.c`, with words that its report must contain: what is in a race, and both accesses.
const CASES: &[(&str, &[&str])] = &[
    ("put_then_load", &["data race on `data` of PE 1 (8 bytes)", "shmem_long_p by PE 0 at races.c:", "a load by PE 1"]),
    ("store_then_get", &["`data` of PE 0", "a store by PE 0", "shmem_long_g by PE 1"]),
    ("two_puts", &["`table`", "shmem_long_put by PE 0", "shmem_long_put by PE 1"]),
    ("flag_without_fence", &["`table` of PE 1 (bytes 24 to 31, table[3])", "shmem_long_put by PE 0", "a load by PE 1"]),
    ("fence_for_another_pe", &["`data` of PE 1", "shmem_long_p by PE 0", "shmem_long_g by PE 2"]),
    (
        "source_changed_early",
        &["local buffer of a nonblocking operation", "a store by PE 0", "shmem_long_put_nbi by PE 0"],
    ),
    ("private_source_changed_early", &["local buffer of a nonblocking operation", "shmem_long_put_nbi by PE 0"]),
    ("target_read_early", &["local buffer of a nonblocking operation", "a load by PE 0", "shmem_long_get_nbi by PE 0"]),
    ("get_after_own_put", &["`data` of PE 1", "shmem_long_p by PE 0", "shmem_long_g by PE 0"]),
    ("next_iteration", &["`table`", "shmem_long_p by PE", "a load by PE"]),
    ("counter_read_plainly", &["`counter` of PE 0", "shmem_long_atomic_inc by PE", "a load by PE 0"]),
    ("counter_reset_plainly", &["`counter` of PE 0", "shmem_long_atomic_add by PE", "a store by PE 0"]),
    ("no_lock", &["`data` of PE 0", "shmem_long_p by PE"]),
    ("source_of_a_reduction", &["`data` of PE 0", "shmem_long_p by PE 1", "shmem_long_sum_reduce by PE 0"]),
    ("target_of_a_broadcast", &["`target", "shmem_long_broadcast by PE 1", "shmem_long_g by PE 0"]),
    (
        "signal_for_other_data",
        &["`table` of PE 1 (bytes 16 to 23, table[2])", "shmem_long_put_signal by PE 0", "a load by PE 1"],
    ),
    ("put_before_a_signal", &["`data` of PE 1", "shmem_long_p by PE 0", "a load by PE 1"]),
    ("wrong_flag", &["`data` of PE 1", "shmem_long_p by PE 0", "a load by PE 1"]),
    ("sync_of_another_team", &["`data` of PE 2", "shmem_long_p by PE 0", "a load by PE 2"]),
    ("quiet_of_another_context", &["`data` of PE 1", "shmem_ctx_long_p by PE 0", "a load by PE 1"]),
    ("fence_on_no_context", &["`data` of PE 1", "shmem_ctx_long_p by PE 0", "a load by PE 1"]),
    ("store_through_a_pointer", &["`data` of PE 1", "a store by PE 0", "a load by PE 1"]),
    ("block_of_the_heap", &["of the block of 800 bytes of PE 1, allocated at races.c:", "shmem_long_put by PE 0"]),
    ("strided_put", &["`table` of PE 1 (bytes 32 to 39, table[4])", "shmem_long_iput by PE 0", "a store by PE 1"]),
    ("fetch_read_early", &["local buffer of a nonblocking operation", "shmem_long_atomic_fetch_add_nbi by PE"]),
    ("poll_without_wait", &["data race on", "a store by PE 0"]),
];

/// The cases as one program, compiled once.
static RACES: LazyLock<PathBuf> = LazyLock::new(|| program_with("races.c", &["--race"]));

fn is_silent(ended: &JobEnd) -> bool {
    ended.status == Some(0) && !ended.stderr.contains("data race on")
}

#[test]
fn each_race_is_named_and_its_corrected_twin_is_silent() {
    let list = Job::new("-n 1").run(&RACES, ["list"]).expect(0).stdout;
    assert_eq!(list.lines().collect::<Vec<_>>(), CASES.iter().map(|(case, _)| *case).collect::<Vec<_>>());
    for (case, words) in CASES {
        Job::new("-n 3").run(&RACES, [case, "wrong"]).expect(FOUND).says(words).says(&["data race", "at races.c:"]);
        let ended = Job::new("-n 3").run(&RACES, [case, "right"]);
        assert!(is_silent(&ended), "{case}: {ended}");
    }
}

#[test]
fn a_pair_of_sites_is_reported_once() {
    let ended = Job::new("-n 4").run(&RACES, ["counter_read_plainly", "wrong"]).expect(FOUND);
    assert_eq!(ended.stderr.matches("data race on").count(), 1, "{ended}");
}

/// Cases whose PEs reach each other's memory by a pointer.
const ONE_NODE: [&str; 2] = ["store_through_a_pointer", "poll_without_wait"];

#[test]
fn on_several_nodes_the_verdicts_are_those_of_one_node() {
    for (case, words) in CASES.iter().filter(|(case, _)| !ONE_NODE.contains(case)) {
        Job::new("-n 3 --nodes 3").run(&RACES, [case, "wrong"]).expect(FOUND).says(words);
        for options in ["-n 3 --nodes 3", "-n 4 --nodes 2"] {
            let ended = Job::new(options).run(&RACES, [case, "right"]);
            assert!(is_silent(&ended), "{case} with {options}: {ended}");
        }
    }
}

#[test]
fn clang_instruments_programs_too() {
    let Some(program) = program_by(Some("clang"), "races.c", &["--race", "-O2"]) else {
        return not_run("clang is not on this machine");
    };
    Job::new("-n 3").run(&program, ["block_of_the_heap", "wrong"]).expect(FOUND).says(&["shmem_long_put by PE 0"]);
    let ended = Job::new("-n 3").run(&program, ["block_of_the_heap", "right"]);
    assert!(is_silent(&ended), "{ended}");
}

#[test]
fn a_block_of_the_fortran_module_is_allocated_in_a_line_of_the_program() {
    if !has_fortran_modules() {
        return;
    }
    let line = line_of("module_places.f90", "! allocated");
    let allocated = format!("of the block of 64 bytes of PE 1, allocated at module_places.f90:{line}\n");
    let ended = Job::new("-n 2").run(&program_with("module_places.f90", &["--race"]), [""; 0]).expect(FOUND);
    ended.says(&["shmem_double_p by PE 0 at module_places.f90:", &allocated]);
}

#[test]
fn a_block_of_fortran_that_is_made_longer_is_a_meeting() {
    if !has_fortran_modules() {
        return;
    }
    let program = program_with("race/moved_block.f90", &["--race", "-fcray-pointer"]);
    for options in ["-n 2", "-n 2 --nodes 2"] {
        let ended = Job::new(options).run(&program, [""; 0]);
        assert!(is_silent(&ended), "{options}: {ended}");
    }
}

static GUARDS: LazyLock<PathBuf> = LazyLock::new(|| program("guards.c"));

fn guarded(case: &str) -> JobEnd {
    Job::new("-n 2").env("SHMEM_CHECK", "3").run(&GUARDS, [case])
}

#[test]
fn damage_to_the_symmetric_heap_is_named_with_the_block() {
    let found =
        |case: &str, words: &[&str]| drop(guarded(case).expect(1).says(words).says(&["allocated at guards.c:"]));
    let words = ["PE 1", "shmem_barrier_all: 1 byte, 11 bytes behind the block of 400 bytes", "), was overwritten"];
    found("after", &words);
    found("before", &["PE 1", "1 byte, 4 bytes before the block of 400 bytes"]);
    found("behind", &["PE 1", "28 bytes directly behind the block of 400 bytes", ") were overwritten"]);
    found("far_behind", &["PE 1", "at least 64 bytes directly behind the block of 400 bytes"]);
    found("free_twice", &["shmem_free: the block at 0x", " was freed before", "freed at guards.c:"]);
    found("put_after", &["PE 0", "shmem_putmem: 112 bytes", "ends 12 bytes after the block of 400 bytes"]);
    found("put_zone", &["shmem_putmem: 4 bytes", "begins 12 bytes after the block of 400 bytes"]);
    found("freed", &["PE 1", "at byte 17 of the block of 400 bytes", "freed at guards.c:"]);
    found("put_freed", &["PE 0", "at byte 0 of the block of 400 bytes", "freed at guards.c:"]);
    found("moved", &["PE 1", "at byte 17 of the block of 400 bytes", "freed at guards.c:"]);
}

#[test]
fn addresses_that_cannot_be_freed_have_each_a_sentence_of_their_own() {
    let refused = |case: &str, words: &[&str]| drop(Job::new("-n 2").run(&GUARDS, [case]).expect(1).says(words));
    refused("free_inside", &["lies 4 bytes behind the beginning of a block of 400 bytes", "allocation returned 0x"]);
    refused("free_end", &["shmem_free: no block begins at 0x", "blocks begin at multiples of 64 bytes"]);
    refused("resize_inside", &["shmem_realloc: 0x", "lies 4 bytes behind the beginning of a block of 400 bytes"]);
    refused("free_twice", &["shmem_free: the block at 0x", " was freed before", "SHMEM_CHECK=3"]);
    refused("free_malloc", &["is not in the symmetric heap", "it is memory of malloc, of the stack or of a library"]);
    refused("free_static", &["is not in the symmetric heap", "it is a static variable of the program"]);
    refused("free_peer", &["is not in the symmetric heap", "it is in the heap of another PE, as shmem_ptr returns it"]);
    refused("free_behind", &["shmem_free: no block begins at 0x", "it lies behind all blocks"]);
}

#[test]
fn a_pointer_to_the_memory_of_another_pe_is_named_as_one() {
    for case in ["put_peer", "put_peer_static"] {
        let words = ["shmem_putmem: dest (4 bytes at 0x", "it is memory of another PE, as shmem_ptr returns it"];
        Job::new("-n 2").run(&GUARDS, [case]).expect(1).says(&words);
    }
}

#[test]
fn leaks_are_listed_and_a_correct_program_hears_nothing() {
    guarded("").expect(0).says(&[
        "never freed",
        "1 block of 400 bytes, allocated at guards.c:",
        "SHPDEALLC of Fortran",
    ]);
    // The old block and the new one have no room at once without guards.
    for check in ["0", "3"] {
        let job = Job::new("-n 2").env("SHMEM_CHECK", check).env("SHMEM_SYMMETRIC_SIZE", "64M");
        let ended = job.run(&GUARDS, ["large"]).expect(0);
        assert!(ended.stdout.contains("grown") && !ended.stdout.contains("refused"), "SHMEM_CHECK={check}: {ended}");
    }
    let ended = guarded("right").expect(0);
    assert!(ended.stderr.is_empty() && ended.stdout.contains("done"), "{ended}");
}
