//! How the tests start jobs and watch them.
#![allow(dead_code, reason = "every test program uses a part of it")]

pub(crate) mod sshd;

use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use oxshmem_test_folder::{TestFolder, not_run};

/// Long enough for the busiest machine; no test passes or fails by being slower than that.
const PATIENCE: Duration = Duration::from_secs(60);

/// `oshrun` with these arguments. No signal is ignored, although whoever started the tests may have ignored some (nohup, a
/// shell's background job).
pub(crate) fn oshrun<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new("/usr/bin/env");
    command.args(["--default-signal", env!("CARGO_BIN_EXE_oshrun")]).args(arguments).stdin(Stdio::null());
    command
}

pub(crate) fn ended(command: &mut Command) -> Ended {
    Ended::from(command.output().expect("the command starts"))
}

/// Runs `oshrun` with the words of this line, where `PROBE` is the test program.
pub(crate) fn run(line: &str) -> Ended {
    ended(&mut oshrun(words(line)))
}

/// Runs a shell script on `n` PEs.
pub(crate) fn run_script(options: &str, script: &str) -> Ended {
    ended(&mut oshrun(options.split_whitespace().chain(["sh", "-c", script])))
}

/// The words of a line, with `PROBE` replaced.
pub(crate) fn words(line: &str) -> Vec<String> {
    let word = |word: &str| match word {
        "PROBE" => probe(),
        other => other.to_string(),
    };
    line.split_whitespace().map(word).collect()
}

/// The program that acts as a PE.
pub(crate) fn probe() -> String {
    let probe = Path::new(env!("CARGO_BIN_EXE_oshrun")).with_file_name("examples").join("probe");
    assert!(probe.exists(), "{} is missing: cargo build --examples", probe.display());
    probe.display().to_string()
}

#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Ended {
        Ended {
            status: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Ended {
    /// Asserts the exit status, and returns the job for further questions.
    #[track_caller]
    pub(crate) fn expect(self, status: i32) -> Ended {
        assert_eq!(self.status, Some(status), "{}{}", self.stdout, self.stderr);
        self
    }

    /// Asserts that it has ended well and said nothing.
    #[track_caller]
    pub(crate) fn well(self) -> Ended {
        assert_eq!((self.status, self.stderr.as_str()), (Some(0), ""), "{}", self.stdout);
        self
    }

    #[track_caller]
    pub(crate) fn says(&self, words: &[&str]) {
        for word in words {
            assert!(self.stderr.contains(word), "nothing says `{word}`: {}", self.stderr);
        }
    }

    /// The job, unless there was no hwloc here to read its map with: then that is said.
    pub(crate) fn with_hwloc(self) -> Option<Ended> {
        if self.stderr.contains("libhwloc.so") {
            not_run(format_args!("no hwloc here: {}", self.stderr));
            return None;
        }
        Some(self)
    }

    /// The lines of standard output in alphabetical order.
    pub(crate) fn sorted(&self) -> Vec<&str> {
        let mut lines: Vec<&str> = self.stdout.lines().collect();
        lines.sort_unstable();
        lines
    }
}

/// Every PE tells its own number and that of a child, which would live on if nobody ended it.
pub(crate) const WITH_CHILD: &str =
    "sleep 600 & echo $! > $HERE/child.$PMI_RANK; echo $$ > $HERE/pe.$PMI_RANK; wait; exit 0";

/// A job in the background. Whatever a failed test leaves of it is killed.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) folder: TestFolder,
}

impl Running {
    /// Starts a script on `n` PEs; it finds the test's own folder in `$HERE`.
    pub(crate) fn script(n: usize, script: &str) -> Running {
        Running::with(&["-n", &n.to_string(), "sh", "-c", script])
    }

    /// Starts `oshrun` with these arguments; its PEs and its remote shell find the test's own folder in `$HERE`.
    pub(crate) fn with(arguments: &[&str]) -> Running {
        Running::of(oshrun(arguments))
    }

    /// The same with a command that starts `oshrun`.
    pub(crate) fn of(mut command: Command) -> Running {
        let folder = TestFolder::new("launch");
        command.env("HERE", &*folder).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running { child: command.spawn().expect("oshrun starts"), folder }
    }

    /// Four PEs that stay, each with a child.
    pub(crate) fn staying(mut command: Command) -> Running {
        command.args(["-n", "4", "sh", "-c", WITH_CHILD]);
        Running::of(command)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn wait(mut self) -> Ended {
        until("oshrun ends", || self.child.try_wait().expect("our child").is_some());
        let read = |stream: &mut dyn std::io::Read| {
            let mut text = String::new();
            stream.read_to_string(&mut text).expect("text");
            text
        };
        Ended {
            status: self.child.wait().expect("our child").code(),
            stdout: self.child.stdout.take().map(|mut stream| read(&mut stream)).unwrap_or_default(),
            stderr: self.child.stderr.take().map(|mut stream| read(&mut stream)).unwrap_or_default(),
        }
    }

    /// The process numbers that the script wrote to files in `$HERE`, once there are `count` of them.
    pub(crate) fn pids(&self, count: usize) -> Vec<u32> {
        let read = || {
            let files = std::fs::read_dir(&*self.folder).expect("our folder").flatten();
            let texts = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
            texts.filter(|text| text.ends_with('\n')).filter_map(|text| text.trim().parse().ok()).collect::<Vec<u32>>()
        };
        until("all processes have told their numbers", || {
            let is_complete = read().len() == count;
            assert!(is_complete || runs(self.pid()), "oshrun has ended before: {}", self.words());
            is_complete
        });
        read()
    }

    /// The errors that it has printed so far.
    fn words(&self) -> String {
        let Some(stream) = &self.child.stderr else { return String::new() };
        let mut stream = File::from(stream.as_fd().try_clone_to_owned().expect("a descriptor"));
        let (words, received) = mpsc::channel();
        // Processes that it has started may hold the pipe, and then the read waits for more.
        std::thread::spawn(move || {
            let mut room = vec![0; 64 << 10];
            let length = stream.read(&mut room).unwrap_or(0);
            words.send(String::from_utf8_lossy(&room[..length]).into_owned())
        });
        received.recv_timeout(Duration::from_secs(1)).unwrap_or_default()
    }

    /// The processes of the job, by the folder in their environment.
    pub(crate) fn processes(&self) -> Vec<u32> {
        processes_with(self.folder.to_str().expect("text"))
    }

    /// The agents among them.
    pub(crate) fn agents(&self) -> Vec<u32> {
        let is_agent = |pid: &u32| {
            let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let mut words = line.split('\0');
            words.next().is_some_and(|program| program.ends_with("oshrun")) && words.any(|word| word == "--agent")
        };
        self.processes().into_iter().filter(is_agent).collect()
    }

    /// The process number of one PE that wrote it to `pe.N` in `$HERE`.
    pub(crate) fn pe(&self, pe: u32) -> u32 {
        let text = std::fs::read_to_string(self.folder.join(format!("pe.{pe}"))).expect("the PE has told it");
        text.trim().parse().expect("a number")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Already over, in a test that passes.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether a process runs: it is there and no zombie.
pub(crate) fn runs(pid: u32) -> bool {
    state(pid).is_some_and(|state| !['Z', 'X'].contains(&state))
}

pub(crate) fn is_stopped(pid: u32) -> bool {
    state(pid) == Some('T')
}

/// The state of a process, as the one character of `/proc/PID/stat`.
fn state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next()?.chars().next()
}

pub(crate) fn until(what: &str, mut is_true: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_true() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn send(signal: &str, pid: u32) {
    let status = Command::new("kill").args(["-s", signal, &pid.to_string()]).status().expect("kill runs");
    assert!(status.success(), "kill -s {signal} {pid}");
}

/// Processes that carry this text in their environment.
pub(crate) fn processes_with(text: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").expect("a Linux system").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let carries = |pid: &u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.windows(text.len()).any(|window| window == text.as_bytes())
    };
    pids.filter(carries).collect()
}

/// The children of a process that run this program.
pub(crate) fn children(pid: u32, program: &str) -> Vec<u32> {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let runs = |child: &u32| {
        let name = std::fs::read_to_string(format!("/proc/{child}/comm")).unwrap_or_default();
        name.trim() == program
    };
    children.split_whitespace().filter_map(|child| child.parse().ok()).filter(runs).collect()
}

/// Whether PEs that are bound here can have a core each, and not all share one.
pub(crate) fn has_several_cores() -> bool {
    let node = oxshmem_topology::discover("sysfs").expect("Linux tells").node;
    let allowed: Vec<u32> = oxshmem_os::cpus::allowed().into_iter().map(|cpu| cpu as u32).collect();
    oxshmem_topology::placement::cores(&node, &allowed) > 1
}

/// A device on which there is no room.
pub(crate) fn full_device() -> std::fs::File {
    std::fs::File::options().write(true).open("/dev/full").expect("a full device")
}

/// A pipe whose reader has gone.
pub(crate) fn unread_pipe() -> std::io::PipeWriter {
    std::io::pipe().expect("a pipe").1
}

pub(crate) fn is_root() -> bool {
    std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").expect("a Linux system")) == 0
}
