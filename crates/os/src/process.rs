//! The life of this process.

use std::ffi::{CStr, c_int, c_void};
use std::io::{self, Write};
use std::num::NonZeroU64;
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::mpsc;
use std::time::Duration;

use rustix::fs::FileType;
use rustix::process::{Resource, Signal};
use rustix::termios::{self, LocalModes};

use crate::{library, signals};

/// The number the system gave this process.
pub fn pid() -> u32 {
    std::process::id()
}

/// The number of the process that started this one.
pub fn parent() -> u32 {
    std::os::unix::process::parent_id()
}

/// Lets the kernel kill this process when the *thread* that started it ends, so that nothing outlives its launcher.
/// A parent that is already gone is not noticed: compare the parent's number afterwards.
///
/// Only makes system calls, so it may run between fork and exec.
pub fn die_with_parent() -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// Has a function called in each child that this process forks from now on, before `fork` returns there. Children of `vfork` and
/// `posix_spawn` do not call it.
///
/// # Safety
/// The function is never unloaded, and does only what the child of a process with several threads may do: it takes no lock and
/// allocates nothing.
pub unsafe fn watch_forks(in_child: extern "C" fn()) -> io::Result<()> {
    // SAFETY: the caller promises what such a function has to be.
    match unsafe { libc::pthread_atfork(None, None, Some(in_child)) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Kills this process at once, as the kernel kills one for which there is no memory.
pub fn kill_self() -> ! {
    // It cannot fail for one's own process, and nothing runs after it.
    let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::KILL);
    loop {
        std::thread::park();
    }
}

/// Lets the calling thread's sleeps last as long as it says. Otherwise the kernel may add some 50 us, to wake several threads
/// at once.
pub fn sleep_exactly() -> io::Result<()> {
    Ok(rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?)
}

/// The shortest slice of a processor that the kernel grants.
const SHORT_SLICE: Duration = Duration::from_micros(100);
/// The arguments of the calls below.
const THIS_THREAD: libc::pid_t = 0;
const NO_FLAGS: libc::c_uint = 0;

/// Asks for short slices of the processor, for the calling thread and those that it starts later. Their share stays the same.
///
/// A thread that wakes goes ahead of one with longer slices, which would otherwise first end its own: so PEs that wait for one
/// another beside other processes wait for microseconds rather than milliseconds. Kernels before Linux 6.12 take no notice, and
/// threads whose policy is not the usual one stay as they are.
pub fn prefer_short_slices() -> io::Result<()> {
    let mut scheduling = scheduling()?;
    let slice = SHORT_SLICE.as_nanos() as u64;
    if scheduling.sched_policy != libc::SCHED_OTHER as u32 || scheduling.sched_runtime <= slice {
        return Ok(());
    }
    scheduling.sched_runtime = slice;
    // SAFETY: the kernel reads as many bytes as the structure says that it has.
    unsafe { syscall!(syscall(libc::SYS_sched_setattr, THIS_THREAD, &raw const scheduling, NO_FLAGS)) }.map(drop)
}

/// How the calling thread is scheduled.
fn scheduling() -> io::Result<libc::sched_attr> {
    const SIZE: u32 = size_of::<libc::sched_attr>() as u32;
    // SAFETY: the structure consists of numbers, for which zero is a value.
    let mut scheduling: libc::sched_attr = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes as many bytes as it is told that the structure has.
    unsafe { syscall!(syscall(libc::SYS_sched_getattr, THIS_THREAD, &raw mut scheduling, SIZE, NO_FLAGS)) }?;
    scheduling.size = SIZE;
    Ok(scheduling)
}

/// Lets the kernel, where the machine or a group has no memory left, kill this process rather than one without a raised
/// score, such as a shell: memory files count for no process, so that otherwise the kernel might choose any.
pub fn prefer_as_victim() {
    const FILE: &str = "/proc/self/oom_score_adj";
    const SCORE: i32 = 500;
    let current = std::fs::read_to_string(FILE).ok().and_then(|text| text.trim().parse::<i32>().ok());
    if current.is_some_and(|current| current < SCORE) {
        // A container may forbid it.
        let _ = std::fs::write(FILE, SCORE.to_string());
    }
}

/// Ends the process at once: output is flushed, exit handlers and destructors do not run.
pub fn exit_now(status: i32) -> ! {
    flush_output();
    end(status)
}

/// Ends the process at once, and flushes nothing.
pub fn end(status: i32) -> ! {
    // SAFETY: ends the process; nothing runs afterwards.
    unsafe { libc::_exit(status) }
}

/// Writes what the streams of Rust and C still hold, and the units of gfortran.
///
/// This takes locks that another thread may hold for ever, for example one that reads the terminal. So it gets a second, and
/// then the caller goes on without it.
pub fn flush_output() {
    let flush = || {
        let _ = io::stdout().flush();
        // SAFETY: null asks for all streams of the C library, each of which is locked while it is written.
        unsafe { libc::fflush(std::ptr::null_mut()) };
        flush_units();
    };
    if !for_at_most(Duration::from_secs(1), flush) {
        flush_if_free();
    }
}

/// Does `work` in a thread of its own, and goes on after `limit` in any case: the work may wait for ever, for a lock that another thread
/// holds, or this one where a handler of a signal has interrupted it. Returns whether there is such a thread.
pub fn for_at_most(limit: Duration, work: impl FnOnce() + Send + 'static) -> bool {
    let (done, over) = mpsc::channel();
    let work = move || {
        work();
        let _ = done.send(());
    };
    let is_begun = signals::keeping_signals(|| std::thread::Builder::new().spawn(work)).is_ok();
    if is_begun {
        let _ = over.recv_timeout(limit);
    }
    is_begun
}

/// [`flush_output`] where the process can have no other thread: C's standard output alone, unless its lock is taken.
fn flush_if_free() {
    unsafe extern "C" {
        static mut stdout: *mut libc::FILE;
        fn ftrylockfile(stream: *mut libc::FILE) -> c_int;
        fn funlockfile(stream: *mut libc::FILE);
    }
    // SAFETY: the C library's own stream, which is there as long as the process. A thread that has its lock may take it again.
    unsafe {
        if ftrylockfile(stdout) == 0 {
            libc::fflush(stdout);
            funlockfile(stdout);
        }
    }
}

/// Writes what the units of gfortran's library still hold, if the program has that library as a shared one.
fn flush_units() {
    let Some(function) = library::of_any(c"_gfortran_flush_i4") else { return };
    // SAFETY: gfortran's library has this function of this type in all versions: the intrinsic subroutine FLUSH.
    let flush = unsafe { std::mem::transmute::<NonNull<c_void>, unsafe extern "C" fn(*const c_int)>(function) };
    // SAFETY: without the number of a unit the function flushes all of them, each of which it locks meanwhile.
    unsafe { flush(std::ptr::null()) };
}

/// Writes a text to standard error, in one piece, so that those of several processes do not mix. Where there is no room
/// for it, or no reader, the caller goes on.
pub fn say(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Writes a text to standard output, as [`say`] does.
pub fn print(text: &str) {
    let _ = io::stdout().write_all(text.as_bytes());
}

/// Sets a variable of the environment that is not set, if this process has no second thread which might read the
/// environment meanwhile. Returns whether it is set now.
pub fn set_variable_if_alone(name: &str, value: &str) -> bool {
    if std::env::var_os(name).is_some() {
        return true;
    }
    let threads = std::fs::read_dir("/proc/self/task").map_or(usize::MAX, Iterator::count);
    if threads == 1 {
        // SAFETY: there is no other thread, and this one starts none before the call returns.
        unsafe { std::env::set_var(name, value) };
    }
    threads == 1
}

/// The variable by which `oshrun` says that it reads this process's standard output from a pipe.
pub const LINES: &str = "OXSHMEM_LINES";

/// Lets the C library write each line of standard output when it ends, if the launcher reads that from a pipe. A program that
/// chooses another buffer later gets it. For constructors, before anything has been written.
pub extern "C" fn end_lines_at_once() {
    unsafe extern "C" {
        static mut stdout: *mut libc::FILE;
    }
    if std::env::var_os(LINES).is_none() {
        return;
    }
    let found = rustix::fs::fstat(rustix::stdio::stdout());
    // A process between the launcher and this one may have sent the output elsewhere.
    if found.is_ok_and(|status| FileType::from_raw_mode(status.st_mode) == FileType::Fifo) {
        // SAFETY: the C library's own stream; a constructor runs before other threads, and without a buffer from us there is
        // none that could vanish.
        unsafe { libc::setvbuf(stdout, std::ptr::null_mut(), libc::_IOLBF, 0) };
    }
}

/// Whether a terminal stops processes of the background that write to it (`stty tostop`). Nothing else does.
pub fn stops_writers(stream: &impl AsFd) -> bool {
    termios::tcgetattr(stream).is_ok_and(|settings| settings.local_modes.contains(LocalModes::TOSTOP))
}

/// The rows of the terminal that is standard output, if it is one that says how many it has.
pub fn terminal_rows() -> Option<usize> {
    let size = termios::tcgetwinsize(rustix::stdio::stdout()).ok()?;
    (size.ws_row > 0).then_some(size.ws_row.into())
}

/// Whether process `pid`, as it is numbered here, has something mapped whose path contains `name`. `false` if there is no
/// such process, or if this one may not look.
pub fn maps(pid: u32, name: &CStr) -> bool {
    let name = name.to_bytes();
    let text = std::fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
    text.windows(name.len()).any(|part| part == name)
}

/// How many bytes this process may lock; `None` is any number.
pub fn lockable() -> Option<u64> {
    rustix::process::getrlimit(Resource::Memlock).current
}

/// How many files this process may open when it has raised its limit; `None` is any number.
pub fn openable() -> Option<u64> {
    rustix::process::getrlimit(Resource::Nofile).maximum
}

/// How many bytes of addresses this process may have; `None` is any number.
pub fn addresses() -> Option<u64> {
    rustix::process::getrlimit(Resource::As).current
}

/// How many processes and threads the user may have; `None` is any number, as for root.
pub fn processes() -> Option<u64> {
    rustix::process::getrlimit(Resource::Nproc).current.filter(|_| crate::descriptors::own_uid() != 0)
}

/// How many more processes and threads the control groups around this process allow, the limit, and the file that says so;
/// `None` is any number.
pub fn processes_left_by_groups() -> Option<(u64, u64, String)> {
    crate::cgroup::Hierarchies::of_this_process().processes_left()
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxshmem_test_folder::{again, is_again};
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    #[test]
    fn a_thread_passes_its_short_slices_on() {
        let slice = || scheduling().expect("a thread may ask how it is scheduled").sched_runtime;
        let own = slice();
        let [there, below] = std::thread::scope(|scope| {
            let both = scope.spawn(|| {
                prefer_short_slices().expect("a thread may shorten its slices");
                [slice(), std::thread::scope(|scope| scope.spawn(slice).join().expect("no panic"))]
            });
            both.join().expect("no panic")
        });
        // A kernel that takes no notice says that there are no slices.
        let expected = own.min(SHORT_SLICE.as_nanos() as u64);
        assert_eq!((there, below, slice()), (expected, expected, own));
    }

    #[test]
    fn exit_now_flushes_and_skips_exit_handlers() {
        extern "C" fn handler() {
            println!("handler ran");
        }
        if is_again() {
            // SAFETY: the handler is a plain function; the text is a C string.
            unsafe {
                libc::atexit(handler);
                libc::printf(c"no newline in C".as_ptr());
            }
            print!(", none in Rust");
            exit_now(7);
        }
        let output = again(&[]).output().expect("runs");
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(7));
        assert!(
            text.contains("no newline in C") && text.contains(", none in Rust") && !text.contains("handler ran"),
            "{text}"
        );
    }

    #[test]
    fn exit_now_flushes_where_no_thread_can_be_had() {
        if is_again() {
            // SAFETY: the text is a C string.
            unsafe { libc::printf(c"no newline in C".as_ptr()) };
            let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
            rustix::process::setrlimit(Resource::As, none).expect("a limit may be lowered");
            assert!(std::thread::Builder::new().spawn(|| ()).is_err(), "there are no addresses for a stack");
            exit_now(9);
        }
        let output = again(&[]).output().expect("runs");
        assert_eq!(output.status.code(), Some(9), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("no newline in C"), "{output:?}");
    }

    #[test]
    fn work_that_waits_for_ever_holds_its_caller_up_for_the_limit_alone() {
        let (word, words) = mpsc::channel();
        assert!(for_at_most(Duration::from_secs(60), move || word.send(1).expect("it is awaited")));
        assert_eq!(words.try_recv(), Ok(1), "the work is over before its limit");
        let (lock, locked) = mpsc::channel::<()>();
        let wait = move || assert!(locked.recv().is_err(), "it is never sent");
        assert!(for_at_most(Duration::from_millis(1), wait));
        drop(lock);
    }

    #[test]
    fn exit_now_does_not_wait_for_ever_for_a_locked_stream() {
        if is_again() {
            let lock = io::stdout().lock();
            std::mem::forget(lock);
            exit_now(8);
        }
        assert_eq!(again(&[]).output().expect("runs").status.code(), Some(8));
    }

    #[test]
    fn a_child_dies_with_the_thread_that_started_it() {
        let start = || {
            let mut sleeper = Command::new("sleep");
            // SAFETY: `die_with_parent` only makes a system call.
            unsafe { sleeper.arg("600").pre_exec(die_with_parent) };
            sleeper.spawn().expect("sleep starts")
        };
        let mut child = std::thread::spawn(start).join().expect("the thread ends well");
        let status = child.wait().expect("our child");
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(libc::SIGKILL));
    }

    #[test]
    fn a_terminal_that_stops_the_background_is_told_from_others() {
        use std::os::fd::{FromRawFd, OwnedFd};
        // SAFETY: it takes a number and opens a new terminal, which nobody else has.
        let number = unsafe { libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY) };
        assert!(number >= 0, "there are terminals: {}", io::Error::last_os_error());
        // SAFETY: the descriptor was just made for us.
        let terminal = unsafe { OwnedFd::from_raw_fd(number) };
        assert!(!stops_writers(&terminal));
        let mut settings = termios::tcgetattr(&terminal).unwrap();
        settings.local_modes |= LocalModes::TOSTOP;
        termios::tcsetattr(&terminal, termios::OptionalActions::Now, &settings).unwrap();
        assert!(stops_writers(&terminal));
        assert!(!stops_writers(&std::fs::File::open("/dev/null").unwrap()));
    }
}
