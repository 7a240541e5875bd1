//! Runs one group under `oshrun` and collects what its PEs print.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde::Deserialize;

use crate::Outcome;
use crate::kernels::Kernels;
use crate::rows::{Group, Work};
use crate::samples::Samples;

/// How all groups are run.
pub(crate) struct Plan {
    /// The launcher.
    pub(crate) oshrun: PathBuf,
    pub(crate) kernels: Kernels,
    /// Pairs of batches, limit and ours, for each row.
    pub(crate) pairs: u32,
    /// Only rows whose names contain this.
    pub(crate) only: String,
}

/// Which side of a row samples belong to.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Side {
    Limit,
    Ours,
}

/// The samples of a group's rows, by name and side.
pub(crate) type Measured = BTreeMap<(String, Side), Samples>;

/// What a PE prints: one line for each side of each row.
#[derive(Deserialize)]
struct Line {
    row: String,
    side: Side,
    values: Vec<f64>,
}

impl Plan {
    /// Runs the group.
    pub(crate) fn run(&self, group: &Group) -> Outcome<Measured> {
        match group.work {
            Work::Kernel { bound, batch } => {
                let mut job = self.oshrun(group);
                job.arg(&self.kernels.timed).arg(group.name);
                job.args([self.pairs.to_string(), batch.as_nanos().to_string(), u8::from(bound).to_string()]);
                // A pattern that names the group means all its rows.
                let only = if group.name.contains(&self.only) { "" } else { &self.only };
                collect(job.arg(only))
            }
            Work::Memory => collect(self.oshrun(group).arg(&self.kernels.idle).arg("memory")),
            Work::Start => self.start(group),
        }
    }

    fn oshrun(&self, group: &Group) -> Command {
        let mut command = Command::new(&self.oshrun);
        command.args(["--timeout", "300", "-n", &group.pes.to_string()]).stdin(Stdio::null());
        command
    }

    /// Starts the empty program again and again, in turns with as many processes that do nothing.
    fn start(&self, group: &Group) -> Outcome<Measured> {
        let name = group.rows[0].name;
        let (mut limit, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..(self.pairs / 8).clamp(5, 30) {
            limit.push(nanoseconds(|| processes(group.pes))?);
            ours.push(nanoseconds(|| finish(self.oshrun(group).arg(&self.kernels.idle)).map(drop))?);
        }
        let mut measured = Measured::new();
        for (side, values) in [(Side::Limit, limit), (Side::Ours, ours)] {
            measured.entry((name.to_owned(), side)).or_insert_with(Samples::new).merge(&values);
        }
        Ok(measured)
    }
}

fn nanoseconds(run: impl FnOnce() -> Outcome) -> Outcome<f64> {
    let begin = Instant::now();
    run()?;
    Ok(begin.elapsed().as_nanos() as f64)
}

/// Starts `count` processes at once and waits for all.
fn processes(count: u32) -> Outcome {
    let started: Result<Vec<_>, _> = (0..count).map(|_| Command::new("true").spawn()).collect();
    for mut process in started.map_err(|error| format!("cannot run `true`: {error}"))? {
        process.wait().map_err(|error| format!("cannot wait for `true`: {error}"))?;
    }
    Ok(())
}

/// Runs the job and merges the samples of its PEs.
fn collect(job: &mut Command) -> Outcome<Measured> {
    parse(&finish(job)?)
}

fn parse(output: &str) -> Outcome<Measured> {
    let mut measured = Measured::new();
    for text in output.lines() {
        let line: Line = serde_json::from_str(text).map_err(|error| format!("a PE printed `{text}`: {error}"))?;
        measured.entry((line.row, line.side)).or_insert_with(Samples::new).merge(&line.values);
    }
    Ok(measured)
}

/// Runs the job to its end and returns what it printed.
fn finish(job: &mut Command) -> Outcome<String> {
    let output = job.output().map_err(|error| format!("cannot run {}: {error}", job.get_program().display()))?;
    let messages = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("the job ended with {}: {}", output.status, messages.trim_end()));
    }
    eprint!("{messages}");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::{Side, parse};

    #[test]
    fn lines_of_all_pes_meet_in_their_row() {
        let output = "{\"row\":\"p\",\"side\":\"ours\",\"pe\":0,\"values\":[1,2]}\n\
                      {\"row\":\"p\",\"side\":\"limit\",\"pe\":0,\"values\":[1]}\n\
                      {\"row\":\"p\",\"side\":\"ours\",\"pe\":1,\"values\":[3]}\n";
        let measured = parse(output).expect("all lines are well formed");
        let count = |side| measured[&("p".to_owned(), side)].summary().map(|summary| summary.samples);
        assert_eq!((count(Side::Ours), count(Side::Limit)), (Some(3), Some(1)));
    }

    #[test]
    fn a_line_of_something_else_is_an_error() {
        assert!(parse("hello\n").is_err_and(|message| message.contains("hello")));
    }
}
