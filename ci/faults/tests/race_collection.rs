//! `oshcc --race`: a collection of small programs with threads, tasks and atomics, each once with a race and once without.
//!
//! All cases of a file run in one job. In a case CASE the variable `CASE_data` is in a race, between two lines that have the comment
//! `race`. So a report belongs to a case, and must name two such lines; the right twins are silent.

use std::path::{Path, PathBuf};

use oxshmem_faults::{Complaint, FOUND, Job, expect_no_complaints, is_long, not_run, program_by, program_with, source};

/// Compiles a file of the folder. `None`: there is no such compiler here, or it has no OpenMP.
fn compiled(compiler: Option<&str>, file: &str, options: &[&str]) -> Option<PathBuf> {
    program_by(compiler, &format!("race/{file}"), &[&["--race"], options].concat())
}

/// The lines of the file's own sources that are in a race, as reports name them.
fn racing_lines(file: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for name in [file, "handover.h"] {
        let text = std::fs::read_to_string(source(&format!("race/{name}"))).expect("a source");
        let marked =
            text.lines().enumerate().filter(|(_, line)| line.contains("/* race */") || line.ends_with("! race"));
        lines.extend(marked.map(|(at, _)| format!(" at {name}:{}", at + 1)));
    }
    lines
}

/// Complaints about the detector's word on a program, also where a PE comes late to each case: on one node, and on all with `CHECK_LONG=1`.
fn complaints(program: &Path, file: &str, options: &str) -> Vec<Complaint> {
    let list = Job::new("-n 1").run(program, ["list"]).expect(0).stdout;
    let orders = [&["all", "wrong"][..], &["all", "wrong", "0"], &["all", "wrong", "1"]];
    let orders = if options == NODES[0] || is_long() { &orders[..] } else { &orders[..1] };
    let mut complaints: Vec<Complaint> =
        orders.iter().filter_map(|arguments| misses(program, file, options, arguments, &list)).collect();
    let right = Job::new(options).run(program, ["all", "right"]);
    if right.status != Some(0) || !right.stderr.is_empty() {
        complaints.push(Complaint::new(format!("{file} with {options}: the right twins are accused"), right));
    }
    complaints
}

/// A complaint about races that the detector has not seen.
fn misses(program: &Path, file: &str, options: &str, arguments: &[&str], list: &str) -> Option<Complaint> {
    let (lines, wrong) = (racing_lines(file), Job::new(options).run(program, arguments));
    let reports: Vec<&str> = wrong.stderr.split("oxshmem: PE ").skip(1).collect();
    let names_two = |report: &str| {
        let because = report.lines().find(|line| line.starts_with("  because:")).unwrap_or_default();
        because.matches(&format!(" at {}", file)).count() + because.matches(" at handover.h").count() == 2
            && because.split(" at ").skip(1).all(|part| {
                let place = part.split([' ', ',', ';']).next().unwrap_or_default();
                lines.iter().any(|line| line == &format!(" at {place}"))
            })
    };
    let is_found =
        |case: &&str| reports.iter().any(|report| report.contains(&format!(" `{case}_data`")) && names_two(report));
    let missed: Vec<&str> = list.lines().filter(|case| !is_found(case)).collect();
    if missed.is_empty() && wrong.status == Some(FOUND) {
        return None;
    }
    let what = if missed.is_empty() {
        "all cases are found, but the status is wrong".to_owned()
    } else {
        format!("{missed:?} are not found")
    };
    Some(Complaint::new(format!("{file} with {options}, {arguments:?}: {what}"), wrong))
}

/// On one node, between two over TCP, and between two over the simulated network.
const NODES: [&str; 3] = ["-n 2", "-n 2 --nodes 2", "-n 2 --nodes 2 --sim=3"];

/// Checks a file with the usual compiler; with more compilers and levels where there is time.
fn collection(file: &str, options: &[&str]) {
    let compilers: &[Option<&str>] = match (is_long(), file.rsplit('.').next()) {
        (true, Some("c")) => &[None, Some("clang")],
        (true, Some("cc")) => &[None, Some("clang++")],
        _ => &[None],
    };
    let levels: &[&str] = if is_long() { &["-O0", "-O1", "-O2"] } else { &["-O1"] };
    let mut wrong = Vec::new();
    for (compiler, level) in compilers.iter().flat_map(|compiler| levels.iter().map(move |level| (compiler, level))) {
        let Some(program) = compiled(*compiler, file, &[options, &[*level]].concat()) else {
            not_run(format_args!("{compiler:?}, or its OpenMP, is not on this machine"));
            continue;
        };
        for nodes in NODES {
            wrong.extend(complaints(&program, file, nodes));
        }
    }
    expect_no_complaints(&wrong);
}

#[test]
fn threads_of_posix_and_c11() {
    collection("pthreads.c", &["-pthread"]);
}

#[test]
fn openmp() {
    collection("openmp.c", &["-fopenmp"]);
}

#[test]
fn openmp_of_clang() {
    let Some(program) = compiled(Some("clang"), "openmp.c", &["-fopenmp"]) else {
        return not_run("clang, or its OpenMP, is not on this machine");
    };
    // The compiler's part does not depend on the nodes, so one node shows it; all with `CHECK_LONG=1`.
    let nodes = if is_long() { &NODES[..] } else { &NODES[..1] };
    let wrong: Vec<Complaint> = nodes.iter().flat_map(|nodes| complaints(&program, "openmp.c", nodes)).collect();
    expect_no_complaints(&wrong);
}

#[test]
fn threads_of_cpp() {
    collection("threads.cc", &["-std=c++20", "-pthread"]);
}

#[test]
fn atomics() {
    collection("atomics.c", &[]);
}

#[test]
fn openmp_in_fortran() {
    collection("openmp.f90", &["-fopenmp"]);
}

#[test]
fn private_memory_is_not_looked_at() {
    let program = program_with("race/private.c", &["--race", "-pthread"]);
    for nodes in NODES.into_iter().chain(["-n 1", "-n 3 --nodes 2"]) {
        let end = Job::new(nodes).run(&program, [] as [&str; 0]).expect(0);
        assert!(end.stderr.is_empty(), "{nodes}: private memory is taken for symmetric memory: {end}");
    }
}

#[test]
fn threads_that_live_longer_than_the_library() {
    let program = program_with("race/lives.c", &["--race", "-pthread"]);
    // Over the simulated network a thread that waits outside of the library keeps its turn for some time, and this one does so often.
    for nodes in &NODES[..2] {
        let end = Job::new(nodes).run(&program, ["right"]).expect(0);
        assert!(end.stderr.is_empty(), "{nodes}: {end}");
        let end = Job::new(nodes).run(&program, ["wrong"]).expect(FOUND);
        end.says(&["`cell` of PE", "a store by thread", "a load by thread"]);
    }
}

#[test]
fn a_thread_that_has_initialised_the_library_is_joined() {
    let program = program_with("race/first_thread.c", &["--race", "-pthread"]);
    let end = Job::new("-n 2").run(&program, ["right"]).expect(0);
    assert!(end.stderr.is_empty(), "{end}");
    Job::new("-n 2").run(&program, ["wrong"]).expect(FOUND).says(&[
        "`cell` of PE",
        "a store by thread",
        "a load by thread",
    ]);
}

#[test]
fn a_handler_of_a_signal_does_not_wait_for_what_it_has_interrupted() {
    let program = program_with("race/handler.c", &["--race"]);
    let end = Job::new("-n 2").run(&program, [] as [&str; 0]).expect(0);
    assert_eq!((end.stdout.as_str(), end.stderr.as_str()), ("done\ndone\n", ""), "{end}");
}

#[test]
fn a_life_of_the_library_leaves_no_memory_of_the_detector() {
    let program = program_with("race/pages.c", &["--race"]);
    let end = Job::new("-n 1").run(&program, [] as [&str; 0]).expect(0);
    assert_eq!((end.stdout.as_str(), end.stderr.as_str()), ("done\n", ""), "{end}");
}
