//! Where PEs, their heaps and their cards are on a machine of two NUMA nodes, and by which card their data leave: the rig
//! `rdma`.

use std::path::Path;

use crate::{Outcome, command, target, top};

/// Builds the programs that look. Returns the words of `ci/placement/check` with them, for the rig.
pub(crate) fn check_words(prefix: &Path) -> Outcome<Vec<String>> {
    let folder = target().join("placement");
    let mut words = vec!["ci/placement/check".to_owned(), prefix.display().to_string()];
    for name in ["where", "packets", "rails"] {
        let (program, source) = (folder.join(name), top().join("ci/placement").join(name).with_extension("c"));
        command::compile(prefix, &["-O1", "-Wall"], &[source], &program)?;
        words.push(program.display().to_string());
    }
    Ok(words)
}
