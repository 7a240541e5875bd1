//! The guardian: ends the PEs when the launcher itself is killed.
//!
//! The kernel kills the PEs (parent-death signal), but not what *they* started: the `a` in `oshrun sh -c './a; true'`.
//! So a second process, the guardian, waits for the launcher's end and then ends whatever carries the job's mark in its
//! environment. The mark is random, so nothing else can be hit.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use oxshmem_os::kernel_text;
use oxshmem_os::signals::Process;

use crate::profile::gathering;
use crate::{leftovers, pe};

/// The variable that marks every process of a job.
pub(crate) use oxshmem_os::job_folder::MARK;

/// The variable that names the folder of temporary files.
const TEMPORARY: &str = "TMPDIR";

/// The first argument that makes this program a guardian.
pub const ARGUMENT: &str = "--guardian";

/// A new job's mark. A job inside a job carries both marks, so that it ends with the outer one.
pub(crate) fn new_mark() -> std::io::Result<String> {
    let mut random = [0; 16];
    oxshmem_os::random::fill(&mut random)?;
    let own = format!("{:032x}", u128::from_le_bytes(random));
    Ok(match std::env::var(MARK) {
        Ok(outer) => format!("{outer}.{own}"),
        Err(_) => own,
    })
}

/// Starts the guardian. It lives until [`dismiss`] kills it, or until the launcher's death closes its input and it has swept.
///
/// It runs as `/proc/self/exe`, so that `killall oshrun` does not find it, and in a process group of its own, so that
/// Ctrl-C does not.
pub(crate) fn post(mark: &str) -> std::io::Result<Child> {
    Command::new("/proc/self/exe")
        .args([ARGUMENT, mark])
        .env_clear()
        // Where records of PEs are.
        .envs(std::env::var_os(TEMPORARY).map(|folder| (TEMPORARY, folder)))
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

/// The job is over in good order: there is nothing left to guard.
pub(crate) fn dismiss(guardian: &mut Child) {
    // It has nothing to clean up and no state to save, and dead it cannot mistake our exit for a kill.
    let _ = guardian.kill();
    let _ = guardian.wait();
}

/// The way by which a guardian learns the numbers of the PEs. Its life ends where this and the child handle's input are closed.
pub(crate) fn ear(guardian: &Child) -> Option<File> {
    guardian.stdin.as_ref()?.as_fd().try_clone_to_owned().ok().map(File::from)
}

/// Tells a guardian the number of a PE.
pub(crate) fn tell(mut ear: &File, pid: u32) {
    // Without a guardian files of the PE may stay, and the job runs as well.
    let _ = ear.write_all(&pid.to_ne_bytes());
}

/// The numbers of all PEs that have been told until the launcher ends.
fn told(mut input: impl Read) -> Vec<u32> {
    let (mut pes, mut bytes) = (Vec::new(), [0; 4]);
    // Any error is the end: `read_exact` goes on after signals by itself, and a pipe that fails once fails again.
    while input.read_exact(&mut bytes).is_ok() {
        pes.push(u32::from_ne_bytes(bytes));
    }
    pes
}

/// The guardian's whole life.
pub fn keep(mark: &str) {
    let pes = told(std::io::stdin().lock());
    sweep(mark);
    // The kernel kills PEs with their launcher. Those that it has killed before the sweep carry no mark any more. One of these numbers
    // may be another process's by now, which runs.
    pes.into_iter().filter(|&pid| pe::is_dying(pid)).for_each(leftovers::remove);
    leftovers::remove_all(mark);
    gathering::abandon(mark);
}

/// The most rounds of a sweep, and the pause behind each. A process that the kernel does not let die, because it waits for a device,
/// would otherwise keep the sweep for ever.
const MOST_ROUNDS: usize = 2000;
const ROUND_PAUSE: Duration = Duration::from_millis(5);

/// Kills every process that carries the mark, until none is left or all rounds are over (10 s), and removes what they leave behind.
/// Returns how many it has killed.
pub(crate) fn sweep(mark: &str) -> usize {
    let mut killed = BTreeSet::new();
    // A process that forks while we look may hide its child from one round, not from many; one that is becoming another
    // program may take its time on a busy machine.
    for _ in 0..MOST_ROUNDS {
        if look_around(mark, &mut killed) == 0 {
            break;
        }
        std::thread::sleep(ROUND_PAUSE);
    }
    killed.iter().copied().for_each(leftovers::remove);
    killed.len()
}

/// The result of a look at a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judged {
    /// It is not of the job, or has ended.
    Stranger,
    /// It is becoming another program, and has no environment yet: it may belong to any job.
    Unclear,
    /// It carried the mark, and has been killed.
    Killed,
}

/// Kills the processes that carry the mark, and adds them to `killed`. Returns their number, with those not judged yet.
fn look_around(mark: &str, killed: &mut BTreeSet<u32>) -> usize {
    let own = std::process::id();
    let depth = numbers("self").len();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let numbered = processes.filter_map(|entry| Some((entry, number_here(entry, depth)?)));
    let others = numbered.filter(|&(_, pid)| pid != own);
    // A process that cannot be looked at belongs to another user, or has ended.
    count(others.map(|(entry, pid)| (pid, judge(entry, pid, mark).unwrap_or(Judged::Stranger))), killed)
}

/// The number by which this process knows the one with this entry in `/proc`. A container that has kept the `/proc` of the host
/// sees the host's numbers there (`unshare --pid --fork`), which mean other processes inside, or none.
fn number_here(entry: u32, depth: usize) -> Option<u32> {
    // Kernels before 4.1 do not say it.
    if depth < 2 { Some(entry) } else { numbers(&entry.to_string()).get(depth - 1).copied() }
}

/// The numbers of a process, from that of its entry in `/proc` to that in its own container.
fn numbers(entry: &str) -> Vec<u32> {
    let status = kernel_text::read(format!("/proc/{entry}/status")).unwrap_or_default();
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap_or_default();
    numbers.split_whitespace().filter_map(|number| number.parse().ok()).collect()
}

/// How many processes are to be looked at again. Only those that have been killed are added to `killed`: the files of others stay.
fn count(judged: impl Iterator<Item = (u32, Judged)>, killed: &mut BTreeSet<u32>) -> usize {
    let mut again = 0;
    for (pid, judged) in judged.filter(|(_, judged)| *judged != Judged::Stranger) {
        again += 1;
        if judged == Judged::Killed {
            killed.insert(pid);
        }
    }
    again
}

/// Kills a process that carries the mark: the one with this entry in `/proc`, whose number is `pid`.
fn judge(entry: u32, pid: u32, mark: &str) -> std::io::Result<Judged> {
    let folder = format!("/proc/{entry}");
    // Root may kill a PE that has become another user. The mark tells that it is one.
    let (own, other) = (std::fs::metadata("/proc/self")?.uid(), std::fs::metadata(&folder)?.uid());
    if own != 0 && own != other {
        return Ok(Judged::Stranger);
    }
    let process = Process::hold(pid)?;
    // This question comes before the environment is read: a process that finishes its exec between the two reads has
    // its environment by then. In the other order it would look like a process without any.
    if is_changing_programs(entry)? {
        return Ok(Judged::Unclear);
    }
    let environment = std::fs::read(format!("{folder}/environ"))?;
    if environment.is_empty() {
        return Ok(if is_changing_programs(entry)? { Judged::Unclear } else { Judged::Stranger });
    }
    if !environment.split(|&byte| byte == 0).any(|variable| carries(variable, mark)) {
        return Ok(Judged::Stranger);
    }
    process.signal(libc::SIGKILL)?;
    Ok(Judged::Killed)
}

/// Whether a process is in the middle of exec, where the kernel has given it new memory but not yet written the
/// environment there. Its parent may already be running again. Kernel threads have no executable, and a program that
/// was started with an empty environment has an address of it.
fn is_changing_programs(entry: u32) -> std::io::Result<bool> {
    if std::fs::read_link(format!("/proc/{entry}/exe")).is_err() {
        return Ok(false);
    }
    let stat = kernel_text::read(format!("/proc/{entry}/stat"))?;
    // The fields after the command's closing bracket begin with the third, the state; the 51st is the environment's end.
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let dead = fields.first().is_none_or(|state| state.starts_with(['Z', 'X']));
    Ok(!dead && fields.get(48).is_some_and(|end| *end == "0"))
}

fn carries(variable: &[u8], mark: &str) -> bool {
    let value = variable.strip_prefix(MARK.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
    let rest = value.and_then(|value| value.strip_prefix(mark.as_bytes()));
    rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'.')
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::process::{CommandExt, ExitStatusExt};

    use oxshmem_test_folder::TestFolder;

    use super::*;
    use crate::program::resolve;

    #[test]
    fn only_this_job_and_jobs_inside_it_carry_the_mark() {
        assert!(carries(b"OXSHMEM_JOB=a1", "a1"));
        assert!(carries(b"OXSHMEM_JOB=a1.b2", "a1"));
        assert!(!carries(b"OXSHMEM_JOB=a1", "a1.b2"));
        assert!(!carries(b"OXSHMEM_JOB=a12", "a1"));
        assert!(!carries(b"XOXSHMEM_JOB=a1", "a1"));
        assert!(!carries(b"OTHER=a1", "a1"));
        let (one, other) = (new_mark().unwrap(), new_mark().unwrap());
        assert!(one.len() >= 32 && one != other);
    }

    #[test]
    fn numbers_are_those_that_this_process_uses() {
        let own = std::process::id();
        assert_eq!(numbers("self").last(), Some(&own));
        assert_eq!((number_here(own, 1), number_here(own, 2)), (Some(own), None), "none deeper than its own");
    }

    #[test]
    fn who_cannot_be_judged_is_looked_at_again_and_keeps_its_files() {
        let mut killed = BTreeSet::new();
        let judged = [(1, Judged::Stranger), (2, Judged::Unclear), (3, Judged::Killed)];
        assert_eq!(count(judged.into_iter(), &mut killed), 2);
        assert_eq!(killed, BTreeSet::from([3]));
    }

    #[test]
    fn an_error_of_the_input_ends_what_is_told() {
        /// Gives one number and then fails, each time.
        struct Failing(Option<[u8; 4]>);
        impl Read for Failing {
            fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
                let number = self.0.take().ok_or(std::io::ErrorKind::InvalidData)?;
                bytes.copy_from_slice(&number);
                Ok(number.len())
            }
        }
        assert_eq!(told(Failing(Some(7_u32.to_ne_bytes()))), [7]);
    }

    #[test]
    fn a_sweep_finds_who_is_just_being_started() {
        // `spawn` returns while the kernel still builds the child's environment.
        for _ in 0..50 {
            let mark = new_mark().unwrap();
            let mut child = Command::new("sleep").arg("600").env(MARK, &mark).spawn().unwrap();
            sweep(&mark);
            assert!(!child.wait().unwrap().success());
        }
    }

    #[test]
    fn a_sweep_ends_the_marked_and_nobody_else() {
        let mark = new_mark().unwrap();
        let start = |value: &str| Command::new("sleep").arg("600").env(MARK, value).spawn().unwrap();
        let (mut ours, mut other) = (start(&mark), start("somebody-else"));
        sweep(&mark);
        assert!(!ours.wait().unwrap().success());
        assert_eq!(other.try_wait().unwrap(), None);
        other.kill().unwrap();
        other.wait().unwrap();
    }

    #[test]
    fn a_sweep_of_root_ends_a_process_that_has_become_another_user() {
        if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
            return oxshmem_test_folder::not_run("only root can become another user");
        }
        let mark = new_mark().unwrap();
        let mut child = Command::new("sleep").arg("600").env(MARK, &mark).uid(65534).spawn().unwrap();
        assert_eq!(sweep(&mark), 1);
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    }

    #[test]
    fn a_sweep_ends_a_process_whose_name_is_no_text() {
        let (mark, folder) = (new_mark().unwrap(), TestFolder::new("sweep"));
        let program = folder.join(OsStr::from_bytes(b"gr\xc3"));
        std::os::unix::fs::symlink(resolve("sleep".as_ref(), None, None).unwrap(), &program).unwrap();
        let mut child = Command::new(&program).arg0("sleep").arg("600").env(MARK, &mark).spawn().unwrap();
        sweep(&mark);
        // Another signal ends those that are left.
        let _ = Process::hold(child.id()).and_then(|process| process.signal(libc::SIGTERM));
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    }
}
