//! `oxshmem why` tells of each deadlock who waits for whom, on one node and on two, with the place in the program.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use oxshmem_faults::{AT_ONCE, Job, TestFolder, browser, has_program, in_parallel, program, tool};

/// A job that does not say what it should by then never does.
const LIMIT: Duration = Duration::from_secs(60);
/// Both kinds of jobs.
const JOBS: [&str; 2] = ["-n 3", "-n 3 --nodes 2"];

/// The program of all deadlocks here.
static DEADLOCKS: LazyLock<PathBuf> = LazyLock::new(|| program("deadlocks.c"));

/// Starts a deadlock.
fn start(options: &str, name: &str) -> oxshmem_faults::Running {
    start_program(options, &DEADLOCKS, &[name])
}

fn start_program(options: &str, executable: &Path, words: &[&str]) -> oxshmem_faults::Running {
    // Checks may run in the background, where interrupts are ignored, and oshrun leaves ignored what was.
    let mut command = Command::new("env");
    command.arg("--default-signal=INT").arg(tool("oshrun").get_program()).args(options.split_whitespace());
    // The report is asked for; none shall come by itself.
    let job = Job::by(command).env("SHMEM_DEADLOCK", "off").env("SHMEM_TRANSPORT", "tcp");
    job.start(executable, words)
}

/// Each deadlock, on one node and on two, and the words of `oxshmem why` about it.
const EXPLAINED: [(&str, &[&str]); 11] = [
    (
        "missing_in_barrier",
        &[
            "PE 0: in shmem_barrier_all of all PEs",
            "without PE 1",
            "called from meet at deadlocks.c:23, from missing_in_barrier at deadlocks.c:31",
            "PE 1 is missing: not waiting in the library, but computing",
            ") computes in the program: `gdb -p ",
        ],
    ),
    (
        "stopped",
        &[
            "PE 2 is missing: stopped by a signal or a debugger",
            "its last recorded call was shmem_barrier_all (all PEs, meeting",
        ],
    ),
    (
        "opposite_teams",
        &["PE 1: in shmem_team_sync of all PEs", "opposite_teams at deadlocks.c:56", "That is a circle"],
    ),
    (
        "signal_never_sent",
        &["PE 0: in shmem_signal_wait_until at 0x", "(arrived), which holds 2 and is to be >= 3", "No PE is left"],
    ),
    (
        "lock_of_waiter",
        &[
            "PE 0: in shmem_set_lock of the lock at 0x",
            "(lock), behind PE 1",
            "called from want at deadlocks.c:85",
            "PE 0 waits in shmem_set_lock for PE 1, which waits in shmem_barrier_all",
            "That is a circle",
        ],
    ),
    (
        "wrong_address",
        &[
            "PE 1: in shmem_wait_until at 0x",
            "(flags+16), which holds 0 and is to be == 1",
            "wrong_address at deadlocks.c:124",
        ],
    ),
    ("left_early", &["PE 0: in shmem_finalize of all PEs", "without PEs 1 and 2", "(go), which holds 0"]),
    // On one node the split itself needs nobody, so the others are told by their first meeting.
    ("split_without_one", &["PE 0: in shmem_team_s", "without PE 2", "PE 2: in shmem_wait_until"]),
    (
        "all_but_one",
        &["PE 0: in shmem_wait_until_all for 3 variables at 0x", "(here)", "all_but_one at deadlocks.c:151"],
    ),
    ("signal_to_wrong_pe", &["PE 1: in shmem_signal_wait_until", "(sent), which holds 0 and is to be == 1"]),
    (
        "heap_variable",
        &["in shmem_wait_until at 0x", "(in the symmetric heap), which holds 0", "heap_variable at deadlocks.c:169"],
    ),
];

#[test]
fn why_tells_of_each_deadlock_who_waits_for_whom() {
    in_parallel(AT_ONCE, &EXPLAINED, |(name, words)| {
        let running = JOBS.map(|options| start(options, name));
        for job in &running {
            println!("{name}: {}", job.until_said(&["why"], words));
        }
    });
}

/// Jobs that end by themselves with such a sentence.
const ENDED: [(&str, &[&str]); 3] = [
    ("lock_of_dead", &["PE 1 has ended without shmem_finalize", "this call waits for it"]),
    ("different_collectives", &["the PEs make different calls", "shmem_broadcast", "a barrier or sync"]),
    ("alltoall_or_broadcast", &["the PEs make different calls", "shmem_alltoall", "shmem_broadcast"]),
];

#[test]
fn deaths_and_calls_that_differ_end_the_job() {
    in_parallel(AT_ONCE, &ENDED, |(name, words)| {
        for running in JOBS.map(|options| start(options, name)) {
            running.wait(LIMIT).expect(1).says(words);
        }
    });
}

/// The members count the meetings of a long broadcast alike, on the root's node and on others.
#[test]
fn who_waits_behind_a_long_broadcast_is_not_missing() {
    let running = start("-n 3 --nodes 2", "missing_after_broadcast");
    let begun = Instant::now();
    loop {
        let said = running.ask(&["why"]);
        // Lines that are alike are one.
        let waits = |pe: &str| said.contains(&format!("{pe}: in shmem_barrier_all of all PEs"));
        if waits("PEs 0 and 2") || waits("PE 0") && waits("PE 2") {
            assert!(said.contains("without PE 1,") && !said.contains("without PEs "), "{said}");
            return;
        }
        assert!(begun.elapsed() < LIMIT, "the PEs 0 and 2 do not wait:\n{said}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn the_report_comes_with_a_time_limit_an_interrupt_and_a_signal() {
    let words = ["the PEs of the job do this", "PE 1: in shmem_team_sync", "That is a circle"];
    // Waits are told from the beginning, but PEs have to come that far.
    let running = start("--timeout 15 -n 3 --nodes 2", "opposite_teams");
    running.wait(LIMIT).expect(124).says(&words).says(&["(--timeout)"]);
    for (signal, status) in [("-INT", Some(130)), ("-USR1", None)] {
        let running = start("-n 3", "opposite_teams");
        let pid = running.pid();
        running.until_said(&["why"], &["for 2 s", "That is a circle"]);
        let sent = Command::new("kill").args([signal, &pid.to_string()]).status().expect("kill starts");
        assert!(sent.success());
        match status {
            Some(status) => drop(running.wait(LIMIT).expect(status).says(&words)),
            None => {
                // The question does not end the job. Its answer has come before the next one.
                running.until_said(&["why"], &["That is a circle"]);
                let sent = Command::new("kill").args(["-TERM", &pid.to_string()]).status();
                assert!(sent.expect("kill starts").success());
                running.wait(LIMIT).expect(143).says(&words);
            }
        }
    }
}

#[test]
fn the_table_and_the_calls_of_a_job_are_told() {
    let running = start("-n 3 --nodes 2", "missing_in_barrier");
    running.until_said(&["why"], &["PE 1 is missing"]);
    running.until_said(&["top", "--once", "-d", "0.2"], &["waits      shmem_barrier_all", "1 computes"]);
    running.until_said(&["top", "--once", "--json"], &["\"Meeting\"", "\"Computes\""]);
    let told = running.until_said(&["why", "--json"], &["deadlocks.c:23", "age_ns", "PE 1 is missing"]);
    assert!(told.contains("\"conclusions\"") && told.contains("\"object\": null"), "{told}");
    running.until_said(&["why", "--calls", "4"], &["the last of ", "shmem_barrier_all (all PEs, meeting", "not ended"]);
}

#[test]
fn a_browser_shows_the_table_of_a_job() {
    let running = start("-n 3 --nodes 2", "missing_in_barrier");
    running.until_said(&["why"], &["PE 1 is missing"]);
    let folder = TestFolder::new("top");
    let page = folder.join("top.html");
    let name = page.to_str().expect("the path is text");
    running.until_said(&["top", "--once", "-d", "0.2", "--html", name], &["waits      shmem_barrier_all"]);
    let text = std::fs::read_to_string(&page).expect("the page is written");
    assert!(text.contains("<td>shmem_barrier_all</td>") && text.contains("<td>computes</td>"), "{text}");
    if has_program(browser::BROWSER) {
        browser::shows(&page, &["<td>waits</td>", "Calls of the PEs that make any."]);
    }
    std::fs::remove_file(&page).expect("the page is there");
    running.until_said(&["top", "--once", "--json", "-d", "0.2", "--html", name], &["\"Meeting\""]);
    assert!(page.exists(), "the page is written beside JSON, too");
}

#[test]
fn calls_made_while_the_recorder_pauses_are_not_told() {
    let running = start_program("-n 2", &program("paused_recorder.c"), &[]);
    let calls = ["why", "--calls", "16"];
    let said = running.until_said(&calls, &["shmem_signal_wait_until", "shmem_team_sync (all PEs, meeting"]);
    assert!(said.contains("shmem_barrier_all (all PEs, meeting") && !said.contains("shmem_sync_all"), "{said}");
}

#[test]
fn a_job_that_does_not_exist_is_told_so() {
    let output = tool("oxshmem").args(["why", "1"]).output().expect("oxshmem starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("1 is no running job of yours") || said.contains("no job of yours runs"), "{said}");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn an_error_shows_the_stack_if_that_is_wanted() {
    let job = Job::new("-n 3").env("SHMEM_BACKTRACE", "1").limit(LIMIT);
    let ended = job.run(&DEADLOCKS, ["different_collectives"]).expect(1);
    ended.says(&["called from: different_collectives (", "called from: main (", "deadlocks.c:"]);
}
