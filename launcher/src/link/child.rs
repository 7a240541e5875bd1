//! A process whose standard input and output are the pipe to an agent.

use std::process::Stdio;

use oxshmem_os::process;
use tokio::process::Command;

/// Makes pipes of the process's input and output, and lets it end with us. Ctrl-C is not for it.
pub(crate) fn piped(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0).kill_on_drop(true);
    #[allow(unsafe_code, reason = "what a process does between fork and exec cannot be checked")]
    // SAFETY: the closure runs in the forked child and makes one system call.
    unsafe {
        command.pre_exec(process::die_with_parent)
    }
}
