//! Nodes that are one machine: those of `oshrun --nodes`, containers, network namespaces. Their PEs take turns on the
//! same processors, and no node can see that by itself. So every node says where it lives, and PE 0 counts.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Where a node lives: a part of the vote by which the nodes agree on a transport.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Quarters {
    /// The boot of the machine; empty for a node that does not know its machine and so shares it with no other node.
    machine: String,
    /// Its network stack: what tells one network namespace of the machine from others; empty if that is not known.
    network: String,
    /// The processors that its PEs may use, ascending.
    processors: Vec<u32>,
    /// How many processors' worth of time its control group gets, if that is limited.
    quota: Option<usize>,
}

impl Quarters {
    /// Those of this node, whose PEs may use these processors, for no more time than the quota of their group.
    pub(crate) fn here(processors: &[u32], quota: Option<usize>) -> Self {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let network = std::fs::read_link("/proc/self/ns/net").unwrap_or_default().to_string_lossy().into_owned();
        let quota = quota.map(|whole| whole.max(1));
        Self { machine: boot.trim().into(), network, processors: processors.into(), quota }
    }

    /// How many processors' worth of time the node's PEs have.
    pub(crate) fn processors(&self) -> usize {
        self.processors.len().min(self.quota.unwrap_or(usize::MAX)).max(1)
    }

    /// Whether loopback leads from one to the other.
    pub(crate) fn is_one_host(&self, other: &Self) -> bool {
        let known = !self.machine.is_empty() && !self.network.is_empty();
        known && (&self.machine, &self.network) == (&other.machine, &other.network)
    }
}

struct MachineNode<'a> {
    number: u32,
    quarters: &'a Quarters,
    pes: usize,
}

/// The nodes, by number, on whose machines the job has more PEs than processors; `nodes` says where each lives and how
/// many PEs it has.
pub(crate) fn crowded(nodes: &[(&Quarters, usize)]) -> Vec<u32> {
    let mut machines: BTreeMap<&str, Vec<MachineNode<'_>>> = BTreeMap::new();
    for (number, &(quarters, pes)) in (0..).zip(nodes) {
        if !quarters.machine.is_empty() {
            machines.entry(&quarters.machine).or_default().push(MachineNode { number, quarters, pes });
        }
    }
    let crowded = machines.values().filter(|nodes| is_crowded(nodes));
    let mut numbers: Vec<u32> = crowded.flatten().map(|node| node.number).collect();
    numbers.sort_unstable();
    numbers
}

/// Whether the nodes of a machine have more PEs than processors, or than processors' worth of time. Those with one network stack are taken
/// to share a quota, because `oshrun --nodes` gives them one; containers with a network stack each have a quota each, too.
fn is_crowded(nodes: &[MachineNode<'_>]) -> bool {
    let mut processors: BTreeSet<u32> = BTreeSet::new();
    let mut containers: BTreeMap<&str, (BTreeSet<u32>, Option<usize>)> = BTreeMap::new();
    for Quarters { network, processors: of_node, quota, .. } in nodes.iter().map(|node| node.quarters) {
        let (of_container, least) = containers.entry(network).or_default();
        processors.extend(of_node);
        of_container.extend(of_node);
        *least = least.iter().chain(quota).min().copied();
    }
    let worth = containers.values().map(|(of_container, quota)| of_container.len().min(quota.unwrap_or(usize::MAX)));
    let pes: usize = nodes.iter().map(|node| node.pes).sum();
    pes > processors.len().min(worth.sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quarters(machine: &str, processors: &[u32], quota: Option<usize>) -> Quarters {
        Quarters { machine: machine.into(), network: "net:[1]".into(), processors: processors.into(), quota }
    }

    fn crowded_of(nodes: &[(Quarters, usize)]) -> Vec<u32> {
        crowded(&nodes.iter().map(|(quarters, pes)| (quarters, *pes)).collect::<Vec<_>>())
    }

    #[test]
    fn pes_of_all_nodes_on_a_machine_count() {
        let both = |machine: &str| quarters(machine, &[0, 1], None);
        assert_eq!(crowded_of(&[(both("a"), 2), (both("a"), 2)]), [0, 1]);
        assert_eq!(crowded_of(&[(both("a"), 1), (both("a"), 1)]), [0; 0]);
        assert_eq!(crowded_of(&[(both("a"), 2), (both("b"), 2)]), [0; 0]);
        assert_eq!(crowded_of(&[(both("b"), 1), (both("a"), 3), (both("b"), 1), (both(""), 9), (both(""), 9)]), [1]);
    }

    #[test]
    fn loopback_leads_to_the_same_network_stack_of_the_same_machine() {
        let here = quarters("a", &[0], None);
        assert!(here.is_one_host(&quarters("a", &[1], Some(2))));
        assert!(!here.is_one_host(&quarters("b", &[0], None)));
        assert!(!here.is_one_host(&Quarters { network: "net:[2]".into(), ..here.clone() }));
        let unknown = Quarters { network: String::new(), ..here };
        assert!(!unknown.is_one_host(&unknown));
    }

    #[test]
    fn bound_pes_have_the_processors_of_all_and_a_quota_is_shared() {
        let one = |cpu: u32, quota| quarters("a", &[cpu], quota);
        assert_eq!(crowded_of(&[(one(0, None), 1), (one(1, None), 1)]), [0; 0]);
        assert_eq!(crowded_of(&[(one(0, None), 1), (one(0, None), 1)]), [0, 1]);
        assert_eq!(crowded_of(&[(one(0, Some(1)), 1), (one(1, Some(1)), 1)]), [0, 1]);
        let limited = || quarters("a", &[0, 1, 2, 3, 4, 5, 6, 7], Some(2));
        assert_eq!(crowded_of(&[(limited(), 1), (limited(), 2)]), [0, 1]);
    }

    /// Two pods of Kubernetes with as many processors as PEs, as the book advises.
    #[test]
    fn containers_on_one_machine_have_a_quota_each() {
        let pod = |network: &str, processors: &[u32]| Quarters {
            network: network.into(),
            ..quarters("a", processors, Some(4))
        };
        let all: Vec<u32> = (0..64).collect();
        for (first, second) in [(&all[..], &all[..]), (&all[..4], &all[4..8])] {
            let pods = |pes| crowded_of(&[(pod("net:[1]", first), pes), (pod("net:[2]", second), pes)]);
            assert_eq!((pods(4), pods(5)), (vec![], vec![0, 1]));
        }
        let overlapping = [(pod("net:[1]", &all[..4]), 4), (pod("net:[2]", &all[..4]), 4)];
        assert_eq!(crowded_of(&overlapping), [0, 1]);
    }
}
