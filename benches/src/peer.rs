//! Collectives between nodes, beside another OpenSHMEM library on the same machine: one C program, compiled for both, in
//! turns.
//!
//! The nodes are groups of this machine's PEs, and their messages go over TCP on the loopback device, for both libraries.

use std::collections::BTreeMap;
use std::env;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Outcome, job, say};

/// Jobs of one comparison: as many nodes as PEs.
const PES: [u32; 2] = [2, 4];

/// Microseconds of each round by operation, for one library and form of call.
type Rounds = BTreeMap<String, Vec<f64>>;

/// Runs the comparison with the peer of that name. A peer that is not there is said to be missing, and is no failure.
pub(crate) fn compare(peer: &str, prefix: &Path, output: &Path, only: &str, rounds: u32) -> Outcome {
    if peer != "openmpi" {
        return Err(format!("--compare {peer}: the peers are: openmpi"));
    }
    let Some(theirs) = OpenMpi::find() else {
        say("not run: collectives beside Open MPI: its OpenSHMEM is not installed (no oshmem_info on PATH)");
        return Ok(());
    };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("peer/collectives.c");
    let program = |name: &str| output.join(format!("collectives-{name}"));
    compile(&prefix.join("bin/oshcc"), &source, &program("ours"), &[])?;
    // Open MPI declares the forms over teams and does not implement them.
    compile(&theirs.bin.join("oshcc"), &source, &program("openmpi"), &["-DTEAMS=0"])?;
    for pes in PES {
        let (mut sets, mut teams, mut peers) = (Rounds::new(), Rounds::new(), Rounds::new());
        for _ in 0..rounds {
            let mut ours = Command::new(prefix.join("bin/oshrun"));
            ours.env("SHMEM_TRANSPORT", "tcp").args(["--timeout", "300", "-n", &pes.to_string()]);
            ours.args(["--nodes", &pes.to_string()]).arg(program("ours"));
            for (row, form, time) in measured(ours.arg(only))? {
                let rounds = if form == "team" { &mut teams } else { &mut sets };
                rounds.entry(row).or_default().push(time);
            }
            for (row, _, time) in measured(theirs.oshrun(pes).arg(program("openmpi")).arg(only))? {
                peers.entry(row).or_default().push(time);
            }
        }
        print(pes, &sets, &teams, &peers);
    }
    Ok(())
}

fn print(pes: u32, sets: &Rounds, teams: &Rounds, peers: &Rounds) {
    say(format_args!(
        "\n{pes} PEs as {pes} nodes over TCP: median microseconds per call, and how often ours goes into Open MPI's"
    ));
    line("", &"active set", &"team", &"Open MPI", &"ratio", &"ratio (team)");
    let mut rows: Vec<&String> = peers.keys().filter(|row| sets.contains_key(*row)).collect();
    rows.sort_by_key(|row| order(row));
    for row in rows {
        let (set, peer) = (median(&sets[row]), median(&peers[row]));
        let team = teams.get(row).map_or(f64::NAN, |times| median(times));
        let figure = |value: f64| format!("{value:.2}");
        line(row, &figure(set), &figure(team), &figure(peer), &figure(peer / set), &figure(peer / team));
    }
}

fn line(
    row: &str,
    set: &dyn Display,
    team: &dyn Display,
    peer: &dyn Display,
    ratio: &dyn Display,
    other: &dyn Display,
) {
    say(format_args!("{row:<20}{set:>12}{team:>12}{peer:>12}{ratio:>8}{other:>14}"));
}

/// Sorts operations by name, then by their number.
fn order(row: &str) -> (String, u64) {
    let (name, number) = row.rsplit_once(' ').unwrap_or((row, "0"));
    (name.to_owned(), number.parse().unwrap_or_default())
}

fn median(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// The lines that PE 0 of a job prints: operation, form, microseconds.
fn measured(command: &mut Command) -> Outcome<Vec<(String, String, f64)>> {
    let output = job::finish(command.stdin(Stdio::null()))?;
    let parse = |text: &str| {
        let mut words = text.split('\t');
        let (row, form, time) = (words.next()?, words.next()?, words.next()?.parse().ok()?);
        Some((row.to_owned(), form.to_owned(), time))
    };
    output.lines().map(|text| parse(text).ok_or_else(|| format!("a PE printed `{text}`"))).collect()
}

/// Open MPI with its OpenSHMEM.
struct OpenMpi {
    bin: PathBuf,
}

impl OpenMpi {
    /// The first one on PATH.
    fn find() -> Option<Self> {
        let path = env::var_os("PATH")?;
        let bin = env::split_paths(&path).find(|folder| folder.join("oshmem_info").is_file())?;
        Some(Self { bin })
    }

    /// A job whose messages go over TCP on the loopback device, in collectives and in puts, as between nodes.
    fn oshrun(&self, pes: u32) -> Command {
        let mut command = Command::new(self.bin.join("oshrun"));
        command.env("UCX_TLS", "tcp,self").env("UCX_NET_DEVICES", "lo");
        command.args(["--allow-run-as-root", "-x", "UCX_TLS", "-x", "UCX_NET_DEVICES"]);
        for (name, value) in
            [("osc", "^rdma"), ("pml", "ob1"), ("btl", "tcp,self"), ("btl_tcp_if_include", "lo"), ("coll", "^sm")]
        {
            command.args(["--mca", name, value]);
        }
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
        match pes <= processors {
            true => command.args(["--bind-to", "core"]),
            false => command.args(["--bind-to", "none", "--oversubscribe"]),
        };
        command.args(["-np", &pes.to_string()]);
        command
    }
}

fn compile(compiler: &Path, source: &Path, program: &Path, flags: &[&str]) -> Outcome {
    let result = Command::new(compiler)
        .args(["-O2", "-Wno-deprecated-declarations", "-o"])
        .args([program, source])
        .args(flags)
        .output()
        .map_err(|error| format!("cannot run {}: {error}", compiler.display()))?;
    match result.status.success() {
        true => Ok(()),
        false => Err(format!("{}: {}", compiler.display(), String::from_utf8_lossy(&result.stderr).trim_end())),
    }
}

#[cfg(test)]
mod tests {
    use super::{median, order};

    #[test]
    fn rows_stand_by_name_then_by_size() {
        let mut rows = ["max 1024", "barrier", "max 8", "broadcast 8"];
        rows.sort_by_key(|row| order(row));
        assert_eq!(rows, ["barrier", "broadcast 8", "max 8", "max 1024"]);
    }

    #[test]
    fn the_median_does_not_depend_on_the_order() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
    }
}
