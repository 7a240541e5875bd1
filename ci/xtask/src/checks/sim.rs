//! Conformance over the simulated network: each case under two strategies, with the assertions of the protocols in force. With
//! `CHECK_LONG=1` under five, and every other program too, which is also a task of its own.

mod programs;
mod table;

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Parser;
use oxshmem_faults::is_long;

use crate::Outcome;
use crate::checks::conformance::{self, CaseSelection};
use crate::counts::CheckCounts;
use crate::product::build;

pub(crate) use programs::{SimulationArguments, run as programs};

/// The cases that move data or meet between nodes, in two parts. Programs of threads, files and processes are another matter.
const CASES: [&str; 4] = [
    "collectives/,reduce/",
    "broadcast/,collect/,alltoall/,scan/,active_sets/",
    "signals/,ordering/ORD_1",
    "rma/,amo/AMO_4,amo/AMO_7,locks/LCK_1,strided/STR_1,cray_teams/",
];

/// The strategies with a seed of each, and the parts of the cases that run under it in a brief run: each case under two.
const DETAILS: [(&str, &[usize]); 5] = [
    ("lazy:1", &[0, 1, 2, 3]),
    ("random:4", &[2]),
    ("priority:9", &[0]),
    ("starved-pe:2", &[3]),
    ("starved-pair:3", &[1]),
];

/// Jobs that are named at the end because they took the longest.
const SLOWEST: usize = 10;

/// The cases under the strategies, with four PEs on two and four nodes alternately; with `CHECK_LONG=1` all under all.
pub(crate) fn run() -> Outcome<CheckCounts> {
    let library = build::checked_library()?;
    let (mut counts, mut times) = (CheckCounts::default(), Vec::new());
    for (turn, (detail, parts)) in DETAILS.iter().enumerate() {
        let nodes = if turn % 2 == 0 { 4 } else { 2 };
        let parts = if is_long() { &[0, 1, 2, 3] } else { *parts };
        let cases: Vec<&str> = parts.iter().map(|part| CASES[*part]).collect();
        let mut selection = CaseSelection::between(&format!("sim:{detail}"), nodes, 4, Some(cases.join(",")));
        for environment in &mut selection.environments {
            environment.push(("LD_LIBRARY_PATH".into(), library.display().to_string()));
        }
        let (ended, took) = conformance::run_timed(&selection);
        counts += ended;
        times.extend(took);
    }
    show_slowest(times);
    if is_long() {
        counts += programs(&SimulationArguments::parse_from(["sim"]))?;
    }
    Ok(counts)
}

/// Prints which programs take how long, and the slowest jobs.
fn show_slowest(mut times: Vec<(Duration, String)>) {
    let mut programs: BTreeMap<&str, Duration> = BTreeMap::new();
    for (took, title) in &times {
        *programs.entry(title.split('/').next().unwrap_or(title)).or_default() += *took;
    }
    let sums: Vec<String> = programs.iter().map(|(name, took)| format!("{name} {} s", took.as_secs())).collect();
    println!("sim: seconds of the jobs, of which two run at a time: {}", sums.join(", "));
    times.sort_unstable();
    for (took, title) in times.iter().rev().take(SLOWEST) {
        println!("sim: {:.1} s: {title}", took.as_secs_f64());
    }
}
