//! Members of a team that split it with different arguments are named.

#![allow(non_snake_case, reason = "tests carry the number of the fault")]

use oxshmem_faults::{Job, program};

#[test]
fn fault_S4_members_that_split_with_different_arguments_are_named() {
    let program = program("splits.c");
    for (what, words) in [
        ("start", ["with start 0, stride 1 and size 3", "with start 1, stride 1 and size 3"]),
        ("stride", ["with start 0, stride 2 and size 2", "with start 0, stride 1 and size 2"]),
        ("size", ["with start 0, stride 1 and size 2", "with start 0, stride 1 and size 4"]),
        ("xrange", ["shmem_team_split_2d with xrange 2", "shmem_team_split_2d with xrange 4"]),
        ("kind", ["shmem_team_split_2d with xrange 4", "shmem_team_split_strided with start 0, stride 1 and size 4"]),
        ("whole", ["shmemx_team_split_strided with all members", "shmem_team_split_strided with start 0, stride 1"]),
    ] {
        for level in ["1", "3"] {
            let ended = Job::new("-n 4").env("SHMEM_CHECK", level).run(&program, [what]);
            assert!(!ended.crashed(), "{ended}");
            ended.expect(1).says(&["the members of the parent team pass different arguments"]).says(&words);
        }
    }
}

#[test]
fn fault_S4_a_split_that_a_member_has_missed_is_named_where_the_team_ends() {
    let program = program("splits.c");
    for (what, headline) in [
        ("missed", "shmem_finalize: the PEs have not made the same splits of the team of all PEs"),
        ("missed part", "shmem_team_destroy: the members of the team have not made the same splits of the team"),
    ] {
        for options in ["-n 4", "-n 4 --nodes 2"] {
            let ended = Job::new(options).env("SHMEM_CHECK", "1").run(&program, [what]);
            assert!(!ended.crashed(), "{ended}");
            ended.expect(1).says(&[headline, "has made a split of the team", "has not made"]);
        }
    }
}

#[test]
fn a_number_of_contexts_below_zero_is_refused() {
    let program = program("splits.c");
    for (what, words) in [
        ("contexts", "shmem_team_split_strided: num_contexts of config is -4"),
        ("contexts of a grid", "shmem_team_split_2d: num_contexts of yaxis_config is -4"),
    ] {
        for level in ["0", "1"] {
            let ended = Job::new("-n 4").env("SHMEM_CHECK", level).run(&program, [what]).expect(1);
            ended.says(&[words, "are 0 and more"]);
        }
    }
    let ended = Job::new("-n 4").run(&program, ["contexts unused"]).expect(3);
    assert!(!ended.stderr.contains("num_contexts"), "{ended}");
}

/// Members meet for a split where there is a limit, and perhaps not where there is none.
#[test]
fn a_limit_of_teams_that_differs_is_told_at_the_start() {
    let program = program("hello.c");
    for options in ["-n 3", "-n 4 --nodes 2"] {
        let ended = Job::new(options).run_where(2, "SHMEM_TEAMS_MAX=5", &program, &[]).expect(1);
        ended.says(&["SHMEM_TEAMS_MAX is ", "5 for PE 2", "not set for PE "]);
    }
}

/// Each team is split once: more of them than an eighth of the places for teams.
#[test]
fn a_chain_of_a_thousand_teams_is_made() {
    let program = program("nested_teams.c");
    for options in ["-n 2", "-n 2 --nodes 2"] {
        Job::new(options).run(&program, ["1000"]).expect(0);
    }
}

/// A PE has 4096 places for teams, of which every 384th is none: its bit says something else where members agree.
#[test]
fn every_place_has_a_team() {
    let ended = Job::new("-n 1").run(&program("every_slot.c"), [""; 0]);
    assert!(ended.stdout.contains("4086 teams\n"), "{ended}");
    ended.expect(0);
}

#[test]
fn fault_S4_right_splits_are_not_taken_for_wrong_ones() {
    let program = program("splits.c");
    for job in ["-n 4", "-n 4 --nodes 2"] {
        Job::new(job).run(&program, ["right"]).expect(0);
    }
}
