//! This tree beside an earlier revision: what providers add to the bare libraries, and what collectives cost on one node and between
//! nodes.
//!
//! Both are built here and measured alternately, because a machine's speed changes from minute to minute. A provider's
//! figure is its ratio to the bare library or socket of the same process; the change is the median over the pairs of
//! runs, with an interval that six pairs or more give.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use oxshmem_report::statistics::{interval, median};

use crate::{Outcome, command, default_prefix, target};

const EXAMPLES: &[Example] = &[
    Example { package: "oxshmem-transport-tcp", name: "beside_sockets", arguments: &[] },
    Example { package: "oxshmem-transport-ofi", name: "beside_libfabric", arguments: &["tcp"] },
    Example { package: "oxshmem-transport-ucx", name: "beside_ucp", arguments: &["tcp"] },
];

const PATTERNS: &[&str] = &["barrier", "max", "broadcast"];

/// An example that prints ratios to something bare.
struct Example {
    package: &'static str,
    name: &'static str,
    arguments: &'static [&'static str],
}

/// The other revision, and how often both are measured.
#[derive(clap::Args)]
pub(crate) struct RevisionsArguments {
    /// The revision to measure beside this tree
    before: String,
    /// How often both are measured
    #[arg(long, default_value_t = 8)]
    rounds: usize,
    /// Measure one part: providers, node, network
    #[arg(long, value_parser = ["providers", "node", "network"])]
    only: Option<String>,
}

pub(crate) fn run(arguments: &RevisionsArguments) -> Outcome {
    let before = Checkout::of(&arguments.before)?;
    let is_asked = |part: &str| arguments.only.as_deref().is_none_or(|only| only == part);
    if is_asked("providers") {
        for example in EXAMPLES {
            example.compare(&before, arguments.rounds)?;
        }
    }
    let shapes: Vec<(u32, u32)> =
        [("node", &[(2, 1), (4, 1), (8, 1)][..]), ("network", &[(2, 2), (4, 4), (8, 8), (8, 4)])]
            .into_iter()
            .filter(|(part, _)| is_asked(part))
            .flat_map(|(_, shapes)| shapes.iter().copied())
            .collect();
    match &shapes[..] {
        [] => Ok(()),
        shapes => collectives(&before, shapes, arguments.rounds),
    }
}

/// A revision in a folder of its own.
struct Checkout {
    folder: PathBuf,
}

impl Checkout {
    fn of(revision: &str) -> Outcome<Self> {
        let commit = command::read(&mut command::git(&["rev-parse", "--verify", &format!("{revision}^{{commit}}")]))?;
        let folder = target().join("revisions").join(commit.trim());
        if !folder.exists() {
            let mut add = command::git(&["worktree", "add", "--quiet", "--detach"]);
            command::run(add.arg(&folder).arg(commit.trim()))?;
        }
        Ok(Self { folder })
    }

    /// A command of cargo in the folder, which builds where all other revisions were built.
    fn cargo(&self) -> Command {
        let mut cargo = command::cargo();
        cargo.current_dir(&self.folder).env("CARGO_TARGET_DIR", target().join("revisions/build"));
        cargo
    }
}

impl Drop for Checkout {
    /// Removes the sources, which are in git; the build folder stays.
    fn drop(&mut self) {
        if let Err(why) = command::run(command::git(&["worktree", "remove", "--force"]).arg(&self.folder)) {
            println!("left behind: {why}");
        }
    }
}

impl Example {
    /// Prints the medians of both revisions' ratios, and how they changed.
    fn compare(&self, before: &Checkout, rounds: usize) -> Outcome {
        let programs = [
            self.build(before.cargo(), &target().join("revisions/build"), "before")?,
            self.build(command::cargo(), &target(), "now")?,
        ];
        let mut ratios: [BTreeMap<String, Vec<f64>>; 2] = Default::default();
        for round in 0..rounds {
            // In alternating order: the second of a pair finds another machine than the first.
            for side in [round % 2, 1 - round % 2] {
                for (row, ratio) in self.measure(&programs[side])? {
                    ratios[side].entry(row).or_default().push(ratio);
                }
            }
        }
        println!("{}: ratios to the bare library, medians of {rounds}; change: of the pairs", self.package);
        println!("{:<40}{:>8}{:>8}{:>9}{:>9}{:>9}", "", "before", "now", "change", "from", "to");
        let [before, now] = ratios;
        for (row, values) in before {
            if let Some(now) = now.get(&row) {
                let pairs: Vec<f64> =
                    values.iter().zip(now).map(|(before, now)| (now / before - 1.0) * 100.0).collect();
                let [before, now, change] = [&values, now, &pairs].map(|figures| median(figures).unwrap_or(f64::NAN));
                let (from, to) = interval(&pairs).unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
                println!("{row:<40}{before:>8.3}{now:>8.3}{change:>8.1}%{from:>8.1}%{to:>8.1}%");
            }
        }
        Ok(())
    }

    /// The rows of one run. A program that finds itself above its limit fails, but has measured.
    fn measure(&self, program: &Path) -> Outcome<Vec<(String, f64)>> {
        let output = command::output(Command::new(program).args(self.arguments))?;
        let rows: Vec<_> = String::from_utf8_lossy(&output.stdout).lines().filter_map(ratio).collect();
        if rows.is_empty() {
            Err(format!("{} found nothing: {}", self.package, String::from_utf8_lossy(&output.stderr)))
        } else {
            Ok(rows)
        }
    }

    /// Builds it, and returns a copy of the program: the two sides have it by one name.
    fn build(&self, mut cargo: Command, target_folder: &Path, side: &str) -> Outcome<PathBuf> {
        command::run(cargo.args(["build", "--quiet", "--release", "--package", self.package, "--example", self.name]))?;
        let program = target_folder.join("release/examples").join(self.name);
        let copy = target().join("revisions").join(format!("{}-{side}", self.package));
        fs::copy(&program, &copy).map_err(|error| format!("{}: {error}", program.display()))?;
        Ok(copy)
    }
}

/// The name of a row and its ratio, if the line has one: `put 8 B  bare 9.1 us  oxshmem 9.3 us  1.02 of bare`. Less is better.
fn ratio(line: &str) -> Option<(String, f64)> {
    let (found, is_bandwidth) = if let Some((before, _)) = line.split_once(" of the raw bandwidth") {
        (before.rsplit(' ').next()?, true)
    } else if let Some((before, _)) = line.split_once(" of raw").or_else(|| line.split_once(" of bare")) {
        (before.rsplit(' ').next()?, false)
    } else {
        (line.split_once("ratio ")?.1.split(' ').next()?, false)
    };
    let value: f64 = found.parse().ok()?;
    let end = line.find(" bare ").or_else(|| line.find("  "))?;
    let name = line[..end].trim();
    let beside = if line.contains("queue to sleep on") { "beside a queue to sleep on" } else { name };
    Some((beside.to_owned(), if is_bandwidth { 1.0 / value } else { value }))
}

/// `oxshmem bench` of this tree's installation with the earlier one as the other library, on this many PEs, each a node
/// of its own. Between nodes both use TCP.
fn collectives(before: &Checkout, shapes: &[(u32, u32)], rounds: usize) -> Outcome {
    let earlier = target().join("revisions/oxshmem");
    command::run(before.cargo().args(["xtask", "build", "--prefix"]).arg(&earlier))?;
    command::run(command::cargo().args(["xtask", "build"]))?;
    let [wrapper, launcher] = ["oshcc", "oshrun"].map(|name| earlier.join("bin").join(name));
    for &(pes, nodes) in shapes {
        for pattern in PATTERNS {
            let mut bench = Command::new(default_prefix().join("bin/oxshmem"));
            bench.args(["bench", "-n", &pes.to_string(), "--only", pattern, "--sizes", "8,4096"]);
            bench.args(["--rounds", &rounds.to_string(), "--with-name", "before", "--nodes", &nodes.to_string()]);
            bench.args([OsStr::new("--with-oshcc"), wrapper.as_os_str(), OsStr::new("--with-oshrun")]);
            let mut start = launcher.display().to_string();
            if nodes > 1 {
                start += &format!(" --nodes {nodes}");
                bench.env("SHMEM_TRANSPORT", "tcp");
            }
            command::run(bench.arg(start))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_found_in_what_the_examples_print() {
        let found = |line: &str| ratio(line).map(|(name, value)| (name, (value * 1000.0).round()));
        let row = |name: &str, value: f64| Some((name.to_owned(), value));
        assert_eq!(found("get 8 B                     9.10 us  2.45 of raw"), row("get 8 B", 2450.0));
        assert_eq!(found("put, 16 x 1 MiB   4.10 us  0.80 of the raw bandwidth"), row("put, 16 x 1 MiB", 1250.0));
        let bare = "put 8 B          bare     9.10 us   oxshmem      9.30 us   1.02 of bare";
        assert_eq!(found(bare), row("put 8 B", 1020.0));
        let fabric = "tcp            bare     9.10 us   oxshmem     9.30 us   ratio 1.132 (limit 1.15)";
        assert_eq!(found(fabric), row("tcp", 1132.0));
        let queue = "               bare     9.10 us with a queue to sleep on: ratio 1.010";
        assert_eq!(found(queue), row("beside a queue to sleep on", 1010.0));
        assert_eq!(found("over tcp"), None);
    }
}
