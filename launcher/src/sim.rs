//! `oxshmem sim`: a program over the simulated network with many seeds, and what the first failing seed says.

mod explain;
mod names;
mod run;
mod shrink;

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread::Builder;
use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::PossibleValuesParser;
use oxshmem_base::Error;
use oxshmem_base::simulated::STRATEGIES;
use oxshmem_os::process;

use self::run::{JobUnderSim, SimulatedRun};
use crate::races::{self, FoundRaces};
use crate::results;
use crate::scratch::Scratch;
use crate::verdict::counted_as;

/// The command line of `oxshmem sim`.
#[derive(Args, Clone, Debug)]
pub struct SimArgs {
    /// Number of PEs
    #[arg(short = 'n', long = "np", value_name = "N", default_value = "4", value_parser = clap::value_parser!(u32).range(1..=64))]
    pes: u32,
    /// Number of simulated nodes [default: one for each PE]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    nodes: Option<u32>,
    /// How many seeds are tried
    #[arg(long, value_name = "N", default_value = "100", value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// The first seed
    #[arg(long, value_name = "SEED", default_value = "0")]
    first: u64,
    /// One strategy for all seeds: lazy, eager, random, priority, starved-pe or starved-pair [default: by the seed]
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(STRATEGIES), hide_possible_values = true)]
    strategy: Option<String>,
    /// One PE of each job is killed, at a step that the seed chooses
    #[arg(long)]
    death: bool,
    /// Jobs at a time [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    jobs: Option<u32>,
    /// A job that takes longer counts as hung
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// Try all seeds, and explain the first failure at the end
    #[arg(long)]
    keep_going: bool,
    /// Say which seeds fail and do not explain why
    #[arg(long)]
    no_story: bool,
    /// Look for data races in all seeds: the program is compiled with `oshcc --race`, in Rust with the feature `oxshmem/race`
    #[arg(long)]
    race: bool,
    /// With --race: write the races into this file as a page
    #[arg(long, value_name = "FILE", requires = "race")]
    html: Option<PathBuf>,
    /// Print the digest of each run: equal digests are equal runs
    #[arg(long)]
    digests: bool,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// The seeds that are left, one behind the other from the first one on. They are not stored: there may be billions.
struct SeedsLeft {
    first: u64,
    numbers: Range<u64>,
}

impl Iterator for SeedsLeft {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.numbers.next().map(|number| self.first.wrapping_add(number))
    }
}

/// The seeds tried so far, shared by the threads that run jobs.
struct TriedSeeds {
    left: SeedsLeft,
    tried: u64,
    failed: Vec<u64>,
    /// The run of the lowest of them.
    lowest: Option<(u64, SimulatedRun)>,
    /// Jobs in which a PE kept its turn for too long.
    overrun: u64,
    races: FoundRaces,
    /// Reports of races of which only the beginning is there.
    cut: usize,
    /// A line for each run, where the user wants them.
    digests: String,
}

impl SimArgs {
    /// Tries the seeds. Returns the report, and whether no job has failed and no race was found.
    pub fn run(&self) -> Result<(String, bool), Error> {
        let program = Path::new(&self.program[0]);
        if self.program[0].as_encoded_bytes().starts_with(b"-") {
            return Err(Error::new(format!("{} is no option of oxshmem sim, and no program", program.display()))
                .because("all words behind its options are the program and its arguments")
                .fix("write options of --help, and the program behind them: oxshmem sim -n 2 --seeds 10 ./program"));
        }
        if self.race {
            races::require(program)?;
        }
        // A page that cannot be written is reported before the first of many seeds.
        if let Some(html) = &self.html {
            results::try_path(html).map_err(results::unwritten(html, races::ELSEWHERE))?;
        }
        let job = JobUnderSim::new(self)?;
        let begun = Instant::now();
        let left = SeedsLeft { first: self.first, numbers: 0..self.seeds };
        let races = FoundRaces::default();
        let (failed, digests) = (Vec::new(), String::new());
        let found = TriedSeeds { left, tried: 0, failed, lowest: None, overrun: 0, races, cut: 0, digests };
        let found = Mutex::new(found);
        let jobs = self.jobs.unwrap_or_else(|| oxshmem_os::cpus::usable().try_into().unwrap_or(1));
        let error = Mutex::new(None);
        let work = || {
            if let Err(failed) = self.work(&job, &found) {
                // The other threads would go on with all seeds before the error is shown.
                found.lock().expect("no thread panics").left.numbers = 0..0;
                error.lock().expect("no thread panics").get_or_insert(failed);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..u64::from(jobs).min(self.seeds) {
                // Where the system gives no more threads there are fewer jobs at a time.
                if Builder::new().spawn_scoped(scope, work).is_err() {
                    break;
                }
            }
            work();
        });
        if let Some(error) = error.into_inner().expect("no thread panics") {
            return Err(error);
        }
        let TriedSeeds { tried, mut failed, lowest, overrun, races: found_races, cut, digests, .. } =
            found.into_inner().expect("no thread panics");
        failed.sort_unstable();
        let races = self.race.then(|| found_races.count());
        let mut report = digests + &summary(tried, &failed, races, overrun, begun.elapsed());
        if self.race {
            report += &found_races.told(|race| {
                let first = race.seeds.first().copied().unwrap_or_default();
                let command = job.command_line(&self.words(first));
                let seeds = race.seeds.len();
                format!("  seen:    with {seeds} of {tried} seeds, the first is {first}\n  repeat:  {command}\n")
            });
        }
        if cut > 0 {
            let _ = writeln!(report, "\n{}", races::left_out(cut));
        }
        let mut is_whole = true;
        if let Some(html) = &self.html {
            let lead = format!("{tried} seeds of {}.", self.program.join(OsStr::new(" ")).display());
            let written = races::write_page(&found_races, &lead, &[], html);
            is_whole = written.is_ok();
            report += &told_of_page(html, written);
        }
        if let Some((seed, outcome)) = &lowest {
            let words = self.words(*seed);
            let _ = writeln!(report, "{}", outcome.shown(*seed));
            let _ = writeln!(report, "Repeat it with: {}", job.command_line(&words));
            report += &match (self.no_story, self.death) {
                (true, _) => String::new(),
                (false, true) => AFTER_DEATH.to_owned(),
                (false, false) => shrink::explain(&job, &words, outcome)?,
            };
        }
        Ok((report, failed.is_empty() && found_races.count() == 0 && cut == 0 && is_whole))
    }

    /// Runs one job after the other.
    fn work(&self, job: &JobUnderSim, found: &Mutex<TriedSeeds>) -> Result<(), Error> {
        loop {
            let Some(seed) = found.lock().expect("no thread panics").left.next() else { return Ok(()) };
            let outcome = job.run(&self.words(seed), "")?;
            let mut found = found.lock().expect("no thread panics");
            found.tried += 1;
            found.races.add(Some(seed), &outcome.races.whole);
            found.cut += outcome.races.cut;
            found.overrun += u64::from(outcome.overrun() > 0);
            if self.digests {
                let _ = writeln!(found.digests, "seed {seed}: {}", outcome.digest());
            }
            if outcome.is_failure() {
                process::say(&format!("oxshmem: seed {seed}: {}\n", outcome.in_words()));
                found.failed.push(seed);
                if found.lowest.as_ref().is_none_or(|(lowest, _)| seed < *lowest) {
                    found.lowest = Some((seed, outcome));
                }
                if !self.keep_going {
                    found.left.numbers = 0..0;
                }
            }
        }
    }

    /// The choice of a seed, as `oshrun --sim=` takes it.
    fn words(&self, seed: u64) -> String {
        let strategy = self.strategy.as_ref().map_or_else(String::new, |name| format!("{name}:"));
        let death = if self.death { ",death" } else { "" };
        format!("{strategy}{seed}{death}")
    }
}

/// In the place of the smallest run that fails: a job whose PE was killed fails whatever the network does.
const AFTER_DEATH: &str = "With --death a PE is killed, and then no job ends with status 0: what counts is that it ends, with a sentence \
                           that says why. Leave --death out to have other failures explained.\n";

/// The lines of the report about its page. What the seeds have found is told although there is no page.
fn told_of_page(html: &Path, written: Result<(), Error>) -> String {
    match written {
        Ok(()) => format!("\npage: {}\n", html.display()),
        Err(error) => format!("\nno page: {error}\n"),
    }
}

/// A shorter time says nothing of how many seeds an hour has.
const LONG: Duration = Duration::from_secs(10);

/// `races`: how many were found, if they were looked for.
fn summary(tried: u64, failed: &[u64], races: Option<usize>, overrun: u64, took: Duration) -> String {
    let seconds = took.as_secs_f64();
    let mut text = format!("{} in {seconds:.1} s", counted_as(tried as usize, "seed"));
    if took >= LONG {
        let _ = write!(text, " ({:.0} an hour)", tried as f64 / seconds * 3600.0);
    }
    let races = races.map(|races| match races {
        0 => "no race".to_owned(),
        1 => "1 race".to_owned(),
        many => format!("{many} races"),
    });
    match (failed, races) {
        ([], None) => text += ": none failed (all exit with status 0; what they print is not compared)\n",
        ([], Some(races)) => {
            let _ = writeln!(text, ": no wrong exit status, {races}");
        }
        (_, races) => {
            let seeds: Vec<String> = failed.iter().take(20).map(u64::to_string).collect();
            let more = if failed.len() > 20 { ", ..." } else { "" };
            let races = races.map_or_else(String::new, |races| format!("; {races}"));
            let _ = writeln!(text, ": {} failed: {}{more}{races}", failed.len(), seeds.join(", "));
        }
    }
    if overrun > 0 {
        let _ = writeln!(
            text,
            "In {overrun} of them a PE computed or slept for long without a call, so that the others went on: such a run may not \
             repeat."
        );
    }
    text
}

/// A file for one job, which goes with this value.
struct ScratchFile(PathBuf);

impl ScratchFile {
    fn new(folder: &Scratch, what: &str) -> Self {
        use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Relaxed);
        Self(folder.path().join(format!("{number}.{what}")))
    }
}

impl Drop for ScratchFile {
    fn drop(&mut self) {
        // A job that has failed early has not made it.
        let _ = std::fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use oxshmem_test_folder::TestFolder;

    use super::*;

    #[test]
    fn seeds_are_counted_and_not_kept() {
        let mut left = SeedsLeft { first: u64::MAX, numbers: 0..u64::MAX };
        assert_eq!([left.next(), left.next()], [Some(u64::MAX), Some(0)]);
        left.numbers = 0..0;
        assert_eq!(left.next(), None);
    }

    #[test]
    fn a_page_that_cannot_be_written_is_told_before_the_first_seed_and_loses_no_report() {
        let folder = TestFolder::new("sim-page");
        let shown = folder.display().to_string();
        // Its detector is taken to be in the program that the script starts, and nothing is run.
        let arguments = SimArgs {
            pes: 2,
            nodes: None,
            seeds: 1,
            first: 0,
            strategy: None,
            death: false,
            jobs: None,
            timeout: 1,
            keep_going: false,
            no_story: true,
            race: true,
            html: Some(folder.to_path_buf()),
            digests: false,
            program: vec![folder.write_executable("script", "#!/bin/sh\n").into()],
        };
        let error = arguments.run().map(|_| ()).expect_err("it is a folder").to_string();
        assert!(error.starts_with(&format!("{shown} cannot be written")), "{error}");
        let late = told_of_page(&folder, races::write_page(&FoundRaces::default(), "", &[], &folder));
        assert!(late.starts_with(&format!("\nno page: {shown} cannot be written\n")), "{late}");
    }

    #[test]
    fn the_summary_counts_races_where_they_are_looked_for_and_seeds_an_hour_of_long_runs() {
        let told = |races, seconds| summary(8, &[], races, 0, Duration::from_secs(seconds));
        assert_eq!(told(Some(1), 2), "8 seeds in 2.0 s: no wrong exit status, 1 race\n");
        assert_eq!(told(Some(0), 2), "8 seeds in 2.0 s: no wrong exit status, no race\n");
        assert!(told(None, 2).starts_with("8 seeds in 2.0 s: none failed (all exit with status 0"));
        assert!(told(None, 20).starts_with("8 seeds in 20.0 s (1440 an hour): none failed"));
    }
}
