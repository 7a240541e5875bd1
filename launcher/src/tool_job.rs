//! Jobs that tools start, as `oxshmem sim` and `oxshmem bench` do.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::process::Command;

use oxshmem_os::process;

/// The command of a launcher, which ends with the tool. A tool that is killed would leave its job, and one that hangs has no other end. The
/// thread that starts the command must wait for it.
pub(crate) fn launcher(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    #[allow(unsafe_code, reason = "what a process does between fork and exec cannot be checked")]
    // SAFETY: the closure runs in the forked child and makes one system call.
    unsafe {
        command.pre_exec(process::die_with_parent)
    };
    command
}
