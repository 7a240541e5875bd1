//! Waits for collectives that return at once take part in reports as other waits do.

#![allow(non_snake_case, reason = "tests carry the number of the fault")]

use oxshmem_faults::{Job, by_turns, in_parallel, is_long, program, program_with};

const HEADLINE: &str = "oxshmem: deadlock: ";
/// Jobs that run at once.
const BESIDE: usize = 6;

/// Each program, with what its report contains.
const DEADLOCKS: [(&str, &[&str]); 12] = [
    (
        "barrier",
        &[
            "PE 1: in shmem_req_wait for shmemx_barrier_all_nb of all PEs",
            "PE 1: shmemx_barrier_all_nb of all PEs, its meeting ",
            " without PE 0, under way for ",
            "PE 1 waits in shmem_req_wait for PE 0, which has not come to shmemx_barrier_all_nb",
        ],
    ),
    ("root", &["PE 3: in shmem_req_wait for shmemx_broadcast_nb of all PEs", "without PE 0, under way"]),
    ("reduction", &["for PE 3, which has not come to shmemx_sum_reduce_nb and waits in shmem_signal_wait_until"]),
    ("hundred", &["for shmemx_sync_nb of all PEs and the 99 collectives before it", "without PE 1, under way"]),
    ("blocking_behind", &["in shmem_long_sum_reduce behind a nonblocking collective of all PEs", "without PE 1"]),
    ("opposite_teams", &["which has not come to shmemx_sync_nb", "That is a circle"]),
    ("part_of_a_team", &["shmemx_sync_nb of the team of PEs 1 to 3, its meeting 1 without PE 3, under way"]),
    (
        "begun_and_gone_on",
        &["PE 1: in shmem_wait_until", "PE 1: shmemx_barrier_all_nb of all PEs", "without PE 0, under"],
    ),
    ("finalize", &["PE 1: in shmem_finalize behind a nonblocking collective", "without PE 0, under way"]),
    ("waits_for_a_lock", &["PE 1 waits in shmem_set_lock for PE 0", "That is a circle"]),
    (
        "two_teams",
        &["shmemx_fcollect_nb of all PEs, its meeting 1 without PE 2", "shmemx_sync_nb of all PEs, its meeting"],
    ),
    ("long_alltoall", &["for shmemx_alltoall_nb of all PEs", "without PE 0, under way"]),
];

#[test]
fn fault_N2_deadlocks_with_nonblocking_collectives_name_collective_team_number_and_who_is_missing() {
    let program = program("nonblocking.c");
    let jobs = on_one_node_and_two(["-n 4", "-n 4 --nodes 2"], &DEADLOCKS);
    in_parallel(BESIDE, &jobs, |(job, (name, words))| {
        println!("{job}, {name}");
        let ended = Job::new(job).env("SHMEM_DEADLOCK", "abort").run(&program, [name]).expect(1);
        let ended = ended.says(&[HEADLINE, "    called from ", " at nonblocking.c:"]).says(words);
        assert_eq!(ended.stderr.matches(HEADLINE).count(), 1, "{ended}");
    });
}

/// Each of these in one of two jobs by turns; in both with `CHECK_LONG=1`.
fn on_one_node_and_two<T: Copy>(jobs: [&'static str; 2], all: &[T]) -> Vec<(&'static str, T)> {
    let both = |(turn, one): (usize, &T)| by_turns(&jobs, turn).iter().map(|job| (*job, *one)).collect::<Vec<_>>();
    all.iter().enumerate().flat_map(both).collect()
}

#[test]
fn fault_N2_legal_programs_with_nonblocking_collectives_are_not_reported() {
    let program = program_with("nonblocking_legal.c", &["-pthread"]);
    let ways = [
        "sleeps",
        "computes",
        "tests",
        "waits_for_a_flag",
        "another_thread",
        "hundred",
        "two_teams",
        "signal_handler",
        "forked",
        "trickles",
    ];
    // The way decides what an observer sees: one kind of collective shows each, and all kinds one of them.
    let all: Vec<_> = ways
        .iter()
        .flat_map(|way| ["barrier", "broadcast", "reduction"].map(|collective| (*way, collective)))
        .filter(|(way, collective)| is_long() || *way == "trickles" || *collective == "barrier")
        .collect();
    let jobs = on_one_node_and_two(["-n 3", "-n 3 --nodes 2"], &all);
    in_parallel(BESIDE, &jobs, |(job, (way, collective))| {
        println!("{job}, {way}, {collective}");
        let ended = Job::new(job).env("SHMEM_DEADLOCK", "abort").run(&program, [way, collective]).expect(0);
        assert!(!ended.stderr.contains(HEADLINE), "{ended}");
    });
}

/// A collective that has stopped half way has a record of its wait, as threads have, and belongs to none.
#[test]
fn fault_N2_a_collective_that_has_stopped_is_no_second_thread() {
    let program = program("late_request.c");
    for (job, level) in ["-n 3", "-n 3 --nodes 2"].into_iter().flat_map(|job| ["2", "3"].map(|level| (job, level))) {
        let ended = Job::new(job).env("SHMEM_CHECK", level).run(&program, [""; 0]).expect(0);
        assert!(!ended.stderr.contains("oxshmem: PE"), "{ended}");
    }
}

/// Rows have one slot, and columns have another one. So a PE of a row finds that its neighbour in the row says something else of
/// the slot of the columns, which are two teams.
#[test]
fn fault_N2_collectives_of_two_columns_are_no_different_calls_of_one_team() {
    let program = program("grid_broadcasts.c");
    for job in ["-n 4", "-n 4 --nodes 2"] {
        Job::new(job).run(&program, [""; 0]).expect(0);
    }
}

/// A time-out and `oxshmem why` read the records from outside.
#[test]
fn fault_N2_a_report_from_outside_names_the_collective() {
    let program = program("nonblocking.c");
    let words = ["in shmem_req_wait for shmemx_barrier_all_nb of all PEs", "its meeting 2 without PE 0, under way"];
    let job = |options: &str| Job::new(options).env("SHMEM_DEADLOCK", "off");
    job("-n 3 --timeout 3s").run(&program, ["barrier"]).says(&words);
    let running = job("-n 3").start(&program, ["barrier"]);
    let why = running.until_said(&["why"], &words);
    assert!(!why.contains("SHMEM_CHECK"), "{why}");
}
