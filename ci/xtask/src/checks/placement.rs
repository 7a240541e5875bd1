//! Where PEs, their heaps and their cards are on a machine of two NUMA nodes, and by which card their data leave: the rig
//! `rdma`.

use std::path::Path;

use crate::counts::CheckCounts;
use crate::{Outcome, command, rigs, target, top};

/// Builds the programs that look, and runs `ci/placement/check` with them in the rig.
pub(crate) fn check(prefix: &Path) -> Outcome<CheckCounts> {
    let folder = target().join("placement");
    let mut words = vec!["ci/placement/check".to_owned(), prefix.display().to_string()];
    for name in ["where", "packets", "rails"] {
        let (program, source) = (folder.join(name), top().join("ci/placement").join(name).with_extension("c"));
        command::compile(prefix, &["-O1", "-Wall"], &[source], &program)?;
        words.push(program.display().to_string());
    }
    Ok(rigs::start("rdma", &words)?.counts(1))
}
