//! The rigs: other machines than this one, for a command of the checkout to run in.

pub(crate) mod hosts;

use std::path::PathBuf;
use std::process::{Command, ExitStatus};

use crate::{Outcome, target, top};

/// The status by which a rig says that it cannot be had here; its output says why.
pub(crate) const SKIPPED: i32 = 77;

/// The script of the rig in which each command has a network of its own, whose connections hold some KiB.
const SMALL_BUFFERS: &str = "small-buffers";

/// The path of that script, for a command that is built elsewhere.
pub(crate) fn small_buffers() -> PathBuf {
    top().join("ci/rigs").join(SMALL_BUFFERS)
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
