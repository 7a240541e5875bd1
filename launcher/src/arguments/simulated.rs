//! `--sim`: the simulated network carries the job.

use oxshmem_base::simulated::{STRATEGIES, strategy_and_seed};

use super::App;

/// A value of `--sim`. Its words behind a comma are left to the network.
pub(super) fn detail(text: &str) -> Result<String, String> {
    let head = text.split_once(',').map_or(text, |(head, _)| head);
    match strategy_and_seed(head) {
        Some(_) => Ok(text.to_owned()),
        None => Err(format!(
            "`{head}` is neither a seed nor a strategy: write SEED or STRATEGY:SEED with one of {}",
            STRATEGIES.join(", ")
        )),
    }
}

/// Gives the PEs of a simulated job their transport. Returns the number of nodes: as many as PEs, unless the user says
/// otherwise, because PEs of one node need no network. The programs have their numbers of PEs.
pub(super) fn apply(sim: Option<&str>, nodes: Option<u32>, apps: &mut [App]) -> u32 {
    let Some(detail) = sim else { return nodes.unwrap_or(1) };
    apps.iter_mut().for_each(|app| app.variables.push(format!("SHMEM_TRANSPORT=sim:{detail}").into()));
    nodes.unwrap_or_else(|| apps.iter().map(|app| app.count.unwrap_or(1)).sum())
}
