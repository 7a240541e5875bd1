//! The device that does the atomics of a job: the network or the target's processor. It is the same on all nodes, because atomics of
//! both on one word would not be atomic.

use std::fmt;

use oxshmem_base::knobs::Atomics;
use oxshmem_transport::NetworkAtomics;
use serde::{Deserialize, Serialize};

/// The device that does atomics, and the reason.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Domain {
    pub(super) network: bool,
    why: String,
}

impl Domain {
    fn new(network: bool, why: impl Into<String>) -> Self {
        Self { network, why: why.into() }
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = if self.network { "the network, on the node too" } else { "the target's processor" };
        write!(f, "{who} ({})", self.why)
    }
}

/// The device that does the atomics of a job whose nodes are offered these by the network; or why the user's choice is not available.
/// On a node the processor is a hundred times faster, so by default a job uses the cards only if each node has one PE: `one_pe_each`.
pub(super) fn decide(wanted: Atomics, one_pe_each: bool, offered: &[NetworkAtomics]) -> Result<Domain, String> {
    let lacking = offered.iter().enumerate().find_map(|(node, atomics)| match atomics {
        NetworkAtomics::None(why) => Some((node, why)),
        _ => None,
    });
    let cards = offered.iter().all(|atomics| *atomics == NetworkAtomics::Card);
    match (wanted, lacking) {
        (Atomics::Processor, _) => Ok(Domain::new(false, "SHMEM_AMO=processor")),
        (Atomics::Network, None) => Ok(Domain::new(true, "SHMEM_AMO=network")),
        (Atomics::Network, Some((node, why))) => Err(format!("no atomics of the network: {why}, on node {node}")),
        (Atomics::Auto, Some((_, why))) => Ok(Domain::new(false, why)),
        (Atomics::Auto, None) if !cards => Ok(Domain::new(false, "the network's would be software, too")),
        (Atomics::Auto, None) if !one_pe_each => Ok(Domain::new(false, "which is faster on a node with several PEs")),
        (Atomics::Auto, None) => Ok(Domain::new(true, "by the cards, and each node has one PE")),
    }
}
