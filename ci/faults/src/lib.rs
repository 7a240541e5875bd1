//! The harness of the fault tests: it compiles a program with the installed wrappers and runs it under `oshrun`, as a user would.
//!
//! A test is named after the fault that it reproduces (`fault_M1_...`); `ci/faults/README.md` lists the faults. The tests need an
//! installation: `cargo xtask test faults` builds it first. `OXSHMEM_PREFIX` names another one, for example an older build.
#![forbid(unsafe_code)]

pub mod browser;
mod compiled;
mod complaints;
mod given_time;
mod group;
mod here;
mod other_user;
mod parallel;

use std::borrow::Cow;
use std::ffi::OsStr;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub use compiled::{changed, compile, program, program_by, program_with, programs_of, wrapper};
pub use complaints::{Complaint, expect_no_complaints};
pub use given_time::GivenTime;
pub use group::MemoryGroup;
pub use here::{by_turns, comes_true, has_fortran_modules, has_program, is_long, until};
pub use other_user::{OtherUser, STRANGER};
pub use oxshmem_test_folder::{TestFolder, not_run};
pub use parallel::{AT_ONCE, in_parallel};

/// The status of a PE that has reported a race and would have ended with 0.
pub const FOUND: i32 = 66;

/// A job that is given more than this hangs. The slowest machine is faster.
pub const LIMIT: Duration = Duration::from_secs(120);

/// The installation under test.
pub fn prefix() -> PathBuf {
    std::env::var_os("OXSHMEM_PREFIX").map_or_else(|| target().join("oxshmem"), PathBuf::from)
}

/// The repository's top folder.
pub fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("this crate lies two folders below the top").into()
}

/// The folder in which cargo builds.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| top().join("target"), |folder| top().join(folder))
}

/// A tool of the installation (`oshrun`, `oshcc`, ...).
pub fn tool(name: &str) -> Command {
    let path = prefix().join("bin").join(name);
    assert!(path.exists(), "{} is missing: cargo xtask build", path.display());
    Command::new(path)
}

/// All that a command has written: standard output, and its messages behind that.
pub fn text_of(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|stream| String::from_utf8_lossy(stream).into_owned()).concat()
}

/// The path of a source file in `ci/faults/programs`.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs").join(name)
}

/// The number of the first line of `programs/NAME` that has these words, as messages name it.
#[track_caller]
pub fn line_of(name: &str, words: &str) -> usize {
    let text = std::fs::read_to_string(source(name)).expect("the source is there");
    let found = text.lines().position(|line| line.contains(words));
    1 + found.unwrap_or_else(|| panic!("{name}: no line has `{words}`"))
}

/// A job under `oshrun`.
#[derive(Debug)]
pub struct Job {
    command: Command,
    limit: Duration,
}

impl Job {
    /// `oshrun` with these words, split at spaces, before the program. Hosts are made up: their agents run on this machine.
    pub fn new(options: &str) -> Job {
        let mut command = tool("oshrun");
        command.args(options.split_whitespace());
        if options.contains("-H ") {
            command.args(["--launch-agent", "env ON={host}"]);
        }
        Job::by(command)
    }

    /// Another tool, which starts jobs itself; its arguments follow.
    pub fn of(name: &str) -> Job {
        Job::by(tool(name))
    }

    /// `oshrun` in a network of its own whose connections hold some KiB; nothing, with the reason printed, where none can be had.
    pub fn with_small_buffers(options: &str) -> Option<Job> {
        let rig = top().join("ci/rigs/small-buffers");
        let probe = Command::new(&rig).arg("true").output().expect("the rig's script starts");
        if !probe.status.success() {
            not_run(String::from_utf8_lossy(&probe.stderr));
            return None;
        }
        let mut command = Command::new(rig);
        command.arg(tool("oshrun").get_program()).args(options.split_whitespace());
        Some(Job::by(command))
    }

    /// A tool under a limit of the shell; its arguments follow.
    pub fn under(limit: &str, name: &str) -> Job {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &format!("ulimit {limit} && exec \"$0\" \"$@\"")]).arg(tool(name).get_program());
        Job::by(shell)
    }

    /// A command that is no tool of the installation; its arguments follow.
    pub fn by(command: Command) -> Job {
        Job { command, limit: LIMIT }
    }

    /// Runs the job inside a control group.
    pub fn inside(mut self, group: &MemoryGroup) -> Job {
        group.hold(&mut self.command);
        self
    }

    /// Sets a variable of the environment.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Job {
        self.command.env(name, value);
        self
    }

    /// Ends a job that is given more time; [`JobEnd::status`] is `None` then.
    pub fn limit(mut self, limit: Duration) -> Job {
        self.limit = limit;
        self
    }

    /// The command, for what this type has no word for.
    pub fn command(&mut self) -> &mut Command {
        &mut self.command
    }

    /// Runs the program with arguments until the job ends.
    pub fn run<S: AsRef<OsStr>>(self, program: &Path, arguments: impl IntoIterator<Item = S>) -> JobEnd {
        let limit = self.limit;
        Running::wait(self.start(program, arguments), limit)
    }

    /// Runs the program with arguments; the PE of this number alone has the variable.
    pub fn run_where(self, pe: u32, variable: &str, program: &Path, arguments: &[&str]) -> JobEnd {
        let only = format!("test $PMI_RANK = {pe} && export {variable}; exec \"$0\" \"$@\"");
        let words = [OsStr::new("-c"), OsStr::new(&only), program.as_os_str()];
        self.run(Path::new("/bin/sh"), words.into_iter().chain(arguments.iter().map(OsStr::new)))
    }

    /// Starts the job.
    pub fn start<S: AsRef<OsStr>>(mut self, program: &Path, arguments: impl IntoIterator<Item = S>) -> Running {
        self.command.arg(program).args(arguments);
        self.command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running { child: Some(self.command.spawn().expect("oshrun starts")) }
    }
}

/// A job that runs. Dropping it kills it.
#[derive(Debug)]
pub struct Running {
    child: Option<Child>,
}

impl Running {
    /// The process number of `oshrun`.
    pub fn pid(&self) -> u32 {
        self.child.as_ref().expect("the job is ended by `wait` only").id()
    }

    /// The words of `oxshmem TASK` about the job.
    pub fn ask(&self, task: &[&str]) -> String {
        text_of(&tool("oxshmem").args(task).arg(self.pid().to_string()).output().expect("oxshmem starts"))
    }

    /// Asks until all these words are there: nobody knows how soon the PEs wait.
    pub fn until_said(&self, task: &[&str], words: &[&str]) -> String {
        let begun = Instant::now();
        loop {
            let said = self.ask(task);
            match words.iter().find(|word| !said.contains(**word)) {
                None => return said,
                Some(word) => assert!(begun.elapsed() < LIMIT, "nothing says `{word}`:\n{said}"),
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Waits for the end of the job, until it has been given this much time.
    pub fn wait(self, limit: Duration) -> JobEnd {
        let mut given = GivenTime::begin();
        self.wait_unless(move |_| given.so_far() > limit)
    }

    /// Waits until the job has said all these words among its messages, and ends it then, or as [`Running::wait`] does: a job that
    /// never ends by itself shall not keep the processors busy for longer than the test needs.
    pub fn wait_for_words(self, words: &[&str], limit: Duration) -> JobEnd {
        let mut given = GivenTime::begin();
        self.wait_unless(move |messages| messages.has(words) || given.so_far() > limit)
    }

    /// Waits for the end of a job that may wait for ever, so long by the clock: such jobs shall not keep a busy machine busy.
    pub fn wait_by_the_clock(self, limit: Duration) -> JobEnd {
        let begun = Instant::now();
        self.wait_unless(move |_| begun.elapsed() > limit)
    }

    /// `is_over` gets the job's messages so far.
    fn wait_unless(mut self, mut is_over: impl FnMut(&ReadStream) -> bool) -> JobEnd {
        let mut child = self.child.take().expect("the job is ended by `wait` only");
        let stdout = ReadStream::begin(child.stdout.take());
        let stderr = ReadStream::begin(child.stderr.take());
        let begun = Instant::now();
        let status = loop {
            match child.try_wait().expect("our child") {
                Some(status) => break Some(status),
                None if is_over(&stderr) => break None,
                None => std::thread::sleep(Duration::from_millis(2)),
            }
        };
        let took = begun.elapsed();
        if status.is_none() {
            // The guardian of the job ends its PEs when `oshrun` is killed.
            child.kill().expect("our child");
            child.wait().expect("our child");
        }
        let code = status.and_then(|status| {
            use std::os::unix::process::ExitStatusExt;
            status.code().or(status.signal().map(|signal| 128 + signal))
        });
        JobEnd { status: code, stdout: stdout.end(), stderr: stderr.end(), took }
    }
}

/// The output of a job, read by a thread: a full pipe would stop the job.
struct ReadStream {
    text: Arc<Mutex<Vec<u8>>>,
    reader: std::thread::JoinHandle<()>,
}

impl ReadStream {
    fn begin(stream: Option<impl Read + Send + 'static>) -> ReadStream {
        let text = Arc::new(Mutex::new(Vec::new()));
        let kept = text.clone();
        let reader = std::thread::spawn(move || {
            let bytes = stream.into_iter().flat_map(|stream| BufReader::new(stream).bytes());
            // The test looks at the text that was read before an error.
            let read = bytes.map_while(Result::ok);
            read.for_each(|byte| kept.lock().expect("nobody panics with it").push(byte));
        });
        ReadStream { text, reader }
    }

    /// Whether what has been read so far has all these words.
    fn has(&self, words: &[&str]) -> bool {
        let text = self.text.lock().expect("nobody panics with it");
        let text = String::from_utf8_lossy(&text);
        words.iter().all(|word| text.contains(word))
    }

    /// All of it, when the stream has ended.
    fn end(self) -> String {
        self.reader.join().expect("reading does not panic");
        String::from_utf8_lossy(&self.text.lock().expect("nobody panics with it")).into_owned()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may be over already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// How a job ended and what it printed.
#[derive(Debug)]
pub struct JobEnd {
    /// The exit status as a shell tells it; `None` when the job was ended because it took too long.
    pub status: Option<i32>,
    /// Standard output of all PEs.
    pub stdout: String,
    /// Messages of `oshrun` and of all PEs.
    pub stderr: String,
    /// How long the job ran.
    pub took: Duration,
}

impl JobEnd {
    /// Asserts the exit status and returns the job for further questions.
    #[track_caller]
    pub fn expect(self, status: i32) -> JobEnd {
        assert_eq!(self.status, Some(status), "{self}");
        self
    }

    /// Asserts that the messages contain all these words, and shows them.
    #[track_caller]
    pub fn says(self, words: &[&str]) -> JobEnd {
        println!("{}", self.stderr);
        for word in words {
            assert!(self.stderr.contains(word), "nothing says `{word}`: {self}");
        }
        self
    }

    /// Whether this machine lacks the transport that the job asked for, which is said then. Other errors name the variable too, in
    /// what they advise.
    pub fn lacks_transport(&self, transport: &str) -> bool {
        // Every machine has TCP.
        let lacks = transport != "tcp" && self.stderr.contains("cannot carry a job of");
        if lacks {
            not_run(format_args!("{transport}: {}", self.stderr.lines().nth(1).unwrap_or_default().trim()));
        }
        lacks
    }

    /// Whether the messages tell of a signal that a wrong program must never cause.
    pub fn crashed(&self) -> bool {
        ["SIGSEGV", "SIGBUS", "SIGABRT", "SIGKILL", "SIGILL", "SIGFPE"].iter().any(|name| self.stderr.contains(name))
    }
}

impl std::fmt::Display for JobEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let status = self.status.map_or("none (it took too long)".into(), |status| status.to_string());
        // A stream has the lines that the other one leaves, and half of them at least.
        let room = |other: &str| MOST_LINES - other.lines().count().min(MOST_LINES / 2);
        let stdout = shortened(&self.stdout, room(&self.stderr));
        let stderr = shortened(&self.stderr, room(&self.stdout));
        write!(f, "status {status}\n--- stdout\n{stdout}\n--- stderr\n{stderr}")
    }
}

/// Lines of a job's output in a message. A log of which only the end is kept shall have the words before them.
const MOST_LINES: usize = 60;

/// The text in at most this many lines: its first and its last ones.
fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    if lines.len() <= most {
        return text.trim_end().into();
    }
    let first = most / 2;
    let left_out = lines.len() - (most - 1);
    let (begin, end) = (lines[..first].join("\n"), lines[first + left_out..].join("\n"));
    format!("{begin}\n... {left_out} lines left out ...\n{end}").into()
}
