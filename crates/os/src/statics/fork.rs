//! The child of a fork and the static data of its parent.
//!
//! A fork copies private memory only. The child must not write to its parent's variables, so it gets a copy of what they
//! were at the moment of the fork.
//!
//! In a fully static program the variables include those of the C library: its count of threads, and the locks of its
//! streams and its memory. The C library resets these in the child before it calls the handlers of a fork, so the child
//! needs its copy earlier. The linker option [`WRAPPED`] provides that: `fork` calls [`around_kernel`] in place of the
//! C library's function around the system call. Without the option the child of a program with one thread only repeats
//! values of the C library in its parent's memory, and a fork of several threads is refused.

use super::{STATE, Statics, has_one_thread, threads};
use crate::executable::Executable;
use crate::{SharedMemory, limits, mappings, uninterrupted};
use oxshmem_base::Error;
use std::cell::Cell;
use std::ffi::c_void;
use std::os::fd::AsRawFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{io, ptr};

/// Written by the child of a fork, which has one thread.
static FORKED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The copy for a child, between the handlers before and after the fork; null when there was no memory for it.
    /// One for each thread, because threads may fork at the same time.
    static SNAPSHOT: Cell<*mut c_void> = const { Cell::new(ptr::null_mut()) };
    /// Whether [`around_kernel`] can afford a copy larger than [`LITTLE`]. The handler before the fork finds out: later the memory
    /// of the C library is locked.
    static AFFORDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether this process is the child of a fork.
pub(super) fn is_child() -> bool {
    // Relaxed: only the thread that forked can see true, and it set it itself.
    FORKED.load(Ordering::Relaxed)
}

/// Has the handlers called at each fork.
pub(super) fn watch() -> Result<(), &'static str> {
    // SAFETY: the handlers are functions of this library, which is never unloaded.
    match unsafe { libc::pthread_atfork(Some(before_fork), Some(after_fork_in_parent), Some(after_fork_in_child)) } {
        0 => Ok(()),
        _ => Err("the system refused to watch for forks"),
    }
}

type Refusal = fn(&Error) -> !;

/// Set by the library when it starts.
static REFUSAL: OnceLock<Refusal> = OnceLock::new();

/// Names the function that ends the job in place of a fork that would damage this process.
pub fn refuse_harmful_forks_by(end: Refusal) {
    let _ = REFUSAL.set(end);
}

/// Whether `fork` calls [`around_kernel`]: in a program with a shared C library only the program itself can call it.
pub(super) fn is_wrapped(executable: &Executable) -> bool {
    !executable.has_interpreter() && kernel_fork().is_some()
}

/// Ends the process, or its job, where the C library of the child would write to its parent's variables.
fn refuse_harm() {
    if Executable::this().is_none_or(|executable| executable.has_interpreter()) || has_one_thread(threads()).is_ok() {
        return;
    }
    let error = Error::new("fork: this process has several threads, and its child would damage it")
        .because(
            "the program is fully static, so that the variables of the C library are shared with the child when it \
             resets its locks and its count of threads",
        )
        .fix(format!("link with {WRAPPED} or with -static-oxshmem, use posix_spawn, or set SHMEM_STATICS=0"));
    match REFUSAL.get() {
        Some(end) => end(&error),
        None => {
            eprintln!("oxshmem: {error}");
            std::process::exit(1)
        }
    }
}

fn shared() -> Option<&'static Statics> {
    STATE.get()?.as_ref().ok().filter(|_| !is_child())
}

fn own() -> Option<&'static Statics> {
    shared().filter(|statics| statics.is_ours)
}

extern "C" fn before_fork() {
    let Some(statics) = own() else { return };
    if statics.is_wrapped {
        AFFORDED.set(backed(statics).is_ok_and(|bytes| affords(bytes, || limits::tightest().spare())));
    } else {
        refuse_harm();
        take_snapshot(statics, || limits::tightest().spare());
    }
}

extern "C" fn after_fork_in_parent() {
    AFFORDED.set(false);
    if let Some(statics) = shared() {
        drop_snapshot(statics);
    }
}

extern "C" fn after_fork_in_child() {
    let Some(statics) = shared() else { return };
    if statics.is_ours {
        replace_in_child(statics);
    }
    FORKED.store(true, Ordering::Relaxed);
}

/// The words that have the linker of a fully static program put [`around_kernel`] in the place of `_Fork`.
const WRAPPED: &str = "-Wl,--wrap=_Fork,-u,_Fork";

type KernelFork = unsafe extern "C" fn() -> libc::pid_t;

/// The C library's function around the system call, if [`around_kernel`] has taken its place.
fn kernel_fork() -> Option<KernelFork> {
    let address: *const c_void;
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: reads an address that the linker provides. It is null where the option is missing, and where a C library
    // before glibc 2.34 has no such function. The linker gives this name to nothing else.
    unsafe {
        std::arch::asm!(
            ".weak __real__Fork",
            "mov {}, qword ptr [rip + __real__Fork@GOTPCREL]",
            out(reg) address,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: reads an address that the linker provides, or null, from the table of such addresses.
    unsafe {
        std::arch::asm!(
            ".weak __real__Fork",
            "adrp {0}, :got:__real__Fork",
            "ldr {0}, [{0}, :got_lo12:__real__Fork]",
            out(reg) address,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    {
        address = ptr::null();
    }
    // SAFETY: an optional pointer of a function is null or this function's address.
    unsafe { std::mem::transmute::<*const c_void, Option<KernelFork>>(address) }
}

/// Forks. Unlike the handlers, it gives the child its copy before the C library writes anything there. In the parent the C
/// library holds its locks meanwhile, so this allocates nothing.
#[unsafe(export_name = "__wrap__Fork")]
extern "C" fn around_kernel() -> libc::pid_t {
    let Some(fork) = kernel_fork() else {
        // SAFETY: only the linker's option has anything call this, and then there is a function.
        unsafe { libc::abort() }
    };
    let Some(statics) = own() else {
        // SAFETY: it is `_Fork`, whose caller has asked for it.
        return unsafe { fork() };
    };
    let is_afforded = AFFORDED.replace(false);
    take_snapshot(statics, || if is_afforded { u64::MAX } else { 0 });
    // SAFETY: it is `_Fork`, and the caller is the C library's fork or a program that has asked for it.
    let child = unsafe { fork() };
    if child == 0 {
        replace_in_child(statics);
        FORKED.store(true, Ordering::Relaxed);
    } else {
        drop_snapshot(statics);
    }
    child
}

fn take_snapshot(statics: &Statics, spare: impl FnOnce() -> u64) {
    SNAPSHOT.set(snapshot(statics, spare).unwrap_or(ptr::null_mut()));
}

fn drop_snapshot(statics: &Statics) {
    let copy = SNAPSHOT.replace(ptr::null_mut());
    if !copy.is_null() {
        // SAFETY: the copy is a mapping of this size that nobody else knows. `errno` stays as the fork has left it: the call cannot
        // fail.
        unsafe { libc::munmap(copy, statics.len) };
    }
}

/// Gives the child static data of its own.
fn replace_in_child(statics: &Statics) {
    let (place, len) = (statics.start as *mut c_void, statics.len);
    let copy = SNAPSHOT.replace(ptr::null_mut());
    let replaced = if copy.is_null() {
        // Without a copy the file itself, privately: not a snapshot, but the parent is safe.
        let flags = libc::MAP_PRIVATE | libc::MAP_FIXED | libc::MAP_NORESERVE;
        statics.file().ok_or(io::Error::from(io::ErrorKind::NotFound)).and_then(|memory| {
            // SAFETY: replaces the static data by a mapping of the same bytes; the child has one thread.
            unsafe { syscall!(mmap(place, len, statics.access, flags, memory.fd().as_raw_fd(), 0)) }
        })
    } else {
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        // Not by the C library's function: UCX's hook takes its place and loses the last argument.
        // SAFETY: moves the copy, which has the size of the static data, over it; the child has one thread.
        let moved = unsafe { syscall!(syscall(libc::SYS_mremap, copy, len, len, flags, place)) };
        moved.map(|_| place)
    };
    if replaced.is_err() {
        // SAFETY: ends the child, which must not go on writing to its parent's variables.
        unsafe { libc::abort() };
    }
}

/// Static data with at most this much memory is copied without a look at how much memory is left.
const LITTLE: u64 = 16 << 20;

/// Whether `bytes` bytes can be copied where `spare` bytes are left. Beyond the limit of a control group the kernel
/// would kill the process, which may fork in order to start another program only.
fn affords(bytes: u64, spare: impl FnOnce() -> u64) -> bool {
    bytes <= LITTLE || bytes <= spare()
}

/// How much memory the static data takes.
fn backed(statics: &Statics) -> io::Result<u64> {
    match statics.file() {
        Some(memory) => Ok(rustix::fs::fstat(memory.fd())?.st_blocks as u64 * 512),
        None => Ok(statics.len as u64),
    }
}

/// A private copy of the static data.
fn snapshot(statics: &Statics, spare: impl FnOnce() -> u64) -> io::Result<*mut c_void> {
    if !affords(backed(statics)?, spare) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: the system chooses an address that is not in use.
    let copy = unsafe { syscall!(mmap(ptr::null_mut(), statics.len, statics.access, flags, -1, 0)) }?;
    let read = match statics.file() {
        Some(memory) => read_data(memory, copy),
        // SAFETY: the copy has this size, and nobody else knows it.
        None => unsafe { mappings::copy_own(statics.start, copy, statics.len) },
    };
    read.map(|()| copy).inspect_err(|_| {
        // SAFETY: nobody else knows the copy.
        unsafe { libc::munmap(copy, statics.len) };
    })
}

/// Reads the file to `copy`, which is as large; what was never written stays without memory there too.
fn read_data(memory: &SharedMemory, copy: *mut c_void) -> io::Result<()> {
    let fd = memory.fd().as_raw_fd();
    let mut at = 0;
    // SAFETY: takes no pointers. Other processes share the file's position, but only the results are used.
    while let Ok(start) = unsafe { syscall!(lseek(fd, at, libc::SEEK_DATA)) } {
        // SAFETY: the call takes no pointers. Data is always followed by a hole, at the latest the end of the file.
        let end = unsafe { syscall!(lseek(fd, start, libc::SEEK_HOLE)) }?;
        at = start;
        while at < end {
            let len = (end - at) as usize;
            // SAFETY: the kernel writes at most to `end`, which lies in the copy.
            let read = uninterrupted(|| unsafe { syscall!(pread(fd, copy.byte_add(at as usize), len, at)) })?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            at += read as libc::off_t;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::affords;

    #[test]
    fn a_fork_copies_what_there_is_memory_for() {
        assert!(affords(1 << 20, || unreachable!("little is copied without a look")));
        assert!(affords(1 << 30, || 1 << 30));
        assert!(!affords(1 << 30, || (1 << 30) - 1));
    }
}
