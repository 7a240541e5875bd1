//! One program under every launcher that can be had here, and how each of them ends a job that goes wrong.
//!
//! The program greets, closes a ring, splits teams and keeps a signal (`ci/launchers/hello.c`). A row is a launcher, its command line and
//! what must come of it; the book's table of launchers is about these rows.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use oxshmem_faults::comes_true;

use crate::checks::conformance::job;
use crate::counts::{CheckCounts, failed, skipped};
use crate::product::build;
use crate::rigs::{self, HeldRig};
use crate::{Outcome, command, default_prefix, target, top, watchdog};

mod table;

use table::{ExpectedResult, LauncherRow, ROWS, SERVED_PES};

/// How long one job may take before it counts as hung; nothing here waits on purpose.
const PATIENCE: Duration = Duration::from_secs(120);
/// How a row says so.
const SKIPPED: &str = "SKIPPED";

/// Runs the rows whose names contain one of these words, or all. What jobs say that end badly is shown where words are
/// named.
pub(crate) fn run(words: &[String]) -> Outcome<CheckCounts> {
    let wanted = |row: &&LauncherRow| words.is_empty() || words.iter().any(|word| row.name.contains(word.as_str()));
    let shows = !words.is_empty();
    let rows: Vec<&LauncherRow> = ROWS.iter().filter(wanted).collect();
    if rows.is_empty() {
        return Err("no launcher has that name; ci/xtask/src/checks/launchers/table.rs has them all".into());
    }
    if !default_prefix().join("lib/liboxshmem.so").exists() {
        build::build("release", &default_prefix())?;
    }
    let mut stage = LauncherRig { program: compile()?, slurm: None, shows };
    let (slurm, others): (Vec<&LauncherRow>, Vec<&LauncherRow>) = rows.into_iter().partition(|row| row.slurm);
    let mut counts: CheckCounts = others.into_iter().map(|row| stage.judge(row)).sum();
    if slurm.is_empty() {
        return Ok(counts);
    }
    match HeldRig::start("slurm-two-nodes", &[], "SLURM_CONF")? {
        Ok(rig) => {
            stage.slurm = Some(rig);
            counts += slurm.into_iter().map(|row| stage.judge(row)).sum();
        }
        Err(why) => {
            println!("{why}");
            counts.skipped += slurm.len();
        }
    }
    Ok(counts)
}

/// Builds the program with the compiler wrapper, as a user does.
pub(crate) fn compile() -> Outcome<PathBuf> {
    let (program, source) = (target().join("launchers/hello"), top().join("ci/launchers/hello.c"));
    command::compile(&default_prefix(), &["-Wall", "-Werror"], &[source], &program)?;
    Ok(program)
}

struct LauncherRig {
    program: PathBuf,
    /// A Slurm of two nodes, which tells where its configuration is.
    slurm: Option<HeldRig>,
    shows: bool,
}

impl LauncherRig {
    fn judge(&self, row: &LauncherRow) -> CheckCounts {
        if let Some(missing) = row.needs.iter().find(|needed| !command::exists(needed)) {
            return skipped!("{}: there is no {missing} here", row.name);
        }
        let outcome = match row.expect {
            ExpectedResult::Lifeline => self.lifeline(row).map(|()| String::new()),
            _ => self.ending(row),
        };
        match outcome {
            Ok(message) => {
                println!("ok      {}: {}", row.name, row.line());
                message.lines().filter(|_| self.shows).for_each(|line| println!("        | {line}"));
                CheckCounts::one(true)
            }
            Err(why) if why.starts_with(SKIPPED) => {
                println!("{why}");
                CheckCounts { skipped: 1, ..CheckCounts::default() }
            }
            Err(why) => {
                failed!("{}: {}\n{why}", row.name, row.line());
                CheckCounts::one(false)
            }
        }
    }

    /// Runs a row to its end. The text is what a job that was to end badly has said.
    fn ending(&self, row: &LauncherRow) -> Outcome<String> {
        let output = command::output(
            self.command(row, &["timeout", "-k", "5", &PATIENCE.as_secs().to_string()]).stdin(Stdio::null()),
        )?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (stdout, stderr, status) = (text(&output.stdout), text(&output.stderr), output.status.code());
        // The listing of all variables is indented, and no part of what is judged.
        let said: String =
            stdout.lines().filter(|line| !line.starts_with(' ')).map(|line| format!("{line}\n")).collect();
        let seen = || format!("status {status:?}\n-- stdout\n{said}-- stderr\n{stderr}");
        if status == Some(rigs::SKIPPED) {
            return Err(format!("{SKIPPED} {}: {}", row.name, stderr.trim()));
        }
        let lacks = |words: &str| format!("`{words}` was not said; {}", seen());
        match row.expect {
            ExpectedResult::Runs { by, on_node } => {
                let pes = on_node.len();
                for (pe, here) in on_node.iter().enumerate() {
                    let greeting = format!("PE {pe} of {pes}, {here} on this node");
                    // Open MPI cuts a long text of one PE where another one says something.
                    if stdout.lines().filter(|line| line.ends_with(&greeting)).count() != 1 {
                        return Err(lacks(&greeting));
                    }
                }
                for words in ["ring closed, teams agree", &format!("launcher: {by}")] {
                    if !stdout.contains(words) {
                        return Err(lacks(words));
                    }
                }
                if status == Some(0) { Ok(String::new()) } else { Err(seen()) }
            }
            ExpectedResult::Ends { statuses, says } => {
                let said = |words: &str| words.split('|').any(|words| stderr.contains(words));
                if let Some(words) = says.iter().find(|words| !said(words)) {
                    return Err(lacks(words));
                }
                let expected = status.is_some_and(|status| statuses.contains(&status));
                if expected { Ok(stderr) } else { Err(format!("{statuses:?} was expected; {}", seen())) }
            }
            ExpectedResult::Lifeline => unreachable!("it has no end of its own"),
        }
    }

    /// Kills the processes that serve the PEs while the PEs wait for each other. The PEs must end, too.
    fn lifeline(&self, row: &LauncherRow) -> Outcome {
        // The listing of all variables is long, and Open MPI cuts it where other PEs say something.
        let mut launcher = self.command(row, &[]);
        let mut launcher = launcher
            .env_remove("SHMEM_INFO")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        let lines = BufReader::new(launcher.stdout.take().expect("it is piped")).lines();
        let pids = lines.map_while(Result::ok).filter_map(|line| line.rsplit_once("pid ")?.1.parse::<u32>().ok());
        let pes: Vec<u32> = within_patience(launcher.id(), || pids.take(SERVED_PES).collect());
        let served = watchdog::processes().into_iter().filter(|process| pes.contains(&process.pid));
        let mut servers: Vec<u32> = served.map(|process| process.parent).filter(|parent| *parent > 1).collect();
        servers.sort_unstable();
        servers.dedup();
        let met = pes.len() == SERVED_PES && !servers.is_empty();
        if met {
            servers.iter().for_each(job::kill);
        }
        let gone = met && comes_true(PATIENCE, || pes.iter().all(|pe| !alive(*pe)));
        let left: Vec<u32> = pes.into_iter().filter(|pe| alive(*pe)).collect();
        left.iter().for_each(job::kill);
        // It may have been the server, and may hang without it; its status says nothing here.
        let _ = (launcher.kill(), launcher.wait());
        match (met, gone) {
            (true, true) => Ok(()),
            (false, _) => Err("the PEs did not get as far as to wait".into()),
            (true, false) => Err(format!("PEs {left:?} stayed when their servers {servers:?} were killed")),
        }
    }

    fn command(&self, row: &LauncherRow, before: &[&str]) -> Command {
        let bin = default_prefix().join("bin");
        let places = [
            ("{program}", self.program.clone()),
            ("{oshrun}", bin.join("oshrun")),
            ("{launchers}", top().join("ci/launchers")),
            ("{rigs}", top().join("ci/rigs")),
        ];
        let place = |word: &str| {
            places.iter().fold(word.to_string(), |word, (name, path)| word.replace(name, &path.display().to_string()))
        };
        let line = row.line();
        let words: Vec<String> = before.iter().copied().chain(line.split_whitespace()).map(place).collect();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env("SHMEM_INFO", "1").envs(row.variables.iter().copied());
        if let Some(slurm) = &self.slurm {
            command.env("SLURM_CONF", &slurm.told);
        }
        command
    }
}

/// Returns what `read` returns. A launcher whose job takes too long is killed, which ends its output.
fn within_patience<R>(launcher: u32, read: impl FnOnce() -> R) -> R {
    let (reading, read_to_the_end) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if read_to_the_end.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                job::kill(launcher);
            }
        });
        let result = read();
        drop(reading);
        result
    })
}

/// Whether it runs: a process has ended even if its parent has not waited for it.
fn alive(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/status"))
        .is_ok_and(|status| !status.lines().any(|line| line.starts_with("State:") && line.contains('Z')))
}
