//! Many PEs over TCP on one machine: how long they take to start, to reach each other all, to meet, and to end.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::report::BenchMachine;
use crate::samples::median;
use crate::{Outcome, job, kernels, say};

/// PEs, nodes, and the GiB of memory that the job needs, connections in the kernel included.
const SHAPES: [(u32, u32, u64); 6] = [(64, 8, 2), (128, 8, 2), (256, 8, 4), (256, 32, 4), (512, 16, 7), (1024, 16, 15)];

/// PEs of the largest job of a first look.
const QUICK: u32 = 256;

/// How often each job runs; a figure is the median.
const ROUNDS: usize = 3;

/// The figures that the program tells, in its order: seconds, then the descriptors of the PE that has most.
const COLUMNS: [&str; 7] = ["init", "puts", "barrier", "maximum", "split", "finalize", "descriptors"];

type JobFigures = [f64; COLUMNS.len()];

/// Runs jobs of every shape for which there is memory, and prints a line for each.
pub(crate) fn measure(prefix: &Path, folder: &Path, quick: bool) -> Outcome {
    let program = folder.join("everybody");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ci/faults/programs/everybody.c");
    kernels::cc(prefix, &program, &[source], &["-loxshmem"])?;
    say(format_args!("seconds, medians of {ROUNDS}; load of the machine before: {}", BenchMachine::here().load));
    say(format_args!("{:>6}{:>7}{}", "PEs", "nodes", COLUMNS.map(|name| format!("{name:>12}")).concat()));
    for (pes, nodes, gib) in SHAPES {
        if quick && pes > QUICK {
            continue;
        }
        if available_gib() < gib {
            say(format_args!(
                "not run: {pes} PEs on {nodes} nodes: they need {gib} GiB, and {} are free",
                available_gib()
            ));
            continue;
        }
        let rounds = (0..ROUNDS).map(|_| round(prefix, &program, pes, nodes)).collect::<Outcome<Vec<JobFigures>>>()?;
        let median = |column: usize| median(rounds.iter().map(|round| round[column]));
        let digits = |column| if COLUMNS[column] == "descriptors" { 0 } else { 2 };
        let figures = (0..COLUMNS.len()).map(|column| format!("{:>12.*}", digits(column), median(column)));
        say(format_args!("{pes:>6}{nodes:>7}{}", figures.collect::<String>()));
    }
    Ok(())
}

fn round(prefix: &Path, program: &Path, pes: u32, nodes: u32) -> Outcome<JobFigures> {
    let mut job = Command::new(prefix.join("bin/oshrun"));
    job.args(["--timeout", "900", "-n", &pes.to_string(), "--nodes", &nodes.to_string()]).arg(program);
    let said = job::finish(job.env("SHMEM_TRANSPORT", "tcp").stdin(Stdio::null()))?;
    figures(&said).ok_or_else(|| format!("the job printed `{}`", said.trim_end()))
}

/// The figures in the line of PE 0: `64 PEs met: init 0.20 s, puts ...; descriptors 80`.
fn figures(said: &str) -> Option<JobFigures> {
    let line = said.lines().find_map(|line| Some(line.split_once(" PEs met: ")?.1))?;
    let mut found = [0.0; COLUMNS.len()];
    for (figure, name) in found.iter_mut().zip(COLUMNS) {
        let mut words = line.split([' ', ',', ';']).filter(|word| !word.is_empty());
        words.find(|word| *word == name)?;
        *figure = words.next()?.parse().ok()?;
    }
    Some(found)
}

fn available_gib() -> u64 {
    let about = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = about.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib: Option<u64> = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    kib.unwrap_or(0) >> 20
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_line_of_a_job_has_every_column() {
        let line = "4 PEs met: init 0.01 s, puts 0.02 s, barrier 0.03 s, maximum 0.04 s, split 0.05 s, finalize 0.06 s; descriptors 12\n";
        assert_eq!(super::figures(line), Some([0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 12.0]));
        assert_eq!(super::figures("4 PEs met: init 0.01 s"), None);
        assert_eq!(super::figures("hello"), None);
    }
}
