//! The promises of the levels of `SHMEM_CHECK`.
#![allow(non_snake_case, reason = "tests carry the number of the fault")]

use oxshmem_faults::{Job, program};

#[test]
fn fault_S3_heap_calls_that_differ_are_found_at_every_level() {
    let program = program("other_blocks.c");
    for shape in ["-n 2", "-n 2 --nodes 2"] {
        for check in ["0", "1", "2", "3"] {
            let ended = Job::new(shape).env("SHMEM_CHECK", check).run(&program, [""; 0]).expect(1);
            let earlier = "earlier allocations or frees differ between the PEs (one PE has freed another block";
            let ended = ended.says(&["shmem_malloc: PE ", " made other heap calls than this PE", earlier]);
            assert_eq!(ended.stdout, "", "SHMEM_CHECK={check}, {shape}");
        }
    }
}

#[test]
fn fault_S5_a_handle_of_nothing_is_not_called_a_library_that_is_not_initialised() {
    let program = program("handles_of_nothing.c");
    for (what, name, noun) in [
        ("destroyed", "shmem_ctx_long_p", "context"),
        ("of_destroyed_team", "shmem_ctx_long_put", "context"),
        ("zeroed_context", "shmem_ctx_long_p", "context"),
        ("zeroed_team", "shmem_team_sync", "team"),
    ] {
        for check in ["0", "1"] {
            let ended = Job::new("-n 2").env("SHMEM_CHECK", check).run(&program, [what]).expect(1);
            let ended = ended.says(&[
                &format!("{name}: {noun} is 0x"),
                &format!("which stands for no {noun}"),
                "run the program with SHMEM_CHECK=2",
            ]);
            assert!(!ended.stderr.contains("not initialised"), "{what}: {ended}");
        }
    }
    // Garbage points to memory that is no team.
    for (what, name, argument) in [
        ("noisy_team_sync", "shmem_team_sync", "team"),
        ("noisy_team_sum", "shmem_long_sum_reduce", "team"),
        ("noisy_team_split", "shmem_team_split_strided", "parent_team"),
        ("noisy_team_destroy", "shmem_team_destroy", "team"),
    ] {
        for options in ["-n 2", "-n 4 --nodes 2"] {
            let ended = Job::new(options).run(&program, [what]).expect(1);
            ended.says(&[&format!("{name}: {argument} is 0x"), "which stands for no team"]);
        }
    }
    let ended = Job::new("-n 1").run(&program, ["after"]).expect(1);
    ended.says(&["the library is not initialised", "the last shmem_finalize came before this call", "before it"]);
}
