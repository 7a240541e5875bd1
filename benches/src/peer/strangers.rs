//! Other processes that compute while jobs are measured, as on a machine that several people use.

use std::process::{Child, Command, Stdio};

use crate::Outcome;

/// They end with this value, or when this program ends otherwise: each waits for the end of its standard input in a subshell.
pub(super) struct Strangers(Vec<Child>);

/// Computes until its standard input ends. The loop is of this program's session, so that the kernel shares processors between it and
/// the PEs thread by thread.
const LOOP: &str = "(while :; do :; done) & read _; kill $!";

impl Strangers {
    pub(super) fn start(count: u32) -> Outcome<Self> {
        let mut strangers = Self(Vec::new());
        for _ in 0..count {
            let mut shell = Command::new("sh");
            shell.args(["-c", LOOP]).stdin(Stdio::piped()).stdout(Stdio::null());
            strangers.0.push(shell.spawn().map_err(|error| format!("--beside: sh does not start: {error}"))?);
        }
        Ok(strangers)
    }
}

impl Drop for Strangers {
    fn drop(&mut self) {
        for mut child in self.0.drain(..) {
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Strangers;

    #[test]
    fn strangers_end_when_they_are_no_longer_wanted() {
        let strangers = Strangers::start(2).expect("sh");
        let pids: Vec<u32> = strangers.0.iter().map(std::process::Child::id).collect();
        assert_eq!(pids.len(), 2);
        drop(strangers);
        let lives = |pid: &u32| std::path::Path::new(&format!("/proc/{pid}")).exists();
        assert!(!pids.iter().any(lives));
    }
}
