//! One job under the launcher, with its output, its end and a limit of time.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use oxshmem_faults::GivenTime;

use super::program::output_folder;
use super::{CaseRun, CaseSelection, CaseVerdict, Instrumentation, case, races};
use crate::command;
use crate::rigs::hosts::Rig;

/// A job that is still running after this time hangs.
const LIMIT: Duration = Duration::from_secs(60);
/// Sanitizers, the race detector and emulated machines make everything slower.
const LONG_LIMIT: Duration = Duration::from_secs(300);

/// The case of what cards do, and why not all of what stands in for them does it.
const IN_ONE_PIECE: &str = "RMA_4";
const NOT_BY_SOFT_ROCE: &str =
    "Soft-RoCE writes elements of two bytes byte by byte (the kernel's memcpy), which cards do not";
const NOT_BY_OFI_TCP: &str =
    "libfabric's tcp receives into place as the bytes come, six of eight and then two; a put in a million shows it";

pub(super) fn run(options: &CaseSelection, rig: Option<&Rig>, row: &CaseRun) -> CaseVerdict {
    if let Some(why) = obstacle(options, rig, row) {
        return CaseVerdict::Skipped(why.into());
    }
    let mut command = match launcher(options, row) {
        Ok(command) => command,
        Err(why) => return CaseVerdict::Skipped(why),
    };
    add_programs(&mut command, options, rig, row);
    clear_environment(&mut command);
    if let Some(rig) = rig {
        rig.enter(&mut command);
    }
    command.envs(row.environment.iter().map(|(name, value)| (name, value)));
    command.envs(row.case.environment.iter().map(|(name, value)| (name, value)));
    let usual =
        if options.instrumentation != Instrumentation::Nothing || options.emulated { LONG_LIMIT } else { LIMIT };
    let limit = options.limit.map_or(usual, Duration::from_secs);
    match finish(command, limit) {
        Err(why) => CaseVerdict::Failed(why),
        Ok((status, output)) => match (judge(options, row, status, &output), case::not_run(&output)) {
            (Err(why), _) => CaseVerdict::Failed(format!("{why}\n{}", indented(&output))),
            (Ok(()), Some(why)) => CaseVerdict::Skipped(why.to_string()),
            (Ok(()), None) => CaseVerdict::Passed,
        },
    }
}

/// Why the row would show nothing, or something that is no fault of the library.
fn obstacle(options: &CaseSelection, rig: Option<&Rig>, row: &CaseRun) -> Option<&'static str> {
    let is_in_one_piece = row.case.name == IN_ONE_PIECE;
    let limits_dev_shm = row.case.dev_shm_mib.is_some();
    if row.case.one_node && options.nodes > 1 {
        Some("shows what only a job of one node promises")
    } else if row.built.name.contains("-static") && opens_a_library(row) {
        Some("a static program opens no libraries, and this transport is one")
    } else if is_in_one_piece && options.emulated && opens_a_library(row) {
        Some(NOT_BY_SOFT_ROCE)
    } else if is_in_one_piece && asks_for(row, "ofi:tcp") {
        Some(NOT_BY_OFI_TCP)
    } else if limits_dev_shm && rig.is_some() {
        Some("each host has a /dev/shm of its own")
    } else if limits_dev_shm && asks_for(row, "ofi:shm") {
        Some("libfabric's shm keeps its queues in /dev/shm")
    } else {
        None
    }
}

/// The launcher, with the /dev/shm that the row wants. An error says why it cannot have that.
fn launcher(options: &CaseSelection, row: &CaseRun) -> Result<Command, String> {
    let launcher = options.prefix.join("bin/oshrun");
    match row.case.dev_shm_mib {
        Some(mib) => private_dev_shm(&format!("size={mib}m"), &launcher),
        // Files that a killed job leaves there go with the namespace, where one is permitted.
        None if asks_for(row, "ofi:shm") => {
            Ok(private_dev_shm("mode=1777", &launcher).unwrap_or_else(|_| until_we_end(&launcher)))
        }
        None => Ok(until_we_end(&launcher)),
    }
}

/// Why a job with this exit status and output is not what the row expects.
fn judge(options: &CaseSelection, row: &CaseRun, status: i32, output: &str) -> Result<(), String> {
    match options.instrumentation {
        Instrumentation::Races => races::judge(&row.built.name, row.case, status, output),
        _ => row.case.judge(status, output),
    }
}

/// Whether the transport that the row asks for is in a library that is opened at run time.
fn opens_a_library(row: &CaseRun) -> bool {
    asks_for(row, "ucx") || asks_for(row, "ofi")
}

/// Whether the row asks for this transport, or for one whose name begins like that.
fn asks_for(row: &CaseRun, transport: &str) -> bool {
    let mut words = row.environment.iter().filter(|(name, _)| name == "SHMEM_TRANSPORT").map(|(_, value)| value);
    words.any(|word| word.starts_with(transport))
}

fn add_programs(command: &mut Command, options: &CaseSelection, rig: Option<&Rig>, row: &CaseRun) {
    let through = || rig.into_iter().flat_map(Rig::through);
    let name = row.case.listed_pes.is_empty().then_some(&row.case.name);
    let (pes, twins) = match row.built.twin {
        Some(_) if row.case.beside.is_some() => (row.pes - 1, 1),
        _ => (row.pes, 0),
    };
    if options.nodes > 1 {
        command.arg("--nodes").arg(options.nodes.to_string());
    }
    command.arg("-n").arg(pes.to_string()).args(through()).arg(&row.built.executable).args(name);
    if let (Some(twin), 1) = (&row.built.twin, twins) {
        command.args([":", "-n", "1"]).args(through()).arg(twin).args(name);
    }
}

/// The tests decide themselves which variables of the library are set.
pub(in crate::checks) fn clear_environment(command: &mut Command) {
    for (name, _) in std::env::vars() {
        if name.starts_with("SHMEM_") || name.starts_with("SMA_") {
            command.env_remove(name);
        }
    }
    // Memory that lives as long as the process is no leak to a test.
    command.env("ASAN_OPTIONS", "detect_leaks=0").env("UBSAN_OPTIONS", "print_stacktrace=1");
}

/// Runs a command to its end: the exit status by the shell's convention, and what it wrote.
pub(in crate::checks) fn finish(mut command: Command, limit: Duration) -> Result<(i32, String), String> {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = output_folder().join(format!("output-{}-{number}", std::process::id()));
    let output = File::create(&path).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    let errors = output.try_clone().map_err(|e| e.to_string())?;
    command.stdin(Stdio::null()).stdout(output).stderr(errors).process_group(0);
    let child = command.spawn().map_err(|e| format!("cannot start {command:?}: {e}"))?;
    let status = wait(child, limit);
    let text = String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned();
    let _ = fs::remove_file(&path);
    match status {
        Some(status) => Ok((status, text)),
        None => Err(format!("still running after {} s: {command:?}\n{}", limit.as_secs(), indented(&text))),
    }
}

/// Waits for the end, up to the limit; then ends the process group.
fn wait(mut child: Child, limit: Duration) -> Option<i32> {
    let mut given = GivenTime::begin();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => {
                return Some(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)));
            }
            Ok(None) if given.so_far() < limit => thread::sleep(Duration::from_millis(3)),
            _ => {
                kill(format!("-{}", child.id()));
                let _ = child.wait();
                return None;
            }
        }
    }
}

/// `kill -s KILL TARGET`, where TARGET is a process, or a process group with a minus sign. One that has ended meanwhile is no
/// failure.
pub(in crate::checks) fn kill(target: impl std::fmt::Display) {
    let kill = format!("kill -s KILL -- {target}");
    let _ = Command::new("sh").args(["-c", &kill]).stderr(Stdio::null()).status();
}

/// A program that is told to end when the thread that has started it ends, be it by a signal to the runner.
pub(in crate::checks) fn until_we_end(program: impl AsRef<OsStr>) -> Command {
    static PERMITTED: OnceLock<bool> = OnceLock::new();
    if !PERMITTED.get_or_init(|| command::exists("setpriv")) {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "TERM", "--"]).arg(program);
    command
}

/// Whether a program may have these namespaces for itself, and mount there.
pub(super) fn may_unshare(namespaces: &[&str]) -> bool {
    let mut probe = Command::new("unshare");
    probe.args(namespaces).args(["mount", "-t", "tmpfs", "none", "/dev/shm"]);
    command::output(&mut probe).is_ok_and(|output| output.status.success())
}

/// The launcher in a mount namespace of its own, whose /dev/shm has these options.
fn private_dev_shm(options: &str, launcher: &Path) -> Result<Command, String> {
    static PERMITTED: OnceLock<bool> = OnceLock::new();
    if !PERMITTED.get_or_init(|| may_unshare(&["-m"])) {
        return Err("a mount namespace of one's own is not permitted here (unshare -m)".to_string());
    }
    let script = format!("mount -t tmpfs -o {options} none /dev/shm && exec \"$@\"");
    let mut command = until_we_end("unshare");
    command.args(["-m", "sh", "-c", &script, "sh"]).arg(launcher);
    Ok(command)
}

/// At most the first lines of an output, set off from the message above.
pub(in crate::checks) fn indented(output: &str) -> String {
    let lines: Vec<String> = output.lines().take(12).map(|line| format!("    {line}")).collect();
    lines.join("\n")
}
