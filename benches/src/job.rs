//! Runs one group under `oshrun` and collects what its PEs print.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::Outcome;
use crate::kernels::Kernels;
use crate::rows::{BETWEEN_NODES, RowGroup, Work};
use crate::samples::Samples;

pub(crate) struct BenchPlan {
    pub(crate) oshrun: PathBuf,
    pub(crate) kernels: Kernels,
    /// How often each job runs. Every start gets other memory, whose place in the caches makes some difference.
    pub(crate) jobs: u32,
    /// Pairs of batches, limit and ours, for each row of a job.
    pub(crate) pairs: u32,
    /// Only rows whose names contain this.
    pub(crate) only: String,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Side {
    Limit,
    Ours,
}

/// The samples of a group's rows, by name and side.
pub(crate) type Measured = BTreeMap<(String, Side), Samples>;

/// The output of a PE: one line for each side of each row.
#[derive(Deserialize)]
struct OutputLine {
    row: String,
    side: Side,
    values: Vec<f64>,
}

impl BenchPlan {
    pub(crate) fn run(&self, group: &RowGroup) -> Outcome<Measured> {
        let mut measured = Measured::new();
        for _ in 0..self.jobs {
            match group.work {
                Work::Kernel { bound, batch } => self.kernel(group, bound, batch, &mut measured)?,
                Work::Recorded(..) => self.kernel(group, true, Duration::from_micros(20), &mut measured)?,
                Work::Over(_) => self.kernel(group, true, BETWEEN_NODES, &mut measured)?,
                Work::Rust => {
                    let mut job = self.oshrun(group);
                    job.arg("--bind")
                        .arg(self.kernels.example("oxshmem", "beside_c", &["c"])?)
                        .arg(self.pairs.to_string());
                    collect(&finish(&mut job)?, &mut measured)?;
                }
                Work::Transport { package, example } => {
                    let program = self.kernels.example(package, example, &[])?;
                    collect(&finish(Command::new(program).arg("--json"))?, &mut measured)?;
                }
                Work::Memory => {
                    collect(&finish(self.oshrun(group).arg(&self.kernels.idle).arg("memory"))?, &mut measured)?;
                }
                Work::Start => self.start(group, &mut measured)?,
            }
            measured.values_mut().for_each(Samples::end_job);
        }
        Ok(measured)
    }

    fn kernel(&self, group: &RowGroup, bound: bool, batch: Duration, measured: &mut Measured) -> Outcome {
        let mut job = self.oshrun(group);
        job.arg(&self.kernels.timed).arg(group.name);
        job.args([self.pairs.to_string(), batch.as_nanos().to_string(), u8::from(bound).to_string()]);
        // A pattern that names the group means all its rows.
        job.arg(if group.name.contains(&self.only) { "" } else { &self.only });
        collect(&finish(&mut job)?, measured)
    }

    /// Why the group cannot run here, if the transport that it names cannot carry even the empty program.
    pub(crate) fn obstacle(&self, group: &RowGroup) -> Option<String> {
        let Work::Over(transport) = group.work else { return None };
        let message = finish(self.oshrun(group).arg(&self.kernels.idle)).err()?;
        Some(format!("{transport} is not here: {message}"))
    }

    fn oshrun(&self, group: &RowGroup) -> Command {
        let mut command = Command::new(&self.oshrun);
        command.args(["--timeout", "300", "-n", &group.pes.to_string()]).stdin(Stdio::null());
        if let Work::Recorded(option, file) = group.work {
            let path = self.kernels.idle.with_file_name(file);
            command.arg(format!("{option}={}", path.display()));
        }
        if group.nodes > 1 {
            command.args(["--nodes", &group.nodes.to_string()]);
            match group.work {
                // A start includes the choice of a transport.
                Work::Start => &mut command,
                Work::Over(transport) => command.env("SHMEM_TRANSPORT", transport),
                _ => command.env("SHMEM_TRANSPORT", "tcp"),
            };
        }
        command
    }

    /// Starts the empty program again and again, alternating with as many processes that do nothing.
    fn start(&self, group: &RowGroup, measured: &mut Measured) -> Outcome {
        let mut add = |side, nanoseconds| {
            let samples = measured.entry((group.rows[0].name.to_owned(), side));
            samples.or_insert_with(Samples::new).add(&[nanoseconds]);
        };
        for _ in 0..self.pairs.div_ceil(10) {
            add(Side::Limit, nanoseconds(|| processes(group.pes))?);
            add(Side::Ours, nanoseconds(|| finish(self.oshrun(group).arg(&self.kernels.idle)).map(drop))?);
        }
        Ok(())
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

fn collect(output: &str, measured: &mut Measured) -> Outcome {
    for text in output.lines() {
        let line: OutputLine = serde_json::from_str(text).map_err(|error| format!("a PE printed `{text}`: {error}"))?;
        measured.entry((line.row, line.side)).or_insert_with(Samples::new).add(&line.values);
    }
    Ok(())
}

/// Runs the job to its end and returns what it printed.
pub(crate) fn finish(job: &mut Command) -> Outcome<String> {
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
    use super::{Measured, Side, collect};

    #[test]
    fn lines_of_all_pes_meet_in_their_row() {
        let output = "{\"row\":\"p\",\"side\":\"ours\",\"pe\":0,\"values\":[1,2]}\n\
                      {\"row\":\"p\",\"side\":\"limit\",\"pe\":0,\"values\":[1]}\n\
                      {\"row\":\"p\",\"side\":\"ours\",\"pe\":1,\"values\":[3]}\n";
        let mut measured = Measured::new();
        collect(output, &mut measured).expect("all lines are well formed");
        measured.values_mut().for_each(super::Samples::end_job);
        let count = |side| measured[&("p".to_owned(), side)].summary().map(|summary| summary.samples);
        assert_eq!((count(Side::Ours), count(Side::Limit)), (Some(3), Some(1)));
    }

    #[test]
    fn a_line_of_something_else_is_an_error() {
        assert!(collect("hello\n", &mut Measured::new()).is_err_and(|message| message.contains("hello")));
    }
}
