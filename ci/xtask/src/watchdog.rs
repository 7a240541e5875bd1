//! Ends test programs that hang, and shows where they hang.
//!
//! A check that never ends says nothing about itself. The watchdog looks at what a command has started, and a program that
//! runs for longer than its limit is shown with its processes and their stacks, then killed, so that the command goes on.

use std::collections::HashMap;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use std::{fs, thread};

use oxshmem_faults::GivenTime;

use crate::Outcome;

/// A program of tests may be given this long. The longest takes two minutes on two processors.
pub(crate) const PROGRAM_LIMIT: Duration = Duration::from_secs(900);

/// Time between two looks.
const PAUSE: Duration = Duration::from_millis(500);

/// Stacks are shown of this many processes.
const STACKS: usize = 8;

/// Runs a command that starts programs one after the other, and ends those that run for longer than the limit.
pub(crate) fn output(command: &mut Command, limit: Duration) -> Outcome<Output> {
    let program = command.get_program().to_string_lossy().into_owned();
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.map_err(|error| format!("{program} cannot be started: {error}"))?;
    watched(child, limit).map_err(|error| format!("the output of {program} cannot be read: {error}"))
}

fn watched(child: Child, limit: Duration) -> std::io::Result<Output> {
    let pid = child.id();
    let (ended, has_ended) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            let (mut since, mut given) = (HashMap::new(), GivenTime::begin());
            while has_ended.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
                look(pid, given.so_far(), limit, &mut since);
            }
        });
        let output = child.wait_with_output();
        // The receiver is gone only when the thread has ended.
        let _ = ended.send(());
        output
    })
}

/// Looks at the children of the command: each is one program of tests, or the compiler.
fn look(command: u32, now: Duration, limit: Duration, since: &mut HashMap<u32, Duration>) {
    let processes = processes();
    let running: Vec<u32> = processes.iter().filter(|process| process.parent == command).map(|one| one.pid).collect();
    since.retain(|pid, _| running.contains(pid));
    for pid in running {
        if now - *since.entry(pid).or_insert(now) > limit {
            end(pid, limit, &processes);
            since.remove(&pid);
        }
    }
}

/// Shows the processes of a program, and kills them, the program last: else it would start others.
fn end(program: u32, limit: Duration, processes: &[ProcessEntry]) {
    let family = family(program, processes);
    println!("HANGS: a program has run for {} s; its {} processes are killed:", limit.as_secs(), family.len());
    for pid in &family {
        println!("  {pid}: {}", command_line(*pid));
    }
    for pid in family.iter().take(STACKS) {
        println!("stacks of {pid}:\n{}", stacks(*pid));
    }
    for pid in family.iter().rev() {
        // A process that has ended since is what is wanted.
        let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).stderr(Stdio::null()).status();
    }
}

/// The program and all that descends from it, parents before children.
fn family(program: u32, processes: &[ProcessEntry]) -> Vec<u32> {
    let mut family = vec![program];
    let mut at = 0;
    while at < family.len() {
        let parent = family[at];
        family.extend(processes.iter().filter(|process| process.parent == parent).map(|process| process.pid));
        at += 1;
    }
    family
}

pub(crate) struct ProcessEntry {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
}

pub(crate) fn processes() -> Vec<ProcessEntry> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| {
        Some(ProcessEntry { pid, parent: parent_in(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)? })
    })
    .collect()
}

/// The parent of a process, from its line of `/proc/PID/stat`: the second field behind the name, which may hold spaces.
fn parent_in(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

fn command_line(pid: u32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<_> = line.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
    words.join(" ").chars().take(200).collect()
}

/// The stacks of all threads, by gdb; without it what the kernel knows.
fn stacks(pid: u32) -> String {
    let gdb = ["--batch", "--nx", "--quiet", "-ex", "thread apply all backtrace 25", "--pid"];
    let shown = Command::new("gdb").args(gdb).arg(pid.to_string()).stdin(Stdio::null()).output();
    match shown {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).into_owned(),
        _ => fs::read_to_string(format!("/proc/{pid}/wchan")).unwrap_or_else(|error| error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::{Duration, Instant};

    #[test]
    fn a_program_that_hangs_is_ended_and_the_command_goes_on() {
        let begun = Instant::now();
        let mut command = Command::new("bash");
        command.args(["-c", "sleep 600; echo ended with $?; exit 3"]);
        let output = super::output(&mut command, Duration::from_millis(100)).unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "ended with 137\n");
        assert_eq!(output.status.code(), Some(3));
        assert!(begun.elapsed() < Duration::from_secs(500));
    }

    #[test]
    fn the_name_of_a_process_may_hold_anything() {
        assert_eq!(super::parent_in("12 (a) b (c)) S 34 5 6"), Some(34));
    }
}
