//! `oshcc --race`: what it costs, and that a large hybrid job runs.
//!
//! `cargo test -p oxshmem-faults --test race_costs -- --nocapture` prints the costs, with `CHECK_LONG=1` beside those of ThreadSanitizer. The
//! time decides nothing: it is the machine's.

use std::path::{Path, PathBuf};

use oxshmem_faults::{FOUND, Job, JobEnd, compile, is_long, program_with};

/// The processor's seconds and the peak of memory in KiB of a PE.
fn cost(program: &Path, arguments: [&str; 2]) -> (f64, f64) {
    numbers(&Job::new("-n 2").run(program, arguments).expect(0))
}

fn numbers(ended: &JobEnd) -> (f64, f64) {
    let mut numbers = ended.stdout.split_whitespace().map(|number| number.parse().expect("a number"));
    (numbers.next().expect("seconds"), numbers.next().expect("memory"))
}

/// The same program under the compiler's ThreadSanitizer, which knows nothing of PEs: what a call for each access costs anywhere. It is for
/// the table alone. Nothing where the compiler has none, or the kernel lays out memory in a way that it does not take.
fn sanitized() -> Option<PathBuf> {
    if !is_long() {
        return None;
    }
    let (program, output) = compile("race/cost.c", &["-O2", "-fsanitize=thread"]);
    output.status.success().then_some(program)
}

fn stencil(options: &[&str]) -> PathBuf {
    program_with("race/cost.c", &[&["-O2"], options].concat())
}

/// Each eight bytes of symmetric memory have a shadow of 32, and of 64 where many access them: with the memory itself, nine times as much.
#[test]
fn a_stencil_takes_at_most_twelve_times_the_memory() {
    let (plain, watched, sanitized) = (stencil(&[]), stencil(&["--race"]), sanitized());
    println!("                             times the processor                  times the memory");
    println!(
        "{:>10} {:>8} {:>20} {:>16} {:>16} {:>16}",
        "cells", "steps", "--race", "ThreadSanitizer", "--race", "ThreadSanitizer"
    );
    for arguments in [["4096", "20000"], ["65536", "1000"], ["2000000", "10"]] {
        let (before, after) = (cost(&plain, arguments), cost(&watched, arguments));
        let times = |after: (f64, f64)| (after.0 / before.0.max(0.001), after.1 / before.1);
        let other = sanitized.as_ref().map(|program| Job::new("-n 2").run(program, arguments));
        let other = other.filter(|ended| ended.status == Some(0)).map(|ended| times(numbers(&ended)));
        let shown = |number: Option<f64>| number.map_or_else(|| "-".to_owned(), |number| format!("{number:.1}"));
        let (time, memory) = times(after);
        let (other_time, other_memory) = (shown(other.map(|other| other.0)), shown(other.map(|other| other.1)));
        println!(
            "{:>10} {:>8} {time:>20.1} {other_time:>16} {memory:>16.1} {other_memory:>16}",
            arguments[0], arguments[1]
        );
        assert!(memory <= 12.0, "{arguments:?}: {after:?} KiB in place of {before:?}");
    }
}

#[test]
fn sixteen_pes_with_four_threads_each_run_and_their_races_are_found() {
    let threads = |options: &str| Job::new(options).env("OMP_NUM_THREADS", "4");
    for options in ["-n 16", "-n 16 --nodes 2"] {
        let ended = threads(options).run(&stencil(&["--race", "-fopenmp"]), ["4096", "5"]).expect(0);
        assert!(ended.stderr.is_empty(), "{options}: {ended}");
    }
    let collection = program_with("race/openmp.c", &["--race", "-fopenmp"]);
    let case = |way: &str| threads("-n 16").run(&collection, ["loop_without_wait", way]);
    assert!(case("right").expect(0).stderr.is_empty());
    case("wrong").expect(FOUND).says(&["data race on `loop_without_wait_data`"]);
}
