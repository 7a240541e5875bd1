//! Signals to other processes, this process's handlers of fatal ones, and threads that leave signals to the program.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions};

use crate::bystanders::{self, FAULTS};

/// A process that is held by a descriptor, so that its number cannot come to mean another process. Kernels before 5.3
/// have no such descriptors, and containers may forbid them; there it is the number alone.
#[derive(Debug)]
pub struct Process {
    pid: libc::pid_t,
    held: Option<OwnedFd>,
}

impl Process {
    /// Takes hold of the process that has this number now.
    pub fn hold(pid: u32) -> io::Result<Process> {
        let pid = libc::pid_t::try_from(pid).ok().filter(|&pid| pid > 0).ok_or(io::ErrorKind::InvalidInput)?;
        let number = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidInput)?;
        let held = match rustix::process::pidfd_open(number, PidfdFlags::empty()) {
            Ok(fd) => Some(fd),
            Err(error) if is_missing(error) => None,
            Err(error) => return Err(error.into()),
        };
        Ok(Process { pid, held })
    }

    /// Sends a signal; a process that has ended is an error.
    pub fn signal(&self, signal: i32) -> io::Result<()> {
        let nothing: *const libc::siginfo_t = std::ptr::null();
        match &self.held {
            Some(fd) => {
                let fd = fd.as_raw_fd();
                // SAFETY: without a siginfo the kernel fills in what kill(2) would.
                unsafe { syscall!(syscall(libc::SYS_pidfd_send_signal, fd, signal, nothing, 0)) }.map(drop)
            }
            // SAFETY: kill takes two numbers and touches no memory.
            None => unsafe { syscall!(kill(self.pid, signal)) }.map(drop),
        }
    }
}

/// Whether an error of a system call says that there is no such call. The filter of a container that is older than the call refuses it
/// with EPERM, which the call itself never gives.
fn is_missing(error: Errno) -> bool {
    matches!(error, Errno::NOSYS | Errno::PERM)
}

/// Sends a signal to every member of a process group; signal 0 only asks whether it has any.
pub fn signal_group(group: u32, signal: i32) -> io::Result<()> {
    // Groups 0 and 1 would mean our own group and all processes.
    let group = libc::pid_t::try_from(group).ok().filter(|&group| group > 1).ok_or(io::ErrorKind::InvalidInput)?;
    // SAFETY: kill takes two numbers and touches no memory.
    unsafe { syscall!(kill(-group, signal)) }.map(drop)
}

/// The signal that has stopped a child of this process since the last question, if one has.
pub fn stopped_by(child: u32) -> Option<i32> {
    let child = Pid::from_raw(libc::pid_t::try_from(child).ok()?)?;
    let stop = rustix::process::waitid(WaitId::Pid(child), WaitIdOptions::STOPPED | WaitIdOptions::NOHANG);
    // A process that has been waited for is no child any more.
    stop.ok()??.stopping_signal()
}

/// Waits for orphans that have ended: children of this process that it has not started, because their own parents have ended.
///
/// A child that leads a process group in this process's session counts as started by it, and stays for the one who waits for it.
/// Orphans behind such a child are left for the next call.
pub fn reap_orphans() {
    while let Some(child) = ended_child().filter(|&child| is_orphan(child)) {
        // SAFETY: the call writes nothing where it is given no address.
        let reaped = unsafe { syscall!(waitpid(child, std::ptr::null_mut(), libc::WNOHANG)) };
        if reaped.is_err() {
            return;
        }
    }
}

/// A child that has ended. It can still be waited for.
fn ended_child() -> Option<libc::pid_t> {
    // SAFETY: all-zero is a siginfo, which says of no child; the call writes only to what is passed.
    let (result, about) = unsafe {
        let mut about: libc::siginfo_t = std::mem::zeroed();
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        (syscall!(waitid(libc::P_ALL, 0, &raw mut about, options)), about)
    };
    // SAFETY: the call has filled in what it says of a child, or left zeros.
    result.ok().map(|_| unsafe { about.si_pid() }).filter(|&child| child > 0)
}

fn is_orphan(child: libc::pid_t) -> bool {
    // SAFETY: the calls take and give numbers.
    unsafe { libc::getpgid(child) != child || libc::getsid(child) != libc::getsid(0) }
}

/// Lets this process learn how its children end.
///
/// A process inherits from the one that starts it that SIGCHLD is ignored. Then the kernel keeps no status of a child that ends,
/// and a wait for it fails. For the beginning of a program.
pub fn keep_statuses_of_children() {
    // SAFETY: the default action runs no code.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

/// Lets a signal do to this process what it does where nothing handles it.
pub fn restore_default(signal: i32) {
    // SAFETY: the default action runs no code of this process.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// Lets this process hear all signals, and what it starts.
///
/// A process inherits from the one that starts it which signals are blocked, as from a daemon's thread that leaves signals to another one.
/// For the beginning of a program that is ended by signals.
pub fn unblock_all() {
    // SAFETY: a set of zeros is a set, which the first call fills; the second one changes the mask of this thread only.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const all, std::ptr::null_mut());
    }
}

/// The signals by which programs end when something is wrong; libraries like to handle them.
const FATAL: [libc::c_int; 7] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT, libc::SIGINT, libc::SIGTERM];

/// Does `work`, which may load a library whose constructors replace handlers of fatal signals, and puts the handlers back.
pub fn keeping_handlers<R>(work: impl FnOnce() -> R) -> R {
    let handlers = FATAL.map(|signal| {
        // SAFETY: all-zero is an action; with null for the new one, the present one is only written there.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            (libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0).then_some(action)
        }
    });
    let result = work();
    for (signal, handler) in FATAL.iter().zip(&handlers) {
        if let Some(handler) = handler {
            // SAFETY: the action that was in force before.
            unsafe { libc::sigaction(*signal, handler, std::ptr::null_mut()) };
        }
    }
    result
}

/// Does `work`, which may start threads, and keeps the program's signals from these: a thread begins with the mask of the one that
/// starts it.
///
/// The system gives a signal of the process to any thread that has not blocked it. So a program that blocks a signal
/// for a while, or waits for it (`sigwait`, `signalfd`), would lose it to a thread that it knows nothing of; without a
/// handler the signal would end the process. Signals that come from a thread's own instructions stay its own.
pub fn keeping_signals<R>(work: impl FnOnce() -> R) -> R {
    // SAFETY: a set of zeros is a set; the calls fill and read sets that live, and change the mask of this thread only.
    let before = unsafe {
        let (mut kept, mut before): (libc::sigset_t, libc::sigset_t) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut kept);
        for signal in FAULTS {
            libc::sigdelset(&raw mut kept, signal);
        }
        (libc::pthread_sigmask(libc::SIG_BLOCK, &raw const kept, &raw mut before) == 0).then_some(before)
    };
    let result = work();
    if let Some(before) = before {
        // SAFETY: the mask that this thread had before.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut()) };
    }
    result
}

/// [`keeping_signals`] from the threads that a library starts in `work` for itself. They are [helpers](bystanders::with_helpers) of the
/// process.
pub fn keeping_signals_from_helpers<R>(work: impl FnOnce() -> R) -> R {
    keeping_signals(|| bystanders::with_helpers(work))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::Command;

    #[test]
    fn handlers_survive_what_replaces_them() {
        let handler = |signal| {
            // SAFETY: only asks.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                assert_eq!(libc::sigaction(signal, std::ptr::null(), &raw mut action), 0);
                action.sa_sigaction
            }
        };
        let before = handler(libc::SIGILL);
        let during = keeping_handlers(|| {
            // SAFETY: ignoring a signal runs no code.
            unsafe { libc::signal(libc::SIGILL, libc::SIG_IGN) };
            handler(libc::SIGILL)
        });
        assert_eq!(during, libc::SIG_IGN);
        assert_eq!(handler(libc::SIGILL), before);
    }

    #[test]
    fn a_call_that_a_container_forbids_is_missing() {
        assert!(is_missing(Errno::NOSYS) && is_missing(Errno::PERM));
        assert!(!is_missing(Errno::SRCH) && !is_missing(Errno::MFILE));
    }

    #[test]
    fn a_thread_leaves_signals_to_the_program() {
        fn blocks(signal: libc::c_int) -> bool {
            // SAFETY: a set of zeros is a set; without a new mask the call only asks.
            unsafe {
                let mut mask: libc::sigset_t = std::mem::zeroed();
                assert_eq!(libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut mask), 0);
                libc::sigismember(&raw const mask, signal) == 1
            }
        }
        let asked = || [libc::SIGUSR1, libc::SIGTERM, libc::SIGSEGV].map(blocks);
        let before = asked();
        let thread = keeping_signals(|| std::thread::spawn(asked));
        assert_eq!(thread.join().expect("it only asks"), [true, true, false]);
        assert_eq!(asked(), before);
    }

    #[test]
    fn the_stop_of_a_child_is_seen_once_and_leaves_its_end_to_be_waited_for() {
        let mut child =
            Command::new("sh").args(["-c", "kill -STOP $$; exit 3"]).process_group(0).spawn().expect("sh starts");
        let stop = std::iter::repeat_with(|| stopped_by(child.id())).take(2000).find(|stop| {
            std::thread::sleep(std::time::Duration::from_millis(5));
            stop.is_some()
        });
        assert_eq!((stop.flatten(), stopped_by(child.id())), (Some(libc::SIGSTOP), None));
        signal_group(child.id(), libc::SIGCONT).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(3));
        assert_eq!(stopped_by(child.id()), None);
    }

    #[test]
    fn a_process_and_a_group_can_be_signalled_and_then_are_gone() {
        let start = || Command::new("sleep").arg("600").process_group(0).spawn().expect("sleep starts");
        let (mut one, mut other) = (start(), start());
        let held = Process::hold(one.id()).unwrap();
        held.signal(libc::SIGTERM).unwrap();
        signal_group(other.id(), libc::SIGKILL).unwrap();
        assert_eq!(one.wait().unwrap().signal(), Some(libc::SIGTERM));
        assert_eq!(other.wait().unwrap().signal(), Some(libc::SIGKILL));
        assert!(held.signal(0).is_err());
        assert!(signal_group(other.id(), 0).is_err());
        assert!(signal_group(0, 0).is_err() && signal_group(1, 0).is_err());
    }
}
