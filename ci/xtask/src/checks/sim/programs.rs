//! Every program over the simulated network: those of the faults, the examples in all languages, and the small right ones, under every
//! strategy.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use clap::Parser;
use oxshmem_faults::{AT_ONCE, in_parallel, text_of};

use super::table::{FAULTS, NOT_FAULTS, NOT_PYTHON, NOT_RUST, RUST};
use crate::checks::conformance::{self, CaseSelection};
use crate::checks::examples;
use crate::checks::random::{job, seed_of_the_clock};
use crate::counts::{CheckCounts, failed, skipped};
use crate::product::build;
use crate::{Outcome, command, default_prefix, disk, target, top};

/// All ways in which the network is bad.
const STRATEGIES: [&str; 6] = ["lazy", "eager", "random", "priority", "starved-pe", "starved-pair"];

/// The cases of collectives and of splits.
const COLLECTIVES: &str =
    "collectives/,reduce/,broadcast/,collect/,alltoall/,scan/,active_sets/,cray_teams/,strided/,grid/";

/// Of so many seeds one names the ring for gathers, which no job takes by itself.
const RING_IN: u64 = 4;

/// Seconds after which a job hangs. The slowest takes half a minute on a busy machine.
const LIMIT: &str = "240";

#[derive(Parser)]
pub(crate) struct SimulationArguments {
    /// Seeds of each program under each strategy
    #[arg(long, default_value_t = 2)]
    seeds: u64,
    /// The first seed [default: from the clock]
    #[arg(long)]
    first: Option<u64>,
    /// Strategies
    #[arg(long, value_delimiter = ',', default_values = STRATEGIES)]
    strategy: Vec<String>,
    /// PEs, each on a node of its own
    #[arg(long, default_value_t = 4)]
    pes: u32,
    /// Jobs at a time
    #[arg(long, default_value_t = AT_ONCE)]
    at_once: usize,
    /// Instead of programs: the conformance cases of collectives and splits, each under as many seeds, with the strategies in turns
    #[arg(long)]
    conformance: bool,
    /// Only programs whose names contain one of these words
    words: Vec<String>,
}

/// A program with the words before and behind its path.
struct SimulatedProgram {
    name: String,
    words: Vec<String>,
}

impl SimulationArguments {
    /// The first seed, which is printed: a run can be repeated.
    fn first_seed(&self, what: &str) -> u64 {
        let first = self.first.unwrap_or_else(seed_of_the_clock);
        println!("sim: {what}, the first seed is {first}");
        first
    }
}

pub(crate) fn run(arguments: &SimulationArguments) -> Outcome<CheckCounts> {
    if arguments.conformance { cases(arguments) } else { all(arguments) }
}

fn cases(arguments: &SimulationArguments) -> Outcome<CheckCounts> {
    let library = build::checked_library()?;
    let words = &arguments.words;
    let filter = if words.is_empty() { COLLECTIVES.into() } else { words.join(",") };
    let first = arguments.first_seed(&format!("cases of {filter}"));
    let mut selection = CaseSelection::between("sim", arguments.pes, arguments.pes, Some(filter));
    selection.at_once = arguments.at_once;
    let strategies = arguments.strategy.iter().cycle();
    let environment = |(seed, strategy): (u64, &String)| {
        let ring = seed.is_multiple_of(RING_IN).then(|| ("SHMEM_FCOLLECT_ALGORITHM", "ring".into()));
        let variables = [("SHMEM_TRANSPORT", format!("sim:{strategy}:{seed}")), ("LD_LIBRARY_PATH", text(&library))];
        variables.into_iter().chain(ring).map(|(name, value)| (name.to_string(), value)).collect()
    };
    selection.environments = (first..first + arguments.seeds).zip(strategies).map(environment).collect();
    let begun = Instant::now();
    let counts = conformance::run(&selection);
    let an_hour = (counts.passed + counts.failed) as f64 * 3600.0 / begun.elapsed().as_secs_f64().max(0.001);
    println!("sim: {an_hour:.0} seeds an hour");
    Ok(counts)
}

fn all(arguments: &SimulationArguments) -> Outcome<CheckCounts> {
    everybody_is_known()?;
    let library = build::checked_library()?;
    let mut counts = CheckCounts::default();
    let mut programs = programs(&mut counts)?;
    programs.retain(|it| arguments.words.is_empty() || arguments.words.iter().any(|word| it.name.contains(&**word)));
    let first = arguments.first_seed(&format!("{} programs", programs.len()));
    for strategy in &arguments.strategy {
        let begun = Instant::now();
        let outcomes = in_parallel(arguments.at_once, &programs, |program| {
            let outcome = program.run(arguments, strategy, first, &library);
            outcome.err().map(|why| failed!("{} under {strategy}: {why}", program.name))
        });
        let wrong = outcomes.iter().flatten().count();
        let seeds = arguments.seeds * outcomes.len() as u64;
        let an_hour = seeds as f64 * 3600.0 / begun.elapsed().as_secs_f64().max(0.001);
        println!("sim: {strategy}: {wrong} of {} programs failed; {an_hour:.0} seeds an hour", outcomes.len());
        counts += CheckCounts { passed: outcomes.len() - wrong, failed: wrong, skipped: 0 };
    }
    Ok(counts)
}

impl SimulatedProgram {
    fn new(name: String, words: impl IntoIterator<Item = String>) -> Self {
        Self { name, words: words.into_iter().collect() }
    }

    /// The seeds under one strategy; `Err` has what `oxshmem sim` says.
    fn run(&self, arguments: &SimulationArguments, strategy: &str, first: u64, library: &Path) -> Outcome {
        let pes = arguments.pes.to_string();
        let mut sim = Command::new(default_prefix().join("bin/oxshmem"));
        sim.args(["sim", "--np", &pes, "--nodes", &pes, "--strategy", strategy, "--first", &first.to_string()]);
        sim.args(["--seeds", &arguments.seeds.to_string(), "--jobs", "1", "--no-story", "--timeout", LIMIT]);
        sim.args(&self.words).env("LD_LIBRARY_PATH", library).env("OPENBLAS_NUM_THREADS", "1");
        let output = command::output(sim.current_dir(target()))?;
        if output.status.success() { Ok(()) } else { Err(text_of(&output)) }
    }
}

fn programs(counts: &mut CheckCounts) -> Outcome<Vec<SimulatedProgram>> {
    let mut all = Vec::new();
    for words in FAULTS {
        let mut words = words.split(' ').map(String::from);
        let name = words.next().unwrap_or_default();
        let path = text(&job::build(&name)?);
        all.push(SimulatedProgram::new(name, [path].into_iter().chain(words)));
    }
    for name in names(&top().join("ci/faults/programs/luck"), "c")?.iter().filter(|name| name.starts_with("right_")) {
        let path = text(&job::build(&format!("luck/{name}"))?);
        all.push(SimulatedProgram::new(format!("luck/{name}"), [path]));
    }
    for path in examples::build(&default_prefix())? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        all.push(SimulatedProgram::new(format!("examples/{name}"), [text(&path)]));
    }
    let mut cargo = command::cargo();
    cargo.args(["build", "--quiet", "--package", "oxshmem", "--features", "serde", "--examples"]);
    command::run(cargo.current_dir(top()))?;
    let rust = target().join("debug/examples");
    all.extend(RUST.iter().map(|name| SimulatedProgram::new(format!("rust/{name}"), [text(&rust.join(name))])));
    all.extend(python(counts)?);
    Ok(all)
}

/// The examples in Python, if their environment is there.
fn python(counts: &mut CheckCounts) -> Outcome<Vec<SimulatedProgram>> {
    let interpreter = target().join("python/environment/bin/python");
    let module = Command::new(&interpreter).args(["-c", "import oxshmem, numpy"]).output();
    if !module.is_ok_and(|output| output.status.success()) {
        *counts += skipped!("the examples in Python: `cargo xtask test python` makes their environment");
        return Ok(Vec::new());
    }
    let folder = top().join("examples/python");
    let program = |name: String| {
        let path = text(&folder.join(&name).with_extension("py"));
        SimulatedProgram::new(format!("python/{name}"), [text(&interpreter), path])
    };
    let mut names = names(&folder, "py")?;
    names.retain(|name| NOT_PYTHON.iter().all(|(_, others)| others.split(' ').all(|other| other != name)));
    Ok(names.into_iter().map(program).collect())
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// The files of a folder with such an ending, and its folders where the ending is empty, without their endings.
fn names(folder: &Path, ending: &str) -> Outcome<BTreeSet<String>> {
    let is_one = |path: &PathBuf| path.extension().map_or(path.is_dir() && ending.is_empty(), |its| its == ending);
    let name = |path: PathBuf| Some(path.file_stem()?.to_str()?.to_owned());
    Ok(disk::entries(folder)?.into_iter().filter(is_one).filter_map(name).collect())
}

/// A program that is in no table has been forgotten.
fn everybody_is_known() -> Outcome {
    let of = |folder: &str, ending| names(&top().join(folder), ending);
    let known = |run: &[&str], not: &[(&str, &str)]| -> BTreeSet<String> {
        let first = run.iter().map(|words| words.split(' ').next().unwrap_or_default());
        first.chain(not.iter().flat_map(|(_, names)| names.split(' '))).map(String::from).collect()
    };
    let mut faults = of("ci/faults/programs", "c")?;
    faults.extend(of("ci/faults/programs", "")?);
    let mut rust = of("crates/shmem/examples", "rs")?;
    rust.extend(of("crates/shmem/examples", "")?);
    let tables = [
        ("ci/faults/programs", faults, known(FAULTS, NOT_FAULTS)),
        ("crates/shmem/examples", rust, known(RUST, NOT_RUST)),
    ];
    for (folder, found, known) in tables {
        if found != known {
            let (new, gone): (Vec<_>, Vec<_>) =
                (found.difference(&known).collect(), known.difference(&found).collect());
            return Err(format!(
                "{folder}: the table of simulated programs lacks {new:?} and has {gone:?}, which are not there"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_program_is_in_the_table() {
        super::everybody_is_known().expect("the table is whole");
    }
}
