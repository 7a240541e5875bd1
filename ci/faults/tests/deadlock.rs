//! Certain deadlock is reported without being asked for, and nothing else is.

#![allow(non_snake_case, reason = "tests carry the number of the fault")]

use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use oxshmem_faults::{Job, has_program, in_parallel, program, program_with};

/// A job that does not say what it should by then never does. The report comes after some three seconds.
const LIMIT: Duration = Duration::from_secs(90);
const HEADLINE: &str = "oxshmem: deadlock: ";

static DEADLOCKS: LazyLock<PathBuf> = LazyLock::new(|| program_with("deadlock.c", &["-pthread"]));

/// Runs a deadlock on one node and on two; both jobs end with a report that contains all these words.
fn reported(name: &str, pes: u32, words: &[&str]) {
    let jobs = [format!("-n {pes}"), format!("-n {pes} --nodes 2")];
    all_reported(name, &jobs.each_ref().map(|job| (job.as_str(), "tcp")), words);
}

fn all_reported(name: &str, jobs: &[(&str, &str)], words: &[&str]) {
    in_parallel(jobs.len(), jobs, |(options, transport)| {
        println!("{options} {transport}");
        let job = Job::new(options).env("SHMEM_DEADLOCK", "abort").env("SHMEM_TRANSPORT", transport).limit(LIMIT);
        // The launcher reads debug information for the report.
        let places = [HEADLINE, "    called from ", " at deadlock.c:"];
        let ended = job.run(&DEADLOCKS, [name]).expect(1).says(&places).says(words);
        assert_eq!(ended.stderr.matches(HEADLINE).count(), 1, "{ended}");
    });
}

#[test]
fn fault_D1_a_pe_is_missing_in_a_barrier() {
    reported(
        "missing_in_barrier",
        4,
        &[
            "all 4 PEs of the job wait",
            "PE 0: in shmem_signal_wait_until at 0x",
            "which holds 0 and is to be >= 3",
            "PE 3: in shmem_barrier_all of all PEs",
            "without PE 0",
            "for PE 0, which has not come there and waits in shmem_signal_wait_until",
            "No PE is left that could change ",
        ],
    );
}

#[test]
fn fault_D2_two_teams_meet_in_opposite_order() {
    reported("opposite_teams", 4, &["PE 0: in shmem_team_sync of all PEs", "without PEs 1 and 3", "That is a circle"]);
}

#[test]
fn fault_D3_a_signal_is_never_sent() {
    reported("signal_never_sent", 3, &["which holds 2 and is to be == 3", "No PE is left that could change "]);
}

#[test]
fn fault_D4_the_wrong_variable_is_written() {
    reported("wrong_address", 3, &["PE 2: in shmem_wait_until", "which holds 0 and is to be == 1"]);
}

#[test]
fn fault_D5_holders_of_locks_wait_for_each_other() {
    reported(
        "lock_is_held",
        3,
        &["PE 0: in shmem_set_lock of the lock at 0x", "behind PE 1", "behind PE 0", "That is a circle"],
    );
}

#[test]
fn fault_D6_members_make_different_collective_calls() {
    // Noticed where the calls meet, before anybody has waited long enough for a report.
    let words =
        ["the PEs make different calls", "have not made the same broadcasts", "shmem_broadcast (64 bytes, root 0)"];
    Job::new("-n 3").limit(LIMIT).run(&DEADLOCKS, ["different_collectives"]).expect(1).says(&words);
}

#[test]
fn fault_D7_the_root_of_a_broadcast_waits_for_a_lock() {
    reported(
        "root_in_lock",
        3,
        &["PE 0: in shmem_set_lock", "behind PE 1", "PE 1: in shmem_long_broadcast", "without PE 0"],
    );
}

#[test]
fn fault_D8_a_pe_waits_for_its_own_value() {
    reported("own_value", 3, &["which holds -7 and is to be > -3", "No PE is left that could change "]);
}

#[test]
fn fault_D9_a_team_meets_while_the_world_does() {
    reported(
        "team_against_world",
        3,
        &["PE 2: in shmem_team_sync", "without PEs 0 and 1", "PE 0: in shmem_barrier_all", "That is a circle"],
    );
}

#[test]
fn fault_D10_what_two_contexts_have_sent_is_not_enough() {
    reported("two_contexts", 4, &["PE 3: in shmem_wait_until", "which holds 1 and is to be == 2"]);
}

#[test]
fn fault_D11_a_pe_is_in_finalize() {
    reported("finalize", 3, &["PE 0: in shmem_finalize of all PEs", "without PEs 1 and 2"]);
}

#[test]
fn fault_D12_the_only_pe_waits() {
    all_reported("alone", &[("-n 1", "auto")], &["the job's only PE waits", "shmem_wait_until_any for 4 variables"]);
}

#[test]
fn fault_D13_all_threads_of_all_pes_wait() {
    let words = [
        "PE 0: in shmem_wait_until",
        "PE 0: in shmem_signal_wait_until",
        "PE 1: in shmem_barrier_all",
        "PE 1: in shmem_signal_wait_until",
    ];
    reported("threads", 2, &words);
}

#[test]
fn fault_D13_the_first_threads_have_left() {
    reported("first_thread_leaves", 2, &["PE 0: in shmem_wait_until", "PE 1: in shmem_wait_until"]);
}

#[test]
fn fault_D14_a_team_of_a_list_of_pes_names_who_is_missing() {
    reported("colours", 4, &["in shmem_team_sync of all PEs", "without PE 2", "PE 2: in shmem_wait_until"]);
}

/// Between nodes the report did not come before the set had met once.
#[test]
fn fault_D14_an_active_set_has_different_arrays() {
    let words = ["PE 1: in shmem_int_sum_to_all", "PE 0 waits in shmem_int_sum_to_all for PE", "by their pSync array"];
    reported("different_arrays", 3, &words);
}

#[test]
fn fault_D15_every_network_carries_the_questions() {
    let jobs = ["tcp", "ofi:tcp", "ucx:tcp"].map(|transport| ("-n 4 --nodes 2", transport));
    let available = |(_, transport): &(&str, &str)| {
        let ended = Job::new("-n 2 --nodes 2").env("SHMEM_TRANSPORT", transport).run(&DEADLOCKS, ["none"]);
        let is_there = !ended.lacks_transport(transport);
        assert!(!is_there || ended.status == Some(99), "{transport}: {ended}");
        is_there
    };
    let jobs: Vec<_> = jobs.into_iter().filter(available).collect();
    all_reported("two_contexts", &jobs, &["all 4 PEs of the job wait"]);
    all_reported("different_arrays", &jobs, &["all 4 PEs of the job wait"]);
}

#[test]
fn fault_D18_agents_pass_the_question_for_the_places_on() {
    let told = |name: &str, words: &[&str]| {
        let job = Job::new("-H n1,n2 -N 2").env("SHMEM_DEADLOCK", "abort").env("SHMEM_TRANSPORT", "tcp").limit(LIMIT);
        let ended = job.run(&DEADLOCKS, [name]).expect(1).says(&[HEADLINE, "    called from ", " at deadlock.c:"]);
        assert!(ended.stderr.matches(" at deadlock.c:").count() >= 4, "every PE has its places: {ended}");
        ended.says(words);
    };
    told("two_contexts", &["PE 2: in shmem_wait_until"]);
    // It is proven, so no thread may still end it.
    told("opposite_teams", &["That is a circle. Let all PEs make these calls in the same order"]);
}

#[test]
fn fault_D16_a_reported_job_goes_on_waiting_and_says_it_once() {
    let job = |mode| Job::new("-n 3").env("SHMEM_DEADLOCK", mode).start(&DEADLOCKS, ["own_value"]);
    let running = ["report", "off"].map(job);
    let [report, off] = running.map(|running| running.wait(Duration::from_secs(10)));
    let report = report.says(&[HEADLINE, "The job goes on waiting"]);
    assert_eq!((report.status, report.stderr.matches(HEADLINE).count()), (None, 1), "{report}");
    assert!(off.status.is_none() && !off.stderr.contains(HEADLINE), "{off}");
}

#[test]
fn fault_L11_the_hang_report_tells_how_long_a_wait_has_taken_in_all() {
    let job = Job::new("-n 4 --nodes 2").env("SHMEM_HANG_SECS", "2").env("SHMEM_TRANSPORT", "tcp");
    let ended = job.limit(Duration::from_secs(5)).run(&DEADLOCKS, ["serve"]);
    let ended = ended.says(&["PE 0 has waited for 2 s", "PE 0: in shmem_wait_until", "for 2 s\n"]);
    assert!(!ended.stderr.contains(HEADLINE), "{ended}");
    // Peers that are served in between do not make a wait younger.
    assert!(!ended.stderr.contains("for 0 s"), "{ended}");
}

#[test]
fn fault_D17_long_waits_that_end_are_not_reported() {
    let patience = program("patience.c");
    let mut names = vec![
        "sleeps",
        "computes",
        "polls",
        "tests",
        "handles_a_signal",
        "handles_an_abort",
        "handles_a_signal_for_another",
        "is_stopped",
        "has_a_thread",
        "has_a_child",
        "has_a_descendant",
        "reads",
    ];
    if has_program("gdb") {
        names.push("is_debugged");
    }
    let across = ["sleeps", "has_a_child", "handles_a_signal", "tests", "comes_late_to_a_set"]
        .map(|name| ("-n 3 --nodes 3", name));
    let jobs: Vec<_> = names.into_iter().map(|name| ("-n 2", name)).chain(across).collect();
    in_parallel(jobs.len(), &jobs, |(options, name)| {
        let job = Job::new(options).env("SHMEM_TRANSPORT", "tcp").env("SHMEM_DEADLOCK", "abort").limit(LIMIT);
        let ended = job.run(&patience, [name]);
        assert!(ended.status == Some(0) && !ended.stderr.contains("deadlock"), "{options}, {name}: {ended}");
    });
}
