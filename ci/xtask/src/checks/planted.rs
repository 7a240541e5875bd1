//! Faults that are planted in protocols (`oxshmem_base::planted!`): each is in force while jobs over the simulated network, or the
//! tests of a protocol, look for it, and must be found.

mod table;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use oxshmem_faults::{AT_ONCE, in_parallel, text_of};
use table::{ARGUMENTS, FoundBy, LIMIT, LONG_PUT, PlantedFault, ReuseArgument, SimulatedJobs};

use crate::checks::packages;
use crate::checks::random::job;
use crate::checks::workspace_tests::LIKE_ALL;
use crate::counts::{CheckCounts, skipped};
use crate::product::build;
use crate::{Outcome, command, top};

/// Seeds in which a fault is found.
const SEEDS: &str = "60";

/// The packages whose tests find faults, beside those of [`LIKE_ALL`]: so cargo takes the test programs that the step unit has built.
const WITH_TESTS: [&str; 6] =
    ["--package", "oxshmem-transport", "--package", "oxshmem-transport-ucx", "--package", "oxshmem-runtime"];

pub(crate) fn list() -> Outcome<CheckCounts> {
    show()?;
    println!("{} arguments, {} planted faults", ARGUMENTS.len(), faults().count());
    Ok(CheckCounts { passed: ARGUMENTS.len(), ..CheckCounts::default() })
}

fn faults() -> impl Iterator<Item = &'static PlantedFault> {
    ARGUMENTS.iter().flat_map(|argument| argument.faults)
}

/// Prints the arguments. An error if one is shown by nothing, or if a file has gone.
fn show() -> Outcome {
    for ReuseArgument { what, source, models, faults } in ARGUMENTS {
        let shown: Vec<&str> = faults.iter().map(|fault| fault.name).chain(models.iter().copied()).collect();
        println!("{what} ({source}): {}", shown.join(", "));
        if shown.is_empty() {
            return Err(format!("nothing shows that {what}"));
        }
        if let Some(gone) = [*source].iter().chain(*models).find(|file| !top().join("crates").join(file).exists()) {
            return Err(format!("crates/{gone}, which stands beside \"{what}\", does not exist"));
        }
    }
    Ok(())
}

/// Plants each fault, or those that are named, and looks whether it is found.
pub(crate) fn run(names: &[String]) -> Outcome<CheckCounts> {
    let planted = planted_in_source()?;
    let listed: BTreeSet<String> = faults().map(|fault| fault.name.to_owned()).collect();
    if planted != listed {
        let (missing, stale): (Vec<_>, Vec<_>) =
            (planted.difference(&listed).collect(), listed.difference(&planted).collect());
        return Err(format!("the list of planted faults lacks {missing:?} and has {stale:?}, which no source plants"));
    }
    show()?;
    let library = build::checked_library()?;
    let chosen: Vec<&PlantedFault> =
        faults().filter(|fault| names.is_empty() || names.iter().any(|name| name == fault.name)).collect();
    // Built one after the other, before jobs at a time want them.
    for fault in &chosen {
        if let FoundBy::Sim(job) = fault.found_by {
            job::build(job.program)?;
        }
    }
    in_parallel(AT_ONCE, &chosen, |fault| fault.counted(&library)).into_iter().sum()
}

impl PlantedFault {
    fn counted(&self, library: &Path) -> Outcome<CheckCounts> {
        let begun = Instant::now();
        if matches!(self.found_by, FoundBy::Test(LONG_PUT)) && !packages::has_ucx() {
            return Ok(skipped!("{}: there is no UCX here (package libucx0)", self.name));
        }
        let found = self.look(library)?;
        let how = found.as_deref().unwrap_or("NOT FOUND");
        println!("{}: {}: {how} ({:.1} s)", self.name, self.what, begun.elapsed().as_secs_f64());
        Ok(CheckCounts::one(found.is_some()))
    }

    /// How it was found. `None`: it was not.
    fn look(&self, library: &Path) -> Outcome<Option<String>> {
        let mut command = match &self.found_by {
            FoundBy::Sim(jobs) => jobs.command(library, "0", SEEDS, jobs.limit)?,
            FoundBy::Test(name) => {
                let mut command = command::cargo();
                command.args(["test", "--quiet", "--lib"]).args(LIKE_ALL).args(WITH_TESTS);
                // The output of a test that passes would not be seen.
                command.args(["--", "--nocapture", *name]);
                command
            }
        };
        command.env("SHMEM_PLANTED", self.name).env("RUST_BACKTRACE", "0").stdin(Stdio::null());
        let output = command::output(command.current_dir(top()))?;
        if output.status.success() {
            return Ok(None);
        }
        // Of a simulated job `oxshmem sim` shows a part of the output only.
        if matches!(self.found_by, FoundBy::Test(_)) && !is_reached(&output, self.name) {
            return Err(format!("planted {}: a test failed before it had reached the place of the fault", self.name));
        }
        let Some(words) = first_line(&output) else {
            return Err(format!("planted {}: nothing was found, and the check ended with an error", self.name));
        };
        if let FoundBy::Sim(jobs) = &self.found_by {
            jobs.pass_without(library, &words).map_err(|why| format!("planted {}: {why}", self.name))?;
        }
        Ok(Some(words))
    }
}

impl SimulatedJobs {
    /// The tool that tries this many seeds from `first` on.
    fn command(&self, library: &Path, first: &str, seeds: &str, limit: &str) -> Outcome<Command> {
        let mut command = Command::new(crate::default_prefix().join("bin/oxshmem"));
        command.args(["sim", "-n", self.pes, "--nodes", self.nodes, "--first", first, "--seeds", seeds, "--jobs", "1"]);
        command.args(["--no-story", "--timeout", limit]).arg(job::build(self.program)?).args(self.arguments);
        command.env("LD_LIBRARY_PATH", library).envs(self.variables.iter().copied());
        command.stdin(Stdio::null()).current_dir(top());
        Ok(command)
    }

    /// Runs the seed that `words` names without the fault, with the usual limit: if that fails too, nothing was found.
    fn pass_without(&self, library: &Path, words: &str) -> Outcome<()> {
        let Some(seed) = seed_in(words) else { return Err(format!("no seed is named in: {words}")) };
        let output = command::output(&mut self.command(library, seed, "1", LIMIT)?)?;
        if output.status.success() { Ok(()) } else { Err(format!("seed {seed} fails without the fault, too")) }
    }
}

/// The seed in a line of `oxshmem sim` about a seed that fails.
fn seed_in(line: &str) -> Option<&str> {
    line.strip_prefix("oxshmem: seed ")?.split_once(':').map(|(seed, _)| seed)
}

/// Whether the fault says that its place has been reached (`oxshmem_base::planted::is`).
fn is_reached(output: &Output, name: &str) -> bool {
    text_of(output).contains(&format!("the planted fault {name} is in force"))
}

/// The first words about a fault. `None`: there are none, as where a test does not compile.
fn first_line(output: &Output) -> Option<String> {
    let text = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    // The last one stands where a test ends its whole process.
    let words = ["panicked at", "FAILED", "error: test failed"];
    let told = |line: &&str| line.starts_with("oxshmem: seed") || words.iter().any(|words| line.contains(words));
    text.lines().find(told).map(|line| line.trim().to_owned())
}

fn planted_in_source() -> Outcome<BTreeSet<String>> {
    let text = command::read(&mut command::git(&["grep", "-hoE", "planted!\\(\"[a-z-]+\""]))?;
    let names = text.lines().filter_map(|line| Some(line.split_once('"')?.1.trim_end_matches('"').to_owned()));
    // The macro's own example, and its test.
    Ok(names.filter(|name| !["name", "nothing"].contains(&name.as_str())).collect())
}
