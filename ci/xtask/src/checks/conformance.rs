//! Runs the conformance programs of the C library: builds each with the installed wrappers, runs every case under the
//! installed launcher at several PE counts, and looks whether a case shows each behaviour.

mod case;
mod coverage;
pub(super) mod job;
mod kill;
mod program;
mod races;
mod selection;

use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use case::ConformanceCase;
use oxshmem_faults::{AT_ONCE, in_parallel};
use program::Built;
pub(crate) use selection::{CaseSelection, ConformanceArguments};
use selection::{Environment, Instrumentation};

use crate::Outcome;
use crate::counts::{CheckCounts, failed, skipped};
use crate::rigs::hosts::Rig;

/// How one row came out; the texts say why.
enum CaseVerdict {
    Passed,
    Failed(String),
    Skipped(String),
}

impl CaseVerdict {
    /// A line for people about what is called `name`.
    fn of(&self, name: &str) -> String {
        match self {
            CaseVerdict::Passed => format!("passed {name}"),
            CaseVerdict::Failed(why) => format!("FAILED {name}: {why}"),
            CaseVerdict::Skipped(why) => format!("skipped {name}: {why}"),
        }
    }
}

/// The result of a case, or of what has kept cases from running.
struct CaseResult {
    name: String,
    /// The behaviours that it shows.
    items: Vec<String>,
    verdict: CaseVerdict,
}

impl CaseResult {
    /// A failure of something that is no case.
    fn failure(name: &str, why: String) -> CaseResult {
        CaseResult { name: name.into(), items: Vec::new(), verdict: CaseVerdict::Failed(why) }
    }
}

/// One case of one build with one number of PEs.
struct CaseRun<'a> {
    built: &'a Built,
    case: &'a ConformanceCase,
    pes: u32,
    environment: &'a Environment,
}

impl CaseRun<'_> {
    fn title(&self) -> String {
        let variables: String = self.environment.iter().map(|(name, value)| format!(" {name}={value}")).collect();
        format!("{} on {} PEs{variables}", self.built.title(self.case), self.pes)
    }
}

/// Builds everything that `options` selects, for a run somewhere else, which says what cannot be built here.
pub(crate) fn build(options: &CaseSelection) -> Outcome {
    let programs = program::all(options);
    in_parallel(AT_ONCE, &programs, |program| program.build(options)).into_iter().try_for_each(|built| built.map(drop))
}

/// Runs everything that `options` selects and prints one line per failure and per reason to skip.
pub(crate) fn run(options: &CaseSelection) -> CheckCounts {
    run_timed(options).0
}

/// The same, and returns how long each job took, with its title.
pub(crate) fn run_timed(options: &CaseSelection) -> (CheckCounts, Vec<(Duration, String)>) {
    let rig = match options.hosts.as_deref().map(Rig::new).transpose() {
        Ok(rig) => rig,
        Err(why) => return (skipped!("the programs on two hosts: {why}"), Vec::new()),
    };
    let mut results: Vec<CaseResult> = Vec::new();
    let programs = program::all(options);
    let built = in_parallel(AT_ONCE, &programs, |program| program.build(options));
    for (program, built) in programs.iter().zip(&built) {
        results.extend(built.as_ref().err().map(|why| CaseResult::failure(&program.name, why.clone())));
    }
    let built: Vec<&Built> = built.iter().flatten().collect();
    // A program that was not built may have the case; the result above says why it was not.
    let are_all_built = built.len() == programs.len();
    if are_all_built {
        results.extend(texts_without_a_case(options, &built));
    }
    let rows = rows(options, &built, &mut results);
    let ended = AtomicUsize::new(0);
    let verdicts = in_parallel(options.at_once, &rows, |row| {
        let begun = Instant::now();
        let verdict = job::run(options, rig.as_ref(), row);
        let took = begun.elapsed();
        let ended = ended.fetch_add(1, Ordering::Relaxed) + 1;
        if options.progress {
            println!("{ended} of {}, {} s: {}", rows.len(), took.as_secs(), verdict.of(&row.title()));
        }
        (verdict, took)
    });
    let mut times = Vec::new();
    for (row, (verdict, took)) in rows.iter().zip(verdicts) {
        times.push((took, row.title()));
        results.push(CaseResult { name: row.title(), items: row.case.items.clone(), verdict });
    }
    if options.kill {
        results.extend(kill::run(options));
    }
    if options.filter.is_none() && are_all_built {
        results.extend(coverage::failures(&results));
    }
    (report(options, &results), times)
}

/// A failure for each text of the filter that no case has in its name.
fn texts_without_a_case(options: &CaseSelection, built: &[&Built]) -> Vec<CaseResult> {
    let names = |built: &&Built| -> Vec<String> {
        built.cases.iter().map(|case| format!("{}/{}", built.name, case.name)).collect()
    };
    let names: Vec<String> = built.iter().flat_map(names).collect();
    let failure = |text| CaseResult::failure(text, "the filter has it, and no case has such a name".into());
    options.texts_without_a_case(&names).into_iter().map(failure).collect()
}

/// The rows of all selected cases. A case that runs with none of the chosen numbers of PEs is a result.
fn rows<'a>(options: &'a CaseSelection, built: &[&'a Built], results: &mut Vec<CaseResult>) -> Vec<CaseRun<'a>> {
    let mut rows = Vec::new();
    for &built in built {
        for case in built.cases.iter().filter(|case| options.selects(&built.name, &case.name)) {
            let before = rows.len();
            for environment in &options.environments {
                rows.extend(built.pes(options, case).into_iter().map(|pes| CaseRun { built, case, pes, environment }));
            }
            if rows.len() == before {
                let why = format!("runs with {} PEs, and none of the chosen numbers is among them", case.pes_text());
                let (name, items) = (built.title(case), case.items.clone());
                results.push(CaseResult { name, items, verdict: CaseVerdict::Skipped(why) });
            }
        }
    }
    rows
}

fn report(options: &CaseSelection, results: &[CaseResult]) -> CheckCounts {
    let mut counts = CheckCounts::default();
    let mut kept = String::new();
    for CaseResult { name, verdict, .. } in results {
        match verdict {
            CaseVerdict::Passed => counts.passed += 1,
            CaseVerdict::Failed(why) => {
                counts.failed += 1;
                failed!("{name}: {why}");
                kept += &format!("{name}: {why}\n");
            }
            CaseVerdict::Skipped(_) => {
                counts.skipped += 1;
                println!("{}", verdict.of(name));
            }
        }
    }
    println!("conformance: {} passed, {} failed, {} skipped", counts.passed, counts.failed, counts.skipped);
    // An emulated machine forgets its files.
    if !options.emulated {
        keep(&kept);
    }
    counts
}

/// Adds the messages of failed cases to a file that later runs leave alone: what fails once in a thousand runs must not
/// scroll away.
fn keep(failures: &str) {
    if failures.is_empty() {
        return;
    }
    let path = program::output_folder().join("failures.txt");
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let file = File::options().create(true).append(true).open(&path);
    match file.and_then(|mut file| write!(file, "at {since} s\n{failures}")) {
        Ok(()) => println!("the messages are kept in {}", path.display()),
        Err(error) => println!("the messages are not kept: {}: {error}", path.display()),
    }
}
