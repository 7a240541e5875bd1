//! Where PEs, their heaps and their cards are on a machine of two NUMA nodes: the rig `rdma`.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::rig::{self, Ending};
use crate::test::Counts;
use crate::{Outcome, command, target, top};

/// Builds the program that looks, and runs `ci/placement/check` with it in the rig.
pub(crate) fn check(prefix: &Path) -> Outcome<Counts> {
    let folder = target().join("placement");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let program = folder.join("where");
    let mut compiler = Command::new(prefix.join("bin/oshcc"));
    command::run(compiler.args(["-O1", "-Wall", "-o"]).arg(&program).arg(top().join("ci/placement/where.c")))?;
    let words = ["ci/placement/check".into(), prefix.display().to_string(), program.display().to_string()];
    Ok(match rig::start("rdma", &words)? {
        Ending::Well => Counts { passed: 1, ..Counts::default() },
        Ending::Skipped => Counts { skipped: 1, ..Counts::default() },
    })
}
