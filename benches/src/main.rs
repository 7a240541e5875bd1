//! Measures each operation beside the limit of the machine, in one run.
//!
//! The driver compiles the kernels (C, in `kernels/`) against an installed library, as a user would, runs them under
//! its `oshrun`, and compares what they found with the targets of [`rows`]. A target that is missed is a finding, not
//! a failure; a row that could not be measured is a failure.
#![forbid(unsafe_code)]

mod job;
mod kernels;
mod many;
mod page;
mod peer;
mod report;
mod rows;
mod samples;

use std::fmt::Display;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

use job::{BenchPlan, Measured};
use report::{BenchMachine, BenchReport, Finding, GoalVerdict, METHOD};
use rows::{GROUPS, RowGroup};

/// The result of a step; an error is a sentence for the user.
type Outcome<T = ()> = Result<T, String>;

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(message) => {
            eprintln!("oxshmem-benches: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Outcome<ExitCode> {
    let options = BenchOptions::parse();
    if options.list {
        list();
        return Ok(ExitCode::SUCCESS);
    }
    let oshrun = options.prefix.join("bin/oshrun");
    if !oshrun.exists() {
        return Err(format!("there is no {}; `cargo xtask build` makes it", oshrun.display()));
    }
    create(&options.output)?;
    if options.many {
        many::measure(&options.prefix, &options.output, options.quick)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(peer) = &options.compare {
        peer::compare(&options, peer)?;
        return Ok(ExitCode::SUCCESS);
    }
    let chosen: Vec<&RowGroup> = GROUPS.iter().filter(|group| options.wants(group)).collect();
    if chosen.is_empty() {
        return Err(format!("`{}` is in no name of a group or operation; --list names them", options.only));
    }
    let (jobs, pairs) = options.samples();
    let mut report = BenchReport { machine: BenchMachine::here(), jobs, pairs, method: METHOD, rows: Vec::new() };
    let plan = BenchPlan {
        oshrun,
        kernels: kernels::compile(&options.prefix, &options.output)?,
        jobs,
        pairs,
        only: options.only.clone(),
    };
    say(Finding::header());
    for group in chosen {
        measure(&plan, group, &mut report.rows);
    }
    say(format_args!("\n{}\nmethod: {METHOD}", report.count()));
    let json = serde_json::to_string_pretty(&report).expect("numbers and words have a JSON form");
    write(&options.output.join("report.json"), &json)?;
    write(&options.output.join("report.html"), &page::page(&report))?;
    let measured = report.rows.iter().all(|row| row.verdict != GoalVerdict::NotMeasured);
    Ok(if measured { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs a group and adds what it found to `findings`.
fn measure(plan: &BenchPlan, group: &RowGroup, findings: &mut Vec<Finding>) {
    if let Some(obstacle) = plan.obstacle(group) {
        for row in group.rows.iter().filter(|row| group.matches(&plan.only, row.name)) {
            say(format_args!("not run: {}: {obstacle}", row.name));
        }
        return;
    }
    let measured = plan.run(group).unwrap_or_else(|message| {
        eprintln!("{} on {} PEs: {message}", group.name, group.pes);
        Measured::new()
    });
    for row in group.rows.iter().filter(|row| group.matches(&plan.only, row.name)) {
        let finding = Finding::new(group, row, &measured);
        say(&finding);
        findings.push(finding);
    }
    for (name, _) in measured.keys().filter(|(name, _)| group.rows.iter().all(|row| row.name != name)) {
        eprintln!("{} on {} PEs: `{name}` was measured but stands in no row", group.name, group.pes);
    }
}

fn create(folder: &Path) -> Outcome {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

fn write(path: &Path, text: &str) -> Outcome {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    say(path.display());
    Ok(())
}

/// Prints a line; a reader that has gone, as `head` does, is not an error.
fn say(line: impl Display) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn list() {
    for group in GROUPS {
        for row in group.rows {
            say(format_args!("{:<12}{:>3} PEs  {:<32}{} ({})", group.name, group.pes, row.name, row.target, row.limit));
        }
    }
}

impl RowGroup {
    /// Whether `only` asks for the operation, by its name or by the group's.
    fn matches(&self, only: &str, operation: &str) -> bool {
        self.name.contains(only) || operation.contains(only)
    }
}

/// Measures each operation beside the limit of the machine, in one run
#[derive(Parser)]
#[command(name = "oxshmem-benches")]
struct BenchOptions {
    /// The installation to measure
    #[arg(long, value_name = "DIR", value_parser = absolute, default_value_os_t = target().join("oxshmem"))]
    prefix: PathBuf,
    /// Where programs and reports go
    #[arg(long, value_name = "DIR", value_parser = absolute, default_value_os_t = target().join("bench"))]
    output: PathBuf,
    /// A minute in all, for a first look
    #[arg(long)]
    quick: bool,
    /// Only groups or operations whose names contain this
    #[arg(long, value_name = "PATTERN", default_value = "")]
    only: String,
    /// Collectives, alternating with another library: `openmpi`, or the prefix of another oxshmem
    #[arg(long, value_name = "PEER")]
    compare: Option<String>,
    /// Way of their messages: memory has all PEs on one node, and all is each in turn
    #[arg(long, value_name = "CARRIER", value_parser = peer::carrier_names(), default_value = "tcp", requires = "compare")]
    over: String,
    /// Nodes of the jobs that are compared [default: 2, then 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=64), requires = "compare")]
    nodes: Option<u32>,
    /// PEs of each of these nodes; more than one beside Open MPI over its own TCP alone
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64), requires = "compare")]
    per_node: u32,
    /// This number of other processes computes meanwhile
    #[arg(long, value_name = "N", default_value_t = 0, requires = "compare")]
    beside: u32,
    /// Jobs of 64 to 1,024 PEs over TCP: start, all-to-all, barrier, maximum, split, end (with --quick: to 256)
    #[arg(long)]
    many: bool,
    /// Name groups and operations
    #[arg(long)]
    list: bool,
}

impl BenchOptions {
    fn wants(&self, group: &RowGroup) -> bool {
        group.rows.iter().any(|row| group.matches(&self.only, row.name))
    }

    /// How many jobs, and how often limit and operation take turns in each.
    fn samples(&self) -> (u32, u32) {
        if self.quick { (7, 10) } else { (15, 40) }
    }
}

fn absolute(path: &str) -> std::io::Result<PathBuf> {
    std::path::absolute(path)
}

fn target() -> PathBuf {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this crate lies below the top folder");
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| top.join("target"), |folder| top.join(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_a_comparison_are_refused_without_one() {
        for option in ["--over=memory", "--beside=2", "--nodes=2", "--per-node=2"] {
            assert!(BenchOptions::try_parse_from(["benches", option]).is_err(), "{option}");
            assert!(BenchOptions::try_parse_from(["benches", "--compare=openmpi", option]).is_ok(), "{option}");
        }
        assert!(BenchOptions::try_parse_from(["benches", "--quick"]).is_ok());
    }
}
