//! Handles that stand for nothing, and arrays that are NULL: a sentence that names the call, the argument and the reason.
#![allow(non_snake_case, reason = "tests carry the number of the fault")]

use std::path::Path;

use oxshmem_faults::{Job, JobEnd, program};

/// The names of the calls that the program knows.
fn calls(program: &Path) -> Vec<String> {
    let list = std::process::Command::new(program).output().expect("the program starts");
    let calls: Vec<String> = String::from_utf8(list.stdout).expect("names").lines().map(str::to_owned).collect();
    assert!(list.status.success() && calls.len() >= 9, "the program knows {calls:?}");
    calls
}

/// The job has ended with one sentence that has these words.
fn refused(ended: JobEnd, words: &[&str]) {
    assert!(!ended.crashed() && !ended.stdout.contains("has returned"), "{ended}");
    ended.expect(1).says(words);
}

#[test]
fn fault_W4_handles_that_stand_for_nothing_are_named() {
    let program = program("dead_handles.c");
    for (i, call) in calls(&program).iter().enumerate() {
        let is_context = call.starts_with("shmem_ctx");
        let (noun, other) = if is_context { ("context", "team") } else { ("team", "context") };
        let destroyer = if is_context { "destroyed by shmem_ctx_destroy" } else { "destroyed by shmem_team_destroy" };
        let never = format!("which was never a {noun}");
        let reasons = [
            ("destroyed", destroyer),
            ("garbage", &never),
            ("private", &never),
            ("swapped", &format!("returned this handle as that of a {other}")),
        ];
        for (j, (wrong, reason)) in reasons.into_iter().enumerate() {
            let options = ["-n 2", "-n 2 --nodes 2"][(i + j) % 2];
            let check = ["2", "3"][(i + j) / 2 % 2];
            refused(Job::new(options).env("SHMEM_CHECK", check).run(&program, [call, wrong]), &[call, reason]);
        }
    }
}

#[test]
fn fault_W4_a_context_does_not_outlive_its_team() {
    let program = program("dead_handles.c");
    for call in ["shmem_ctx_long_p", "shmem_ctx_quiet", "shmem_ctx_get_team", "shmem_ctx_destroy"] {
        let ended = Job::new("-n 2").env("SHMEM_CHECK", "2").run(&program, [call, "teamless"]);
        refused(ended, &[call, "a context whose team was destroyed by shmem_team_destroy"]);
    }
}

#[test]
fn fault_W4_invalid_handles_are_named_at_every_level() {
    let program = program("dead_handles.c");
    for (call, words) in [
        ("shmem_team_sync", "team is SHMEM_TEAM_INVALID"),
        ("shmem_team_sync", "or the variable was never set"),
        ("shmem_long_sum_reduce", "team is SHMEM_TEAM_INVALID"),
        ("shmem_ctx_long_p", "context is SHMEM_CTX_INVALID"),
        ("shmem_ctx_long_atomic_add", "context is SHMEM_CTX_INVALID"),
        ("shmem_ctx_long_put_signal", "context is SHMEM_CTX_INVALID"),
    ] {
        for check in ["0", "1", "2", "3"] {
            refused(Job::new("-n 2").env("SHMEM_CHECK", check).run(&program, [call, "invalid"]), &[call, words]);
        }
    }
}

/// The last finalize ends teams and contexts that the program has not destroyed.
#[test]
fn handles_of_a_former_life_are_named_at_every_level() {
    let program = program("dead_handles.c");
    for (i, (call, noun)) in [
        ("shmem_team_sync", "team"),
        ("shmem_long_sum_reduce", "team"),
        ("shmem_team_split_strided", "team"),
        ("shmem_team_destroy", "team"),
        ("shmem_ctx_long_p", "context"),
        ("shmem_ctx_long_put_signal", "context"),
        ("shmem_ctx_long_atomic_add", "context"),
    ]
    .into_iter()
    .enumerate()
    {
        let options = ["-n 2", "-n 2 --nodes 2"][i % 2];
        refused(Job::new(options).run(&program, [call, "former"]), &[call, &format!("which stands for no {noun}")]);
        let job = Job::new(options).env("SHMEM_CHECK", "2");
        refused(job.run(&program, [call, "former"]), &[call, "destroyed by shmem_finalize"]);
    }
}

#[test]
fn fault_W4_correct_use_of_handles_is_the_same_at_every_level() {
    let program = program("dead_handles.c");
    for options in ["-n 2", "-n 3 --nodes 2"] {
        for check in ["0", "1", "2", "3"] {
            Job::new(options).env("SHMEM_CHECK", check).run(&program, ["correct"]).expect(0);
        }
    }
}

#[test]
fn fault_W4_null_arrays_are_named_at_every_level() {
    let program = program("null_arrays.c");
    for (i, call) in calls(&program).iter().enumerate() {
        for (j, array) in ["dest", "source"].into_iter().enumerate() {
            let options = ["-n 2", "-n 2 --nodes 2", "-n 4 --nodes 2"][(i + j) % 3];
            let check = ["0", "1", "2", "3"][(i + 2 * j) % 4];
            let job = Job::new(options).env("SHMEM_CHECK", check).run(&program, [call.as_str(), array]);
            refused(job, &[&format!("{call}: {array} is NULL")]);
        }
    }
}

#[test]
fn fault_W4_null_in_the_place_of_private_memory_that_is_always_used_is_named() {
    let program = program("null_arrays.c");
    for (i, (call, argument)) in [
        ("shmemx_team_alltoallv", "t_offsets"),
        ("shmemx_team_alltoallv", "t_sizes"),
        ("shmemx_team_alltoallv_packed", "t_size"),
        ("shmem_ctx_create", "ctx"),
        ("shmem_team_create_ctx", "ctx"),
        ("shmem_ctx_get_team", "team"),
        ("shmem_query_thread", "provided"),
        ("shmem_query_initialized", "initialized"),
        ("shmem_info_get_version", "major"),
        ("shmem_info_get_version", "minor"),
        ("shmem_info_get_name", "name"),
    ]
    .into_iter()
    .enumerate()
    {
        let options = ["-n 2", "-n 2 --nodes 2"][i % 2];
        let job = Job::new(options).env("SHMEM_CHECK", ["0", "1", "2"][i % 3]).run(&program, [call, argument]);
        refused(job, &[&format!("{call}: {argument} is NULL")]);
    }
}
