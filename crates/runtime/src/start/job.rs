//! The job that this process belongs to, and its place in it.

use std::ffi::{c_int, c_void};
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering::Relaxed};

use oxshmem_base::Error;
use oxshmem_base::knobs::Settings;
use oxshmem_bootstrap::Membership;
use oxshmem_os::process;

/// Joined once, left when the process ends.
static JOB: OnceLock<Membership> = OnceLock::new();
/// Process that joined the job; a forked child has another number and must not act as the PE.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// Whether this process is the child of a fork of a PE. Written by the child, which has one thread.
static FORKED_CHILD: AtomicBool = AtomicBool::new(false);
static FIRST_OF_NODE: AtomicU32 = AtomicU32::new(0);
/// Whether the world numbers of the node's PEs have gaps.
static SCATTERED: AtomicBool = AtomicBool::new(false);
/// One more than the window of each world number, zero for the PEs of other nodes. Made only where [`SCATTERED`] is set.
static WINDOWS: OnceLock<Box<[u32]>> = OnceLock::new();
/// Whether an abort is to leave a core file.
static TRAP_ON_ABORT: AtomicBool = AtomicBool::new(false);

/// World number of the caller, and how many there are; -1 while not initialised.
pub(crate) static MY_PE: AtomicI32 = AtomicI32::new(-1);
/// See [`MY_PE`].
pub(crate) static N_PES: AtomicI32 = AtomicI32::new(-1);

unsafe extern "C" {
    /// glibc's `atexit` of functions that are given the status, which the crate `libc` lacks.
    fn on_exit(function: AtExit, argument: *mut c_void) -> c_int;
}

/// A function that is called when the process exits, with its status.
type AtExit = extern "C" fn(c_int, *mut c_void);

/// Joins the job, in the first life only. `leave` is called when the process exits by `exit` or by returning from `main`,
/// `forked` in every child of a fork.
pub(crate) fn join(settings: &Settings, leave: AtExit, forked: extern "C" fn()) -> Result<&'static Membership, Error> {
    TRAP_ON_ABORT.store(settings.trap_on_abort, Relaxed);
    if let Some(job) = JOB.get() {
        return Ok(job);
    }
    let joined = Membership::join(settings)?;
    // A thread that finds the job finds the windows of its PEs.
    let members = &joined.node().members;
    FIRST_OF_NODE.store(members[0], Relaxed);
    if !members.windows(2).all(|pair| pair[1] == pair[0] + 1) {
        SCATTERED.store(true, Relaxed);
        WINDOWS.get_or_init(|| numbered_windows(members, joined.size()));
    }
    let job = JOB.get_or_init(|| joined);
    PROCESS.store(process::pid(), Relaxed);
    // SAFETY: `leave` is a function of this library, which is never unloaded.
    unsafe { on_exit(leave, core::ptr::null_mut()) };
    // SAFETY: `forked` is a function of this library, which is never unloaded. It only stores to atomics and makes system
    // calls, as the child of a fork may.
    let status = unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    if status != 0 {
        let why = std::io::Error::from_raw_os_error(status);
        return Err(Error::new("the system refused to watch for forks")
            .because(format!("pthread_atfork failed: {why}"))
            .fix("give the process more memory, for example by a greater limit of its control group"));
    }
    Ok(job)
}

/// One more than the window of each of `pes` world numbers, where the members of the node have windows in their order; zero for others.
fn numbered_windows(members: &[u32], pes: u32) -> Box<[u32]> {
    let mut windows = vec![0; pes as usize];
    for (number, &pe) in (1..).zip(members) {
        windows[pe as usize] = number;
    }
    windows.into_boxed_slice()
}

/// The job, if it has been joined.
pub(crate) fn joined() -> Option<&'static Membership> {
    JOB.get()
}

/// Whether this process is the one that joined, and not a child of it. A child may have the same process number in a
/// namespace of its own. A child that the C library did not make has not run `forked`, so only the number tells it.
pub(crate) fn is_this_process() -> bool {
    PROCESS.load(Relaxed) == process::pid() && !is_forked_child()
}

/// This process is the child of a fork from now on, and no PE.
pub(crate) fn become_forked_child() {
    FORKED_CHILD.store(true, Relaxed);
}

/// Whether this process is the child of a fork of a PE.
pub(crate) fn is_forked_child() -> bool {
    FORKED_CHILD.load(Relaxed)
}

/// Number of this PE and of all, once the job is joined.
pub(crate) fn identity() -> Option<(u32, u32)> {
    JOB.get().map(|job| (job.rank(), job.size()))
}

/// World number of the PE in window 0.
#[inline(always)]
pub(crate) fn first_of_node() -> u32 {
    FIRST_OF_NODE.load(Relaxed)
}

/// Whether the world numbers of the node's PEs have gaps, so that windows must be looked up.
#[inline(always)]
pub(crate) fn is_scattered() -> bool {
    SCATTERED.load(Relaxed)
}

/// The number of the node that world number `pe` is on.
pub(crate) fn node_of(pe: u32) -> u32 {
    JOB.get().map_or(0, |job| job.places().node_of(pe))
}

/// The number of the caller's node.
pub(crate) fn my_node() -> u32 {
    JOB.get().map_or(0, |job| job.node().index)
}

/// How many PEs the caller's node has.
pub(crate) fn pes_on_node() -> u32 {
    JOB.get().map_or(1, |job| job.node().members.len() as u32)
}

pub(crate) fn my_window() -> u32 {
    JOB.get().map_or(0, |job| job.node().my_index as u32)
}

/// World number of the PE in a window.
pub(crate) fn pe_in_window(window: u32) -> u32 {
    JOB.get().map_or(0, |job| job.node().members[window as usize])
}

/// The window of world number `pe`, if it is on this node.
#[inline]
pub(crate) fn window_of(pe: u32) -> Option<u32> {
    let members = &JOB.get()?.node().members;
    match WINDOWS.get() {
        Some(windows) => looked_up(windows, pe),
        None => Some(pe.wrapping_sub(members[0])).filter(|&window| (window as usize) < members.len()),
    }
}

/// The window of world number `pe` in the table of [`numbered_windows`], if it has one.
#[inline(always)]
fn looked_up(windows: &[u32], pe: u32) -> Option<u32> {
    windows.get(pe as usize)?.checked_sub(1)
}

/// The window of world number `pe`, which is on this node.
#[inline(always)]
pub(crate) fn window_on_node(pe: u32) -> u32 {
    debug_assert!(JOB.get().is_none() || window_of(pe).is_some(), "PE {pe} is on another node");
    let distance = pe.wrapping_sub(first_of_node());
    if is_scattered() { window_of(pe).unwrap_or(distance) } else { distance }
}

/// Ends this process if its launcher is gone: no other process would end it, and the PEs that it waits for are ending too.
pub(crate) fn end_if_orphaned() {
    if let Some(job) = JOB.get() {
        job.end_if_orphaned();
    }
}

/// Ends the whole job: prints `message` unless it is empty, flushes the C library's output. The child of a fork ends alone.
pub(crate) fn abort(status: c_int, message: &str) -> ! {
    let say = || {
        if !message.is_empty() {
            // In one piece, as a PE of a job does.
            drop(std::io::stderr().write_all(format!("{message}\n").as_bytes()));
        }
    };
    if is_forked_child() {
        say();
        process::exit_now(status)
    }
    if TRAP_ON_ABORT.load(Relaxed) {
        say();
        process::flush_output();
        std::process::abort();
    }
    match JOB.get() {
        Some(job) => job.abort(status, message),
        None => {
            say();
            process::exit_now(status)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_members_of_the_node_have_windows_in_the_order_of_their_numbers() {
        for members in [&[0, 2, 4, 6][..], &[1, 3, 4, 5], &[7], &[0, 1, 2, 3, 4, 5, 6, 7]] {
            let windows = numbered_windows(members, 8);
            for pe in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, i32::MAX as u32, u32::MAX] {
                let expected = members.binary_search(&pe).ok().map(|window| window as u32);
                assert_eq!(looked_up(&windows, pe), expected, "PE {pe} of {members:?}");
            }
        }
    }
}
