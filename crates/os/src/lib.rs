//! All that oxshmem asks of the operating system: shared memory, the executable's static data, futexes, processors,
//! network interfaces, descriptor passing; and hints to the processor. Linux only; every `unsafe` call to the system lives here.
#![cfg_attr(test, allow(non_snake_case, reason = "tests carry the number of the fault"))]

/// Calls the C library and turns its -1 into the error in `errno`. The caller's `unsafe` block argues for the arguments.
macro_rules! syscall {
    ($call:ident($($argument:expr),* $(,)?)) => {{
        let result = libc::$call($($argument),*);
        if result as isize == -1 { Err(std::io::Error::last_os_error()) } else { Ok(result) }
    }};
}

pub mod bystanders;
pub mod cache;
mod cgroup;
pub mod cpp;
pub mod cpus;
pub mod descriptors;
mod executable;
pub mod faults;
pub mod fortran_module;
pub mod futex;
pub mod interfaces;
pub mod interrupts;
pub mod job_control;
pub mod job_folder;
pub mod kernel_text;
pub mod library;
pub mod limits;
pub mod locks;
pub mod mappings;
pub mod memory;
pub mod numa_policy;
mod own_descriptor;
pub mod pacing;
pub mod process;
pub mod program;
pub mod program_line;
pub mod random;
pub mod replace;
pub mod signals;
pub mod sockets;
pub mod stack;
pub mod statics;
pub mod time;
pub mod wakeup;
mod watched_time;

pub use memory::{AddressRange, Pages, SharedMemory};
pub use own_descriptor::{FileIdentity, OwnDescriptor};
pub use watched_time::WatchedTime;

/// Repeats a call that a signal handler interrupted.
fn uninterrupted<T>(mut call: impl FnMut() -> std::io::Result<T>) -> std::io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
