//! The fuzzers of `ci/fuzz`: built with what libFuzzer sees coverage by, run for a while from the committed inputs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use oxshmem_faults::{AT_ONCE, in_parallel};

use crate::counts::{CheckCounts, skipped};
use crate::{Outcome, command, disk, target, top};

/// A fuzz target, further folders of committed inputs, and the longest input that it tries.
struct FuzzTarget {
    name: &'static str,
    more: &'static [&'static str],
    longest: u32,
}

const TARGETS: &[FuzzTarget] = &[
    FuzzTarget { name: "frames", more: &["crates/transport-tcp/corpus/frames"], longest: 20_000 },
    FuzzTarget { name: "connections", more: &[], longest: 3_000 },
    FuzzTarget { name: "handshakes", more: &["crates/transport-tcp/corpus/strangers"], longest: 200 },
    FuzzTarget { name: "pmi", more: &[], longest: 4_000 },
    FuzzTarget { name: "sizes", more: &[], longest: 100 },
    FuzzTarget { name: "mappings", more: &[], longest: 200 },
];

/// How the compiler makes coverage visible, on every toolchain.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1";
/// With a platform named, build scripts and procedural macros are not instrumented.
const PLATFORM: &str =
    if cfg!(target_arch = "aarch64") { "aarch64-unknown-linux-gnu" } else { "x86_64-unknown-linux-gnu" };

#[derive(clap::Args)]
pub(crate) struct FuzzArguments {
    /// Seconds for each target
    #[arg(long, default_value_t = 60)]
    seconds: u32,
    /// Keep what was found: the committed inputs become the fewest that reach all that is reached
    #[arg(long)]
    keep: bool,
    /// Targets; all if none is named
    #[arg(value_parser = TARGETS.iter().map(|target| target.name).collect::<Vec<_>>())]
    targets: Vec<String>,
}

impl FuzzArguments {
    /// Every target, so that the step takes half a minute.
    pub(crate) fn brief() -> FuzzArguments {
        FuzzArguments { seconds: 3, keep: false, targets: Vec::new() }
    }
}

pub(crate) fn run(options: &FuzzArguments) -> Outcome<CheckCounts> {
    let manifest = top().join("ci/fuzz/Cargo.toml");
    let fetched = command::output(command::cargo().args(["fetch", "--manifest-path"]).arg(&manifest))?;
    if !fetched.status.success() {
        return Ok(skipped!("the fuzzers: libFuzzer is not on this machine and cannot be fetched"));
    }
    let folder = target().join("fuzz");
    let mut build = command::cargo();
    build.args(["build", "--quiet", "--release", "--target", PLATFORM, "--manifest-path"]).arg(manifest);
    command::run(build.arg("--target-dir").arg(&folder).env("RUSTFLAGS", COVERAGE))?;
    let programs = folder.join(PLATFORM).join("release");
    let wanted =
        |target: &&FuzzTarget| options.targets.is_empty() || options.targets.iter().any(|name| name == target.name);
    let targets: Vec<&FuzzTarget> = TARGETS.iter().filter(wanted).collect();
    let run = |target: &&FuzzTarget| target.run(&programs, &folder.join("found").join(target.name), options);
    let outcomes = in_parallel(AT_ONCE, &targets, run);
    Ok(targets.iter().zip(outcomes).map(|(target, outcome)| CheckCounts::of(target.name, outcome)).sum())
}

impl FuzzTarget {
    fn committed(&self) -> PathBuf {
        top().join("ci/fuzz/corpus").join(self.name)
    }

    /// Runs it. What it finds goes to `found`, an input that breaks it beside that.
    fn run(&self, programs: &Path, found: &Path, options: &FuzzArguments) -> Outcome {
        let committed = self.committed();
        disk::make_folder(found)?;
        disk::make_folder(&committed)?;
        let seeds: Vec<PathBuf> = self.more.iter().map(|folder| top().join(folder)).collect();
        let mut fuzzer = Command::new(programs.join(self.name));
        fuzzer.arg(format!("-max_total_time={}", options.seconds)).arg(format!("-max_len={}", self.longest));
        fuzzer.args(["-print_final_stats=1", "-timeout=20"]).arg(format!("-artifact_prefix={}.", found.display()));
        let output = command::output(fuzzer.arg(found).arg(&committed).args(&seeds))?;
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            let reason = said.lines().skip_while(|line| !line.contains("panicked") && !line.contains("ERROR"));
            return Err(reason.take(40).collect::<Vec<_>>().join("\n"));
        }
        let runs = said.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
        let last = said.lines().rfind(|line| line.contains(" cov: ")).unwrap_or_default();
        let word = |key: &str| last.split(key).nth(1).and_then(|rest| rest.split([' ', '/']).next()).unwrap_or("?");
        println!(
            "{}: {} inputs tried in {} s; {} places reached by {} inputs, of which {} are committed",
            self.name,
            runs.unwrap_or("?").trim(),
            options.seconds,
            word(" cov: "),
            word(" corp: "),
            std::iter::once(&committed).chain(&seeds).filter_map(|folder| fs::read_dir(folder).ok()).flatten().count()
        );
        if options.keep { self.keep(programs, found) } else { Ok(()) }
    }

    /// Makes the committed inputs the fewest that reach all that is reached.
    fn keep(&self, programs: &Path, found: &Path) -> Outcome {
        let (committed, old) = (self.committed(), found.with_extension("old"));
        let failed = |error: std::io::Error| format!("the inputs of {} cannot be moved: {error}", self.name);
        let _ = fs::remove_dir_all(&old);
        fs::rename(&committed, &old).map_err(failed)?;
        fs::create_dir(&committed).map_err(failed)?;
        let mut merge = Command::new(programs.join(self.name));
        merge.arg("-merge=1").arg(format!("-max_len={}", self.longest)).arg(&committed).arg(&old).arg(found);
        command::read(&mut merge).map(drop)
    }
}
