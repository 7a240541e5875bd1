//! The rigs: other machines than this one, for a command of the checkout to run in.

pub(crate) mod hosts;

use std::path::PathBuf;
use std::process::Command;

use crate::counts::CheckCounts;
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

impl Ending {
    /// This number of checks with this ending.
    pub(crate) fn counts(self, checks: usize) -> CheckCounts {
        match self {
            Ending::Well => CheckCounts { passed: checks, ..CheckCounts::default() },
            Ending::Skipped => CheckCounts { skipped: checks, ..CheckCounts::default() },
        }
    }
}

/// Runs a command, from the repository's top folder, in the rig `name`.
pub(crate) fn start<S: AsRef<str>>(name: &str, words: &[S]) -> Outcome<Ending> {
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
    let status = command.status().map_err(|error| format!("ci/rigs/{script} cannot be started: {error}"))?;
    match status.code() {
        Some(0) => Ok(Ending::Well),
        Some(SKIPPED) => Ok(Ending::Skipped),
        _ => Err(format!("in the rig `{name}`: {status}")),
    }
}
