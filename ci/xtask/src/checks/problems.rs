//! Problems of users of such libraries, reproduced. Tests of them carry `problem` and the number in their names:
//!
//! 1. several jobs of one PE instead of one job
//! 3. launchers that refuse to run as root, or more PEs than they see processors
//! 15. ports that are blocked, interfaces that lead nowhere
//! 17. a network card that is far from its PE
//! 19. starts that cost more in larger jobs
//! 20. exit statuses that are not those of the PEs
//! 24. two jobs on the same core
//! 25. hosts on which a stage of the launch fails
//!
//! Faults that were found in this library from outside carry `fault` and their number; `ci/faults/README.md` lists them.

use std::process::Command;

use crate::Outcome;
use crate::checks::{launchers, rust_tests};
use crate::counts::CheckCounts;

/// The crates that have such tests.
const CRATES: &[&str] = &[
    "oxshmem-faults",
    "oxshmem-launcher",
    "oxshmem-base",
    "oxshmem-bootstrap",
    "oxshmem-flight",
    "oxshmem-heap",
    "oxshmem-os",
    "oxshmem-topology",
    "oxshmem-transport",
    "oxshmem-transport-ofi",
    "oxshmem-transport-tcp",
    "oxshmem-transport-ucx",
    "oxshmem-runtime",
    "oxshmem",
];

/// Runs them all, and shows the messages that users get.
pub(crate) fn run() -> Outcome<CheckCounts> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.arg("test").args(CRATES.iter().flat_map(|name| ["--package", name])).args([
        "--lib",
        "--tests",
        "--examples",
    ]);
    let mut counts = rust_tests::count_shown(command.args(["--", "problem_", "fault_", "--show-output"]))?;
    counts += launchers::run(&["problem".to_owned()])?;
    Ok(counts)
}
