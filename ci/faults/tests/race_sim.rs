//! `oxshmem sim --race`: each seed is another order, and a race is told once, with the seeds that show it.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::LazyLock;

use oxshmem_faults::{FOUND, is_long, program, program_with, text_of, tool};

const SEEDS: usize = 20;

fn sim(program: &Path, arguments: &[&str]) -> Output {
    let mut command = tool("oxshmem");
    command.args(["sim", "--race", "-n", "3", "--seeds", &SEEDS.to_string()]).arg(program).args(arguments);
    command.output().expect("oxshmem starts")
}

static ORDER: LazyLock<PathBuf> = LazyLock::new(|| program_with("race/order.c", &["--race"]));

#[test]
fn a_race_that_some_orders_hide_is_found_and_told_once_with_its_seeds() {
    let output = sim(&ORDER, &[]);
    let text = text_of(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("1 race was found") && text.matches("data race on `data` of PE 0").count() == 1, "{text}");
    let seen = text.lines().find_map(|line| line.trim().strip_prefix("seen:")).expect("a line about seeds");
    let count: usize =
        seen.trim().trim_start_matches("with ").split(' ').next().expect("a count").parse().expect("a number");
    assert!((1..SEEDS).contains(&count), "no seed hides it, or none shows it: {text}");
    // The seed that is told shows it again.
    let repeat = text.lines().find_map(|line| line.trim().strip_prefix("repeat:")).expect("a command").trim();
    let words: Vec<&str> = repeat.split(' ').skip(1).collect();
    let again = tool("oshrun").args(words).output().expect("oshrun starts");
    assert_eq!(again.status.code(), Some(FOUND), "{}", String::from_utf8_lossy(&again.stderr));
}

#[test]
fn no_order_of_the_right_twin_shows_a_race() {
    let output = sim(&ORDER, &["right"]);
    assert!(output.status.success() && text_of(&output).contains("No races were found"), "{}", text_of(&output));
}

#[test]
fn a_program_that_cannot_find_its_races_is_refused() {
    let output = sim(&program("race/order.c"), &[]);
    assert!(!output.status.success() && text_of(&output).contains("oshcc --race"), "{}", text_of(&output));
}

#[test]
fn a_job_whose_races_are_not_looked_for_is_no_job_without_races() {
    let output = sim(&program_with("own_init.c", &["--race"]), &[]);
    let text = text_of(&output);
    assert!(!output.status.success() && !text.contains("No races"), "{text}");
    assert!(text.contains("races are not looked for in this job: the program has called init"), "{text}");
}

/// The collection's cases, where the seeds must name all and accuse none; with `CHECK_LONG=1` 20 seeds, and the cases of all languages.
#[test]
fn every_seed_finds_the_races_of_the_collection() {
    let brief: [(&str, &[&str]); 2] = [("atomics.c", &[]), ("openmp.c", &["-fopenmp"])];
    let others: [(&str, &[&str]); 3] =
        [("pthreads.c", &["-pthread"]), ("threads.cc", &["-std=c++20", "-pthread"]), ("openmp.f90", &["-fopenmp"])];
    for (file, more) in brief.iter().chain(others.iter().filter(|_| is_long())) {
        let program = program_with(&format!("race/{file}"), &[&["--race"], *more].concat());
        let seeds = if is_long() { "20" } else { "2" };
        let run = |way: &str| {
            let mut command = tool("oxshmem");
            // A job of all cases takes a minute where the machine is busy.
            command.args(["sim", "--race", "-n", "2", "--timeout", "600", "--seeds", seeds]).arg(&program);
            command.args(["all", way]);
            command.output().expect("oxshmem starts")
        };
        let (wrong, right) = (run("wrong"), run("right"));
        assert!(right.status.success(), "{file}: {}", text_of(&right));
        let told = text_of(&wrong);
        let list = tool("oshrun").args(["-n", "1"]).arg(&program).arg("list").output().expect("oshrun starts");
        let list = String::from_utf8_lossy(&list.stdout).into_owned();
        assert!(!list.trim().is_empty(), "{file} lists no cases");
        let missed: Vec<&str> = list.lines().filter(|case| !told.contains(&format!("`{case}_data`"))).collect();
        assert!(missed.is_empty(), "{file}: {missed:?}: {told}");
        let all = format!("seen:    with {seeds} of {seeds} seeds");
        assert!(told.contains(&all), "{file}: no race is seen with all seeds: {told}");
    }
}
