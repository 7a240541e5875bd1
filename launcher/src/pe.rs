//! One PE as a process: how it is started, and what the launcher holds of it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::ErrorKind;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;

use oxshmem_bootstrap::REACHED;
use oxshmem_os::job_folder::MARK;
use oxshmem_os::replace::Replacement;
use oxshmem_os::{cpus, kernel_text, process, signals, sockets};
use oxshmem_profile::layout;
use tokio::process::{Child, Command};

use crate::plan::ProgramSpec;
use crate::refused;

/// The launcher's record of a started PE.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) child: Child,
    pub(crate) pid: u32,
    pub(crate) pmi: tokio::net::UnixStream,
    /// Files for its standard output and error.
    pub(crate) files: Option<[File; 2]>,
}

/// Where a PE's three streams lead.
pub(crate) struct Streams {
    pub(crate) stdin: Stdio,
    pub(crate) stdout: Stdio,
    pub(crate) stderr: Stdio,
    /// Where what the PE writes goes, if it is kept in files.
    pub(crate) files: Option<[File; 2]>,
    /// Whether a reader shall see each line when it ends.
    pub(crate) at_once: bool,
}

/// Variables by which the runtimes of gfortran and Python write each line when it ends, wherever the output goes. So what a PE has said
/// before it hangs is seen. What Python holds back is also lost when an error ends the job. A value that the user has set stays.
const UNBUFFERED: [(&str, &str); 2] = [("GFORTRAN_UNBUFFERED_PRECONNECTED", "y"), ("PYTHONUNBUFFERED", "1")];

/// To what a PE is bound.
#[derive(Debug, Default)]
pub(crate) struct Bound {
    /// Tells the library the user's wish: it looks for other jobs on the same cores.
    pub(crate) word: Option<&'static str>,
    /// The processors; nothing: those of the launcher.
    pub(crate) processors: Option<Vec<u32>>,
}

/// The variables that tell a PE its place, apart from the descriptor's number.
pub(crate) fn variables(pe: u32, size: u32, mark: &str) -> [(&'static str, String); 3] {
    [("PMI_RANK", pe.to_string()), ("PMI_SIZE", size.to_string()), (MARK, mark.to_string())]
}

/// Variables of an outer launcher that would mislead a PMI program about this job.
const MISLEADING: [&str; 4] = ["PMI_PORT", "PMI_ID", "PMI_SPAWNED", REACHED];

/// Variables by which the PEs of a recorded job keep records. A job inside of that one has PEs of the same numbers, whose records would take
/// the names of its own.
const RECORDED: [&str; 2] = [layout::FOLDER, layout::ROOM];

/// Starts PE `pe`. Each PE leads a process group, so that signals reach what it starts too.
pub(crate) fn start(
    pe: u32,
    size: u32,
    mark: &str,
    reached: Option<IpAddr>,
    program: &ProgramSpec,
    file: &Path,
    bound: Bound,
    streams: Streams,
) -> std::io::Result<Started> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    let mut command = Command::new(file);
    command
        .arg0(&program.command[0])
        .args(&program.command[1..])
        .envs(program.variables.iter().map(|(name, value)| (name, value)))
        .envs(variables(pe, size, mark))
        .env("PMI_FD", theirs.as_raw_fd().to_string())
        .envs(bound.word.map(|word| ("SHMEM_BIND", word)))
        .stdin(streams.stdin)
        .stdout(streams.stdout)
        .stderr(streams.stderr)
        .process_group(0);
    let sets = |name: &str| program.variables.iter().any(|(variable, _)| variable == name);
    let is_set = |name: &str| std::env::var_os(name).is_some() || sets(name);
    // The library does this for output of C only where a reader shall see each line.
    let lines = streams.at_once.then_some((process::LINES, "1"));
    command.envs(UNBUFFERED.into_iter().chain(lines).filter(|(name, _)| !is_set(name)));
    for name in MISLEADING.into_iter().chain(RECORDED.into_iter().filter(|name| !sets(name))) {
        command.env_remove(name);
    }
    if let Some(address) = reached {
        command.env(REACHED, address.to_string());
    }
    if let Some(wdir) = &program.wdir {
        command.current_dir(wdir).env("PWD", std::path::absolute(wdir)?);
    }
    let (next, script) = (replacement(&command, file, program)?, file.to_owned());
    let launcher = std::process::id();
    let prepare = move || {
        process::die_with_parent()?;
        // The launcher may have died before the kernel knew our wish.
        if std::os::unix::process::parent_id() != launcher {
            return Err(std::io::ErrorKind::BrokenPipe.into());
        }
        sockets::keep_on_exec(theirs.as_fd())?;
        bound.processors.as_deref().map_or(Ok(()), cpus::bind_to)?;
        let error = next.run();
        // The standard library then has a shell run the file, as is usual for a script without the line that names one.
        if error.raw_os_error() == Some(libc::ENOEXEC) && refused::is_script(&script) { Ok(()) } else { Err(error) }
    };
    #[allow(unsafe_code, reason = "what a process does between fork and exec cannot be checked")]
    // SAFETY: the closure runs in the forked child of a launcher whose only other threads do blocking reads and writes;
    // it makes system calls, and allocates at most a processor mask and lists for the kernel, which the C library supports after fork.
    unsafe {
        command.pre_exec(prepare)
    };
    let child = command.spawn()?;
    // The closure holds the PE's end of the socket; the launcher must not keep it open.
    drop(command);
    let pid = child.id().expect("a child that was not waited for has a number");
    Ok(Started { child, pid, pmi: tokio::net::UnixStream::from_std(ours)?, files: streams.files })
}

/// The program that a command starts, with the variables that the command gives it.
fn replacement(command: &Command, file: &Path, program: &ProgramSpec) -> std::io::Result<Replacement> {
    let mut variables: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    for (name, value) in command.as_std().get_envs() {
        match value {
            Some(value) => variables.insert(name.into(), value.into()),
            None => variables.remove(name),
        };
    }
    let variables = variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    Replacement::new(file, program.command.iter().map(OsString::as_os_str), variables)
}

/// Sends a signal to a PE and what it started. A group that has ended is no error.
pub(crate) fn signal(pid: u32, signal: i32) {
    let _ = signals::signal_group(pid, signal);
}

/// Whether the kernel is already taking the process apart, or has done so: its descriptors may be closed, so that others can
/// know of its end before we are told.
pub(crate) fn is_dying(pid: u32) -> bool {
    const EXITING: u32 = 4;
    let stat = match kernel_text::read(format!("/proc/{pid}/stat")) {
        Ok(stat) => stat,
        // The process has been waited for; the report of its end is on its way through this program.
        Err(error) => return error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH),
    };
    // The fields after the command's closing bracket begin with the state; the seventh is the process's flags.
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let flags = fields.get(6).and_then(|flags| flags.parse::<u32>().ok()).unwrap_or(0);
    fields.first().is_some_and(|state| state.starts_with(['Z', 'X'])) || flags & EXITING != 0
}

/// Whether anything that a PE started still runs in its group.
pub(crate) fn has_remains(pid: u32) -> bool {
    signals::signal_group(pid, 0).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_certain_before_and_after_it_has_been_waited_for() {
        assert!(!is_dying(std::process::id()));
        let mut child = std::process::Command::new("true").spawn().expect("`true` starts");
        let pid = child.id();
        while !is_dying(pid) {
            std::thread::yield_now();
        }
        child.wait().expect("it is a child of this process");
        assert!(is_dying(pid), "a PE that has been waited for, but whose end has not been reported, counts too");
    }
}
