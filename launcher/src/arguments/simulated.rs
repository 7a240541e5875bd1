//! `--sim`: the simulated network carries the job.

use super::App;

/// Gives the PEs of a simulated job their transport. Returns the number of nodes: as many as PEs, unless the user says
/// otherwise, because PEs of one node need no network.
pub(super) fn apply(sim: Option<&str>, nodes: Option<u32>, apps: &mut [App]) -> u32 {
    let Some(detail) = sim else { return nodes.unwrap_or(1) };
    apps.iter_mut().for_each(|app| app.variables.push(format!("SHMEM_TRANSPORT=sim:{detail}")));
    nodes.unwrap_or_else(|| apps.iter().map(|app| app.count.unwrap_or(1)).sum())
}
