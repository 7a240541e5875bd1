//! Tests with several PEs, under `cargo test`: as processes, which is what a job is, or as threads, which a seed
//! schedules.
//!
//! [`processes`] starts the test's own executable once more for every PE, with nothing but that test to run. No
//! launcher has to be installed.
//!
//! ```no_run
//! #[test]
//! fn everybody_counts() {
//!     oxshmem::test::processes(4, |world| {
//!         assert_eq!(world.sum_of(1), 4);
//!     });
//! }
//! ```

mod server;
mod threads;

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{io, thread};

use oxshmem_base::Error;
use oxshmem_os::process;
use parking_lot::Mutex;

use crate::World;
use server::TestServer;
pub use threads::{Threads, threads};

/// Says to a PE which call of [`processes`] of its test it was started for.
const CALL: &str = "OXSHMEM_TEST_CALL";

/// After the first PE has failed, the others may say why, too.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Runs `body` on `pes` PEs, each a process of its own, and panics if some fail: with what they printed.
///
/// Call it from a test, in the thread in which the harness runs that test; a test may call it several times.
///
/// ```no_run
/// for pes in 1..=8 {
///     oxshmem::test::processes(pes, |world| world.barrier());
/// }
/// ```
#[track_caller]
pub fn processes<F: FnOnce(&World)>(pes: usize, body: F) {
    processes_on(1, pes, body);
}

/// [`processes`] that count as so many nodes, in equal blocks: they reach those of other nodes by the network.
///
/// ```no_run
/// oxshmem::test::processes_on(2, 4, |world| assert_eq!(world.node().n_pes(), 2));
/// ```
#[track_caller]
pub fn processes_on<F: FnOnce(&World)>(nodes: usize, pes: usize, body: F) {
    let test = test_of::<F>();
    let this = nth_call_of(&test);
    match std::env::var(CALL).ok().and_then(|call| call.parse().ok()) {
        // A PE: the call it is for, or another one of the same test.
        Some(call) if call == this => match World::init() {
            Ok(world) => body(&world),
            Err(error) => panic!("{error}"),
        },
        Some::<usize>(_) => {}
        None => {
            let job = launch_on(nodes, pes, |_| {
                let mut command = Command::new(std::env::current_exe()?);
                command.args([&*test, "--exact", "--nocapture", "--test-threads=1", "--include-ignored"]);
                command.env(CALL, this.to_string());
                Ok(command)
            });
            let job = job.unwrap_or_else(|error| panic!("the {pes} PEs of {test} cannot be started: {error}"));
            let failed = job.iter().enumerate().filter(|(_, pe)| !pe.status.success());
            let words = failed.map(|(pe, end)| format!("PE {pe} of {pes}: {}\n{}{}\n", end.status, end.out, end.err));
            let words: String = words.collect();
            if !words.is_empty() {
                panic!("{test} failed\n{words}");
            }
            if job.iter().any(|pe| pe.out.lines().any(|line| line == "running 0 tests")) {
                ran_nothing(&test, pes);
            }
        }
    }
}

/// The harness ends well when no test has the name that it is given.
#[cold]
#[track_caller]
fn ran_nothing(test: &str, pes: usize) -> ! {
    let error = Error::new(format!("test::processes: the {pes} PEs have run nothing"))
        .because(format!("each was to run the test `{test}`, and this program has no test of that name"))
        .fix("call it in the thread in which the harness runs the test");
    panic!("{error}")
}

/// The name that the test harness knows the calling test by, which is that of the test's thread. In a thread without a name,
/// and in that of `main`, it is where the closure is from, without the crate.
fn test_of<F>() -> String {
    if let Some(name) = thread::current().name().filter(|name| *name != "main") {
        return name.into();
    }
    let path = std::any::type_name::<F>();
    let path = path.split_once("::{{closure}}").map_or(path, |(test, _)| test);
    path.split_once("::").map_or(path, |(_, test)| test).into()
}

/// How many calls this test has made before.
fn nth_call_of(test: &str) -> usize {
    static CALLS: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let mut calls = CALLS.lock();
    calls.push(test.into());
    calls.iter().filter(|call| *call == test).count() - 1
}

/// How a PE ended, and what it printed.
///
/// ```
/// let mut job = oxshmem::test::launch(1, |_| {
///     let mut command = std::process::Command::new("echo");
///     command.arg("done");
///     Ok(command)
/// })?;
/// let oxshmem::test::Ended { status, out, .. } = job.remove(0);
/// assert!(status.success() && out == "done\n");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ended {
    /// Its exit status.
    pub status: ExitStatus,
    /// Its standard output.
    pub out: String,
    /// Its standard error.
    pub err: String,
}

/// Starts a command for each PE as a job on this machine, and waits for all. The first one that fails ends the job, and
/// so does the end of this program, whatever its cause.
///
/// ```
/// let job = oxshmem::test::launch(2, |_| Ok(std::process::Command::new("true")))?;
/// assert!(job.iter().all(|pe| pe.status.success()));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn launch(pes: usize, command: impl FnMut(usize) -> io::Result<Command>) -> io::Result<Vec<Ended>> {
    launch_on(1, pes, command)
}

/// [`launch`] of PEs that count as so many nodes, in equal blocks.
///
/// ```
/// let job = oxshmem::test::launch_on(2, 2, |_| Ok(std::process::Command::new("true")))?;
/// assert_eq!(job.len(), 2);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn launch_on(
    nodes: usize,
    pes: usize,
    mut command: impl FnMut(usize) -> io::Result<Command>,
) -> io::Result<Vec<Ended>> {
    let server = TestServer::new(pes as u32, nodes as u32);
    let mut children = Children(Vec::with_capacity(pes));
    let mut sockets = Vec::with_capacity(pes);
    for pe in 0..pes {
        let (ours, theirs) = UnixStream::pair()?;
        let mut command = command(pe)?;
        // The PE finds the socket as its standard input, which needs no unsafe code to pass on.
        command.env("PMI_FD", "0").env("PMI_RANK", pe.to_string()).env("PMI_SIZE", pes.to_string());
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::piped()).stderr(Stdio::piped());
        end_with_this_thread(&mut command);
        children.0.push(command.spawn()?);
        sockets.push(ours);
    }
    for (pe, socket) in sockets.iter().enumerate() {
        server.add(pe, socket.try_clone()?);
    }
    thread::scope(|threads| {
        for (pe, socket) in sockets.into_iter().enumerate() {
            let server = &server;
            threads.spawn(move || server.serve(pe, socket));
        }
        let printed: Vec<_> = children.0.iter_mut().map(|child| (child.stdout.take(), child.stderr.take())).collect();
        let printed: Vec<_> = printed
            .into_iter()
            .map(|(out, err)| (threads.spawn(move || all_of(out)), threads.spawn(move || all_of(err))))
            .collect();
        let ended = children.wait(&server);
        let text = |reader: thread::ScopedJoinHandle<'_, String>| reader.join().unwrap_or_default();
        let printed = printed.into_iter().map(|(out, err)| (text(out), text(err)));
        Ok(ended?.into_iter().zip(printed).map(|(status, (out, err))| Ended { status, out, err }).collect())
    })
}

/// Lets the kernel kill the process when this thread ends, as the job must not outlive a test program that crashes.
fn end_with_this_thread(command: &mut Command) {
    let this = process::pid();
    let prepare = move || {
        process::die_with_parent()?;
        // The thread may have ended before the kernel got this request.
        if process::parent() == this { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
    };
    // SAFETY: runs between fork and exec, and makes nothing but system calls.
    unsafe { command.pre_exec(prepare) };
}

/// All that comes until the end, as far as it can be read.
fn all_of(source: Option<impl io::Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut source) = source {
        let _ = source.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The processes of a job, none of which outlives it.
struct Children(Vec<Child>);

impl Children {
    /// Waits for all, and ends the rest soon after one has failed.
    fn wait(&mut self, server: &TestServer) -> io::Result<Vec<ExitStatus>> {
        let mut failed_at = None;
        loop {
            let ended = self.0.iter_mut().map(Child::try_wait).collect::<io::Result<Vec<_>>>()?;
            if let Some(all) = ended.iter().copied().collect::<Option<Vec<_>>>() {
                return Ok(all);
            }
            if server.aborted() || ended.iter().flatten().any(|status| !status.success()) {
                let since: &mut Instant = failed_at.get_or_insert_with(Instant::now);
                if since.elapsed() > LAST_WORDS {
                    self.kill();
                }
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    fn kill(&mut self) {
        // Those that have ended already cannot be killed, and need not.
        self.0.iter_mut().for_each(|child| drop(child.kill()));
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        self.kill();
        self.0.iter_mut().for_each(|child| drop(child.wait()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pe_runs_the_test_that_called() {
        for pes in [1, 3] {
            processes(pes, |world| {
                assert_eq!(world.n_pes(), pes);
                assert_eq!(world.values(world.my_pe()), (0..pes).collect::<Vec<_>>());
            });
        }
    }

    #[test]
    fn a_pe_that_fails_fails_the_test_with_its_words() {
        let failed = std::panic::catch_unwind(|| {
            processes(3, |world| {
                world.barrier();
                assert_ne!(world.my_pe(), 1, "PE 1 does not like it");
                world.barrier();
            });
        });
        if std::env::var(CALL).is_ok() {
            // PE 1. The others end while they wait.
            return failed.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
        let said = failed.expect_err("one PE failed");
        assert!(said.downcast_ref::<String>().expect("a message").contains("PE 1 does not like it"), "{said:?}");
    }

    #[test]
    fn pes_run_a_function_with_a_name() {
        fn ends_its_pe(world: &World) {
            panic!("PE {} has run the function", world.my_pe());
        }
        let failed = std::panic::catch_unwind(|| processes(2, ends_its_pe));
        if std::env::var(CALL).is_ok() {
            return failed.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
        let said = failed.expect_err("the PEs run the function");
        assert!(said.downcast_ref::<String>().expect("a message").contains("has run the function"), "{said:?}");
    }

    #[test]
    fn pes_that_run_nothing_fail_the_test() {
        let stranger = thread::Builder::new().name("no_test_has_this_name".into()).spawn(|| processes(2, |_| {}));
        let said = stranger.unwrap().join().expect_err("the PEs find no test");
        let said = said.downcast_ref::<String>().expect("a message");
        assert!(said.contains("the 2 PEs have run nothing") && said.contains("`no_test_has_this_name`"), "{said}");
    }

    #[test]
    fn outputs_are_kept_apart() {
        let say = |pe: usize| {
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("echo out {pe}; echo err {pe} >&2; exit 0")]);
            Ok(shell)
        };
        let job = launch(2, say).unwrap();
        assert_eq!((job[1].out.as_str(), job[0].err.as_str()), ("out 1\n", "err 0\n"));
    }
}
