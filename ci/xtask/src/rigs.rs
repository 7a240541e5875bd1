//! The rigs: other machines than this one, for a command of the checkout to run in.

pub(crate) mod hosts;

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;

use crate::{Outcome, target, top};

/// The status by which a rig says that it cannot be had here; its output says why.
pub(crate) const SKIPPED: i32 = 77;

/// The script of the rig in which each command has a network of its own, whose connections hold some KiB.
const SMALL_BUFFERS: &str = "small-buffers";

/// The path of that script, for a command that is built elsewhere.
pub(crate) fn small_buffers() -> PathBuf {
    top().join("ci/rigs").join(SMALL_BUFFERS)
}

/// A rig that is held for as long as this lives. If this process is killed, the rig's input ends and with it the rig.
pub(crate) struct HeldRig {
    process: Child,
    /// The value of the variable by which the rig is found.
    pub(crate) told: String,
}

impl HeldRig {
    /// Starts a script of `ci/rigs`, which sets this variable for its command. The inner error says why the rig cannot be had here.
    pub(crate) fn start(script: &str, words: &[&str], variable: &str) -> Outcome<Result<HeldRig, String>> {
        let mut run = Command::new(top().join("ci/rigs").join(script));
        run.args(words).args(["sh", "-c", &format!("echo \"=${variable}\" && exec cat")]);
        run.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = run.spawn().map_err(|error| format!("ci/rigs/{script} cannot be started: {error}"))?;
        let (mut why, mut said) = (String::new(), BufReader::new(process.stdout.take().expect("it was asked for")));
        said.read_line(&mut why).map_err(|error| error.to_string())?;
        if let Some(told) = why.strip_prefix('=') {
            // The rest of its output has a reader as long as it lives.
            let mut errors = process.stderr.take().expect("it was asked for");
            thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
            thread::spawn(move || std::io::copy(&mut errors, &mut std::io::stderr()));
            return Ok(Ok(HeldRig { told: told.trim_end().into(), process }));
        }
        said.read_to_string(&mut why).map_err(|error| error.to_string())?;
        let output = process.wait_with_output().map_err(|error| error.to_string())?;
        why += &String::from_utf8_lossy(&output.stderr);
        match output.status.code() {
            Some(SKIPPED) => Ok(Err(why.trim_end().into())),
            _ => Err(format!("{}: {}", unwell(script, output.status), why.trim_end())),
        }
    }
}

impl Drop for HeldRig {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// How a command in a rig ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ending {
    /// With status 0.
    Well,
    /// The rig cannot be had here, and has said why.
    Skipped,
}

/// Runs a command, from the repository's top folder, in the rig `name`.
pub(crate) fn start<S: AsRef<str>>(name: &str, words: &[S]) -> Outcome<Ending> {
    let status = status(name, words)?;
    match status.code() {
        Some(0) => Ok(Ending::Well),
        Some(SKIPPED) => Ok(Ending::Skipped),
        _ => Err(unwell(name, status)),
    }
}

/// The sentence about a rig that did not end well.
pub(crate) fn unwell(name: &str, status: ExitStatus) -> String {
    format!("in the rig `{name}`: {status}")
}

/// The same as [`start`], for a command whose status means something to the caller.
pub(crate) fn status<S: AsRef<str>>(name: &str, words: &[S]) -> Outcome<ExitStatus> {
    let (script, verb) = match name {
        "rdma" => ("rdma-vm", None),
        "hosts" => ("network-namespaces", Some("run")),
        "slurm" => ("slurm-two-nodes", None),
        "small-buffers" => (SMALL_BUFFERS, None),
        other => return Err(format!("there is no rig `{other}`; there are rdma, slurm, hosts and small-buffers")),
    };
    let mut command = Command::new(top().join("ci/rigs").join(script));
    command
        .args(verb)
        .args(words.iter().map(S::as_ref))
        .current_dir(top())
        .env("OXSHMEM_RIG_CACHE", target().join("rigs"));
    command.status().map_err(|error| format!("ci/rigs/{script} cannot be started: {error}"))
}
