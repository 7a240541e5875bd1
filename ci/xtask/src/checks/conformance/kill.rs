//! Kills the launcher, or a PE, at moments all over a job's life: afterwards there must be no process of the job, no new
//! file in /dev/shm or /tmp, and no System V segment.
//!
//! Each job runs in mount and IPC namespaces of its own, with empty /dev/shm and /tmp, so that what it leaves behind can
//! be told from what other programs do. A mark in the environment finds its processes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{fs, thread};

use oxshmem_faults::comes_true;

use super::program::{executables, output_folder};
use super::{CaseResult, CaseSelection, CaseVerdict, job};
use crate::{command, watchdog};

const MOMENTS: u64 = 20;
const PES: &str = "4";
const MARK: &str = "CONFORMANCE_KILL_JOB";

/// How long the ends of processes may take.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug)]
enum Victim {
    Launcher,
    Pe,
}

pub(super) fn run(options: &CaseSelection) -> Vec<CaseResult> {
    let items = vec!["INIT-10".to_string()];
    let program = match build(options) {
        Ok(program) => program,
        Err(why) => {
            return vec![CaseResult { name: "kill/rounds".to_string(), items, verdict: CaseVerdict::Failed(why) }];
        }
    };
    if !job::may_unshare(&["-m", "-i"]) {
        let why = "namespaces of one's own are not permitted here (unshare -m -i)".to_string();
        return vec![CaseResult { name: "kill".to_string(), items, verdict: CaseVerdict::Skipped(why) }];
    }
    let mut results = Vec::new();
    for victim in [Victim::Launcher, Victim::Pe] {
        for moment in 0..MOMENTS {
            let ended = kill_at(options, &program, victim, moment);
            let verdict = ended.map_or_else(CaseVerdict::Failed, |()| CaseVerdict::Passed);
            let name = format!("kill/{victim:?} at moment {moment}");
            results.push(CaseResult { name, items: items.clone(), verdict });
        }
    }
    results
}

fn build(options: &CaseSelection) -> Result<PathBuf, String> {
    let executable = executables(options).join("rounds");
    let source = crate::top().join("crates/shmem-c/tests/kill/rounds.c");
    command::compile(&options.prefix, &[], &[source], &executable)?;
    Ok(executable)
}

/// One job, one death, and the look around afterwards. The last lines of the script's output are what the job left.
/// The first argument is the checkout, which is also the working directory; one in /tmp is mounted there again. The
/// second is a file for the job's messages, opened before /tmp is covered.
const SCRIPT: &str = "exec 2>/dev/null 3>\"$2\"; here=$1; shift 2
mount -t tmpfs none /dev/shm && mount -t tmpfs none /tmp || exit 99
[ -d \"$here\" ] || { mkdir -p \"$here\" && mount -c --bind /proc/self/cwd \"$here\"; } || exit 98
before=$(ls -A /dev/shm /tmp); \"$@\" >/dev/null 2>&3 3>&-; status=$?
sleep 0.3; ls -A /dev/shm /tmp | grep -Fxv \"$before\"; tail -n +2 /proc/sysvipc/shm; exit $status";

/// One round; a failure comes with what the job said.
fn kill_at(options: &CaseSelection, program: &Path, victim: Victim, moment: u64) -> Result<(), String> {
    let said = output_folder().join(format!("kill-{}-{victim:?}-{moment}", std::process::id()));
    let result = kill_and_look(options, program, victim, moment, &said);
    let words = fs::read_to_string(&said).unwrap_or_default();
    // Nothing depends on it any more.
    let _ = fs::remove_file(&said);
    result.map_err(|why| format!("{why}\n  the job said:\n{}", job::indented(&words)))
}

fn kill_and_look(
    options: &CaseSelection,
    program: &Path,
    victim: Victim,
    moment: u64,
    said: &Path,
) -> Result<(), String> {
    let mark = format!("{}-{victim:?}-{moment}", std::process::id());
    let launcher = options.prefix.join("bin/oshrun");
    let mut script = Command::new("unshare");
    script.args(["-m", "-i", "sh", "-c", SCRIPT, "sh"]).arg(crate::top()).arg(said);
    script.arg(&launcher).args(["-n", PES]).arg(program).current_dir(crate::top()).env(MARK, &mark);
    let target = match victim {
        Victim::Launcher => launcher,
        Victim::Pe => program.to_path_buf(),
    };
    let (status, left) = thread::scope(|scope| {
        let job = scope.spawn(|| job::finish(script, 3 * PATIENCE));
        let victims = wait_for_processes(&mark, &target);
        // Start-up takes some ten milliseconds: half of the moments fall into it.
        let latest = if moment.is_multiple_of(2) { 40_000 } else { 400_000 };
        thread::sleep(Duration::from_micros(scattered(moment) % latest));
        let victim = match victim {
            // Its helpers are started later and have the same executable.
            Victim::Launcher => victims.iter().min(),
            Victim::Pe => victims.get(scattered(moment + 100) as usize % victims.len().max(1)),
        };
        if let Some(pid) = victim {
            job::kill(pid);
        }
        job.join().unwrap_or_else(|_| Err("the thread of the job panicked".to_string()))
    })?;
    if status != 137 {
        return Err(format!("exit status {status} instead of 137, that of a killed process"));
    }
    if !left.trim().is_empty() {
        return Err(format!("left behind:\n{}", job::indented(&left)));
    }
    nobody_left(&mark)
}

fn nobody_left(mark: &str) -> Result<(), String> {
    let mut left = Vec::new();
    let are_gone = || {
        left = processes(mark);
        left.is_empty()
    };
    if comes_true(PATIENCE, are_gone) {
        return Ok(());
    }
    left.iter().for_each(|(pid, _)| job::kill(pid));
    Err(format!("still alive: {left:?}"))
}

fn wait_for_processes(mark: &str, executable: &Path) -> Vec<u32> {
    let executable = fs::canonicalize(executable).unwrap_or_default();
    let mut found = Vec::new();
    comes_true(PATIENCE, || {
        found = processes(mark).into_iter().filter(|(_, exe)| *exe == executable).map(|(pid, _)| pid).collect();
        !found.is_empty()
    });
    found
}

/// The processes whose environment carries the mark, with their executables. Dead ones have no environment.
fn processes(mark: &str) -> Vec<(u32, PathBuf)> {
    let mark = format!("{MARK}={mark}").into_bytes();
    let pids = watchdog::processes().into_iter().map(|process| process.pid);
    pids.filter(|pid| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark)
    })
    .map(|pid| (pid, fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default()))
    .collect()
}

/// Numbers without a pattern, the same in every run.
fn scattered(seed: u64) -> u64 {
    let mixed = (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 20
}
