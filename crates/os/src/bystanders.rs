//! Everything else that could change the memory of this process while its own threads wait: other threads, a debugger,
//! forked processes, signal handlers, devices. Every question is answered from `/proc`; `None` means that the answer is not known.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{interrupts, kernel_text, library};

/// A thread of this process: its number and when it began, so that a reused number is another thread.
pub type Thread = (u32, u64);

/// The number of the calling thread.
pub fn thread_number() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}

/// All threads of this process at one moment that have not ended.
pub fn threads() -> Option<BTreeSet<Thread>> {
    let (mut threads, mut ended) = (BTreeSet::new(), 0);
    for entry in fs::read_dir("/proc/self/task").ok()? {
        let number: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let stat = kernel_text::read(format!("/proc/self/task/{number}/stat")).ok()?;
        if has_ended(&stat) {
            ended += 1;
        } else {
            threads.insert((number, field(&stat, STARTED)?));
        }
    }
    // A listing may miss a thread that begins meanwhile. The kernel's count is of one moment.
    let count = field(&kernel_text::read("/proc/self/stat").ok()?, COUNT)?;
    (count == threads.len() as u64 + ended).then_some(threads)
}

/// How often the threads are listed until two listings agree.
const LISTINGS: u32 = 100;

/// The threads of libraries, which run nothing of the program.
static HELPERS: Mutex<BTreeSet<Thread>> = Mutex::new(BTreeSet::new());

fn helpers() -> MutexGuard<'static, BTreeSet<Thread>> {
    HELPERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All other threads of this process that have not ended, but for [helpers](with_helpers). One that begins meanwhile may be missing. No older
/// one is: the kernel may pass one over where another thread ends during the listing, but that one is not in the next listing, so the two
/// differ.
pub fn others() -> Option<BTreeSet<Thread>> {
    let me = thread_number();
    let mut last = None;
    for _ in 0..LISTINGS {
        let listed = threads();
        if listed.is_some() && listed == last {
            let helpers = helpers();
            let is_other = |thread: &Thread| thread.0 != me && !helpers.contains(thread);
            return listed.map(|threads| threads.into_iter().filter(is_other).collect());
        }
        last = listed;
    }
    None
}

/// Does `work`, in which a library may start threads for itself. They are known as helpers if the program has no thread but the caller's:
/// then nothing else can have started a thread meanwhile. Handlers of signals do not run during the call.
pub fn with_helpers<R>(work: impl FnOnce() -> R) -> R {
    let is_alone = others().is_some_and(|threads| threads.is_empty());
    let result = work();
    if let (true, Some(begun)) = (is_alone, others()) {
        let mut helpers = helpers();
        helpers.retain(|helper| !is_over(helper));
        helpers.extend(begun);
    }
    result
}

/// Whether a thread of this process has ended. One that cannot be looked at has not.
pub fn is_over(&(number, started): &Thread) -> bool {
    match kernel_text::read(format!("/proc/self/task/{number}/stat")) {
        Ok(stat) => has_ended(&stat) || field(&stat, STARTED).is_some_and(|begin| begin != started),
        Err(error) => is_gone(&error),
    }
}

/// Whether the kernel says that there is no such process or thread.
fn is_gone(error: &std::io::Error) -> bool {
    error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

/// Whether a thread has ended, as its line of `stat` tells. The first thread of a process stays in the list until the last one ends.
fn has_ended(stat: &str) -> bool {
    is_in_state(stat, ['Z', 'X'])
}

/// Whether a line of `stat` shows one of these states.
fn is_in_state(stat: &str, states: [char; 2]) -> bool {
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with(states))
}

/// Whether a signal or a debugger has stopped process `number`. One that cannot be looked at counts as one that runs.
pub fn is_stopped(number: u32) -> bool {
    kernel_text::read(format!("/proc/{number}/stat")).is_ok_and(|stat| is_in_state(&stat, ['T', 't']))
}

/// Places in a line of `stat`, counted behind the name.
pub(crate) const COUNT: usize = 17;
const STARTED: usize = 19;

/// A number of a line of `stat`. The name before it may contain anything, but its last parenthesis ends it.
pub(crate) fn field(stat: &str, place: usize) -> Option<u64> {
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(place)?.parse().ok()
}

/// A line of what the kernel tells of this process by the calling thread: when the first one has ended, nothing leads from it to memory
/// and descriptors any more.
fn status(name: &str) -> Option<String> {
    status_of("thread-self", name)
}

fn status_of(entry: &str, name: &str) -> Option<String> {
    let text = kernel_text::read(format!("/proc/{entry}/status")).ok()?;
    text.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
}

/// Whether a debugger is attached to the first thread or the calling one.
pub fn is_traced() -> Option<bool> {
    let tracer = |entry| status_of(entry, "TracerPid:");
    Some(tracer("self")? != "0" || tracer("thread-self")? != "0")
}

/// Signals that come from the thread's own instructions. A thread that waits in the library causes none. SIGABRT is none of them:
/// a call sends it, and a watchdog does so from outside.
pub(crate) const FAULTS: [libc::c_int; 6] =
    [libc::SIGILL, libc::SIGTRAP, libc::SIGBUS, libc::SIGFPE, libc::SIGSEGV, libc::SIGSYS];
/// The C library keeps these two for itself.
const RESERVED: [libc::c_int; 2] = [32, 33];

/// Libraries whose handlers store to nothing of the program: gfortran's tells where a program has ended, UCX's changes how
/// much UCX prints.
const HARMLESS: [&str; 2] = ["libgfortran", "libucs"];

/// Whether a signal could run a handler of the program in this process.
pub fn catches_signals() -> Option<bool> {
    let mask = u64::from_str_radix(&status("SigCgt:")?, 16).ok()?;
    let is_caught = |signal: &libc::c_int| mask >> (signal - 1) & 1 == 1;
    let is_program = |signal: &libc::c_int| !FAULTS.contains(signal) && !RESERVED.contains(signal);
    Some((1..=64).filter(is_caught).filter(is_program).any(|signal| !is_harmless(signal)))
}

/// Whether the handler of a signal lies in one of the [`HARMLESS`] libraries, or is an interpreter's that only ends a call.
fn is_harmless(signal: libc::c_int) -> bool {
    if signal == libc::SIGINT && interrupts::only_end_calls() {
        return true;
    }
    // SAFETY: all-zero is an action, and the call writes only to it.
    let handler = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        (libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0).then_some(action.sa_sigaction)
    };
    let name = handler.and_then(library::name_at).unwrap_or_default();
    HARMLESS.iter().any(|library| name.starts_with(library))
}

/// Whether this process has asked the kernel or a graphics processor to work on its own: such work may store to memory
/// that no thread of the process touches.
pub fn has_helpers() -> Option<bool> {
    let places: i32 = status("FDSize:")?.parse().ok()?;
    if (0..places).any(is_helper) {
        return Some(true);
    }
    Some(kernel_text::read("/proc/thread-self/maps").ok()?.contains("/[aio]"))
}

/// Whether a descriptor leads to the kernel's or a graphics processor's workers. Names cost microseconds, and a PE may have a
/// thousand sockets, so only devices and what has no type of a file are asked for theirs.
fn is_helper(descriptor: i32) -> bool {
    // SAFETY: all-zero is an answer of fstat, which writes only to what is passed. No descriptor of this number is an error.
    let kind = unsafe {
        let mut about: libc::stat = std::mem::zeroed();
        if libc::fstat(descriptor, &raw mut about) != 0 {
            return false;
        }
        about.st_mode & libc::S_IFMT
    };
    if kind != 0 && kind != libc::S_IFCHR {
        return false;
    }
    // Another thread may have closed it.
    let Ok(target) = fs::read_link(format!("/proc/thread-self/fd/{descriptor}")) else { return false };
    let target = target.to_string_lossy();
    ["anon_inode:[io_uring]", "/dev/nvidia", "/dev/kfd", "/dev/dri/"].iter().any(|name| target.starts_with(name))
}

/// The live processes that this process has started.
pub fn children() -> Option<BTreeSet<u32>> {
    let mut children = BTreeSet::new();
    for (thread, _) in threads()? {
        let text = fs::read_to_string(format!("/proc/self/task/{thread}/children")).ok()?;
        children.extend(text.split_ascii_whitespace().filter_map(|number| number.parse::<u32>().ok()));
    }
    Some(children)
}

/// Whether process `number` lives and has a memory file mapped whose name begins with `file`. A process that may not be
/// looked at counts as one that has.
pub fn maps(number: u32, file: &str) -> bool {
    match kernel_text::read(format!("/proc/{number}/maps")) {
        Ok(text) => text.contains(&format!("/memfd:{file}")),
        Err(error) => !is_gone(&error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals::Process;
    use crate::{Pages, SharedMemory};
    use std::sync::mpsc;

    #[test]
    fn fault_D1_a_thread_is_listed_from_its_begin_to_its_end() {
        let (tell, told) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            tell.send(thread_number()).expect("the test listens");
            // The test drops its end.
            let _ = ended.recv();
        });
        let number = told.recv().expect("the thread speaks");
        // Other tests begin and end threads meanwhile, so that a listing may be of no one moment.
        let listed = || std::iter::repeat_with(threads).flatten().next().expect("endless");
        assert!(listed().iter().any(|(listed, _)| *listed == number));
        assert!(listed().iter().any(|(listed, _)| *listed == thread_number()));
        let beside = std::iter::repeat_with(others).flatten().next().expect("endless");
        let found = *beside.iter().find(|(listed, _)| *listed == number).expect("it is there");
        assert!(!beside.iter().any(|(listed, _)| *listed == thread_number()) && !is_over(&found));
        drop(end);
        thread.join().expect("it ends well");
        assert!(!listed().iter().any(|(listed, _)| *listed == number));
        // The kernel wakes those who join a little before the end.
        while !is_over(&found) {}
        assert!(is_over(&(thread_number(), 0)), "a number that another thread has");
    }

    /// The thread may be the program's: the test's harness has others, which might have started it.
    #[test]
    fn a_thread_that_begins_beside_others_is_no_helper() {
        let (end, ended) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        let thread = with_helpers(|| {
            std::thread::spawn(move || {
                tell.send(thread_number()).expect("the test listens");
                // The test drops its end.
                let _ = ended.recv();
            })
        });
        let number = told.recv().expect("the thread speaks");
        let beside = std::iter::repeat_with(others).flatten().next().expect("endless");
        assert!(beside.iter().any(|(listed, _)| *listed == number));
        drop(end);
        thread.join().expect("it ends well");
    }

    #[test]
    fn fault_D1_a_name_with_parentheses_does_not_shift_the_fields() {
        let stat = "17 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 42 18 4711 20";
        assert_eq!((field(stat, COUNT), field(stat, STARTED)), (Some(42), Some(4711)));
        assert_eq!(field("17 (short) S 1", STARTED), None);
        assert!(!has_ended(stat) && has_ended("17 (a) b (c) Z 1 2") && !has_ended("17 (Z) S 1 2"));
    }

    #[test]
    fn a_thread_whose_name_is_no_text_is_known_as_any_other() {
        let named = std::thread::spawn(|| {
            fs::write("/proc/thread-self/comm", b"gr\xc3").expect("a thread names itself");
            // Other tests begin and end threads meanwhile.
            let listed = (0..1000).find_map(|_| threads()).expect("one listing of a thousand is of one moment");
            assert!(listed.iter().any(|(listed, _)| *listed == thread_number()));
            assert!(is_traced().is_some() && catches_signals().is_some() && has_helpers().is_some());
        });
        named.join().expect("all is known");
    }

    #[test]
    fn fault_D1_only_a_process_that_has_the_file_mapped_shares_it() {
        let file = SharedMemory::create(c"oxshmem bystanders", 4096, Pages::Small).expect("memory");
        let mut range = crate::AddressRange::reserve(4096, 4096).expect("addresses");
        range.map(0, &file, 0, 4096).expect("a mapping");
        assert!(maps(crate::process::pid(), "oxshmem bystanders"));
        assert!(!maps(crate::process::pid(), "another file"));
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep starts");
        // The child has the mappings of this process until it has become `sleep`.
        while maps(child.id(), "oxshmem bystanders") {}
        assert!(std::iter::repeat_with(children).flatten().next().expect("endless").contains(&child.id()));
        child.kill().expect("our child");
        child.wait().expect("our child");
        assert!(!maps(child.id(), "oxshmem bystanders"));
    }

    #[test]
    fn a_process_that_a_signal_has_stopped_is_told_until_it_goes_on() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep starts");
        let number = child.id();
        let send = |signal| Process::hold(number).and_then(|process| process.signal(signal)).expect("our child");
        assert!(!is_stopped(number));
        send(libc::SIGSTOP);
        while !is_stopped(number) {}
        send(libc::SIGCONT);
        while is_stopped(number) {}
        child.kill().expect("our child");
        child.wait().expect("our child");
        assert!(!is_stopped(number));
    }

    #[test]
    fn fault_R1_helpers_are_found_among_sockets() {
        let sockets: Vec<_> = (0..100).map(|_| std::os::unix::net::UnixStream::pair().expect("a pair")).collect();
        assert_eq!(has_helpers(), Some(false));
        let mut parameters = [0_u64; 15];
        // SAFETY: the kernel writes 120 bytes to the parameters; all zero asks for nothing special.
        let ring = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, parameters.as_mut_ptr()) };
        if ring >= 0 {
            assert_eq!(has_helpers(), Some(true));
            // SAFETY: the descriptor is this test's.
            unsafe { libc::close(ring as i32) };
        }
        drop(sockets);
    }
}
