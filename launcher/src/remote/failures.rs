//! Why an agent was not started, in words.

use std::io;
use std::process::ExitStatus;

use crate::link::remote_shell;
use crate::program::{NOT_EXECUTABLE, NOT_FOUND};
use crate::{refused, verdict};

/// The status of ssh when it has failed itself.
const SSH_FAILED: i32 = 255;
/// The status of a shell that does not understand its command.
const SYNTAX: i32 = 2;

/// Why the system does not start a remote shell.
pub(super) fn unspawned(shell: &str, error: &io::Error) -> String {
    let why = format!("the remote shell cannot be started: {shell}: {error}");
    match refused::limit(error) {
        Some(limit) => format!("{why}; {limit} is reached: raise it, or end other programs"),
        None => format!("{why}; install it, or name another with --launch-agent"),
    }
}

/// Whether the words of an ssh that has failed are those on a connection that sshd has closed at once. Another ssh on the way to the host
/// may have said them.
pub(super) fn is_turned_away(status: ExitStatus, said: &str) -> bool {
    // Releases before 8.0 begin with `ssh_`, later ones with `kex_`.
    let is_it = |line: &str| {
        line.contains("_exchange_identification: ")
            && ["Connection closed by", "Connection reset by"].iter().any(|words| line.contains(words))
    };
    status.code() == Some(SSH_FAILED) && said.lines().any(is_it)
}

/// Which stage failed when the remote shell ended before an agent answered.
pub(super) fn failed_stage(words: &[String], status: ExitStatus, said: &str, heard: &[u8]) -> String {
    let shell = words.iter().take_while(|word| *word != "sh").cloned().collect::<Vec<_>>().join(" ");
    let shell = if shell.is_empty() { words[0].clone() } else { shell };
    let said = if said.is_empty() { excerpt(heard) } else { said.to_string() };
    match status.code() {
        Some(NOT_EXECUTABLE | NOT_FOUND) => with_words(
            "the remote shell works, but oshrun cannot be run there; install oxshmem at the same path, put it into PATH, \
             or name its place with --remote-prefix"
                .into(),
            &said,
        ),
        Some(SYNTAX) if said.contains("yntax error") => with_words(
            format!(
                "`{shell}` joins its words for another shell, which does not understand them: they are quoted for {} only; name a script \
                 that is called `ssh` and runs it: exec {} \"$@\"",
                remote_shell::JOINING.join(", "),
                words[0]
            ),
            &said,
        ),
        _ => with_words(
            format!("the remote shell failed: `{shell}` {}; see whether `{shell} true` works", verdict::manner(status, None)),
            &said,
        ),
    }
}

pub(super) fn with_words(why: String, said: &str) -> String {
    if said.is_empty() { why } else { format!("{why}; it said: {}", said.replace('\n', " | ")) }
}

pub(super) fn excerpt(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).trim().escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn a_connection_that_sshd_closes_at_once_is_not_a_host_that_fails() {
        let status = |code: i32| ExitStatus::from_raw(code << 8);
        for (code, said, expected) in [
            (
                255,
                "kex_exchange_identification: Connection closed by remote host\nConnection closed by 10.0.0.1 port 22",
                true,
            ),
            (255, "kex_exchange_identification: read: Connection reset by peer", true),
            (255, "Welcome\nssh_exchange_identification: Connection closed by remote host", true),
            (255, "kex_exchange_identification: banner line too long", false),
            (255, "ssh: connect to host n9 port 22: Connection refused", false),
            (255, "Connection closed by 10.0.0.1 port 22", false),
            (1, "kex_exchange_identification: Connection closed by remote host", false),
        ] {
            assert_eq!(is_turned_away(status(code), said), expected, "{code}: {said}");
        }
    }

    #[test]
    fn a_remote_shell_that_meets_a_limit_is_not_to_be_installed() {
        for (code, part) in [
            (libc::EMFILE, "the limit of open files (ulimit -n) is reached: raise it"),
            (libc::ENFILE, "the limit of open files (ulimit -n) is reached: raise it"),
            (libc::EAGAIN, "the limit of processes (ulimit -u, or pids.max of the control group) is reached: raise it"),
            (libc::ENOENT, "install it"),
        ] {
            let told = unspawned("rsh", &io::Error::from_raw_os_error(code));
            assert!(told.contains(part) && told.contains("install") == (code == libc::ENOENT), "{told}");
        }
    }
}
