//! `oxshmem doctor`, and `oshrun --explain`.

#![allow(non_snake_case, reason = "tests carry a number")]

use std::path::Path;

use oxshmem_faults::{Job, JobEnd, prefix};
use serde_json::Value;

fn doctor(words: &[&str]) -> JobEnd {
    Job::of("oxshmem").run(Path::new("doctor"), words)
}

/// The diagnosis as data: severity, check and the whole of it.
fn data(ended: &JobEnd) -> Vec<(String, String, Value)> {
    let all: Vec<Value> = serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended}"));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    all.into_iter().map(|one| (text(&one["severity"]), text(&one["check"]), one)).collect()
}

#[test]
fn doctor_1_every_check_has_a_verdict_and_a_job_is_tried() {
    let ended = doctor(&["--json"]).expect(0);
    let all = data(&ended);
    for check in [
        "memory",
        "shared memory",
        "locked memory",
        "open files",
        "processors",
        "topology",
        "huge pages",
        "/dev/shm",
        "ptrace",
        "interfaces",
        "ports",
        "launcher",
        "tools",
        "load",
        "processes",
        "cards",
        "libraries",
        "job",
        "transport",
        "distance",
    ] {
        assert!(all.iter().any(|(_, known, _)| known == check), "{check} is missing: {ended}");
    }
    let place = |severity: &str| ["fault", "warning", "good", "note"].iter().position(|known| *known == severity);
    assert!(all.is_sorted_by_key(|(severity, ..)| place(severity)), "the worst is not the first: {ended}");
    for (severity, _, diagnosis) in &all {
        let complete = diagnosis["because"].is_string() && diagnosis["fix"].is_string();
        assert!(severity == "good" || severity == "note" || complete, "no reason or no fix: {diagnosis}");
    }
}

#[test]
fn doctor_2_hosts_are_looked_at_and_each_pair_is_measured() {
    // The agent starts programs of these hosts here.
    let ended = doctor(&["--json", "-H", "n1,n2,n3", "--launch-agent", "env MADE_UP={host}"]).expect(0);
    let all = data(&ended);
    let count = |check: &str| all.iter().filter(|(_, known, _)| known == check).count();
    assert_eq!((count("clock"), count("build"), count("distance"), count("memory")), (3, 1, 3, 3), "{ended}");
    assert!(all.iter().any(|(_, _, one)| one["host"] == "n1 – n3"), "{ended}");
}

#[test]
fn doctor_3_a_host_that_cannot_be_reached_is_a_fault_with_its_fix() {
    let ended = doctor(&["-H", "n1", "--launch-agent", "sh -c 'echo no route >&2; exit 9' {host}"]).expect(1);
    let first = ended.stdout.lines().next().unwrap_or_default();
    assert!(first.starts_with("FAULT    n1: remote shell: "), "{ended}");
    assert!(ended.stdout.contains("no route") && ended.stdout.contains("start `true` on n1"), "{ended}");
    assert!(ended.stdout.contains("job: not tried"), "{ended}");
}

#[test]
fn doctor_4_the_worst_comes_first() {
    let ended = Job::under("-n 256", "oxshmem").run(Path::new("doctor"), [""; 0]).expect(0);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    let warnings = lines.iter().filter(|line| line.starts_with("warning")).count();
    assert!(warnings >= 1 && ended.stdout.contains("open files: limit: 256"), "{ended}");
    let first_good = lines.iter().position(|line| line.starts_with("good"));
    let last_warning = lines.iter().rposition(|line| line.starts_with("warning"));
    assert!(last_warning < first_good, "{ended}");
    // PEs raise a soft limit themselves.
    let ended = Job::under("-Sn 256", "oxshmem").run(Path::new("doctor"), [""; 0]).expect(0);
    assert!(!ended.stdout.contains("open files: limit: 256"), "{ended}");
}

#[test]
fn doctor_5_oshrun_explains_the_choice_without_the_variables() {
    let program = prefix().join("libexec/oxshmem/oshbench");
    let ended = Job::new("--explain -n 2 --nodes 2").env("SHMEM_TRANSPORT", "tcp");
    let ended = ended.run(&program, ["start", "1", "0", "8", ""]).expect(0);
    assert!(ended.stdout.contains("between nodes: tcp"), "{ended}");
    assert!(
        ended.stdout.contains("rejected: ofi (SHMEM_TRANSPORT names tcp), ucx (SHMEM_TRANSPORT names tcp)"),
        "{ended}"
    );
    assert!(!ended.stdout.contains("SHMEM_SYMMETRIC_SIZE"), "{ended}");
}
