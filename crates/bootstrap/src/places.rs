//! Which PE is on which node, for jobs of any size.

/// The node of every PE. Blocks of PEs on one node take one entry, however many they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeMap {
    /// The first PE of each run of PEs on one node, and the node.
    runs: Vec<(u32, u32)>,
    /// The lowest PE of each node.
    leaders: Vec<u32>,
    /// How many PEs each node has.
    pes: Vec<usize>,
    size: u32,
}

impl NodeMap {
    /// From the node number of every PE. The numbers may have gaps; the nodes are numbered anew, in their order.
    pub fn new(nodes: &[u32]) -> NodeMap {
        let mut distinct = nodes.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let (mut leaders, mut pes) = (vec![u32::MAX; distinct.len()], vec![0; distinct.len()]);
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for (pe, number) in (0..).zip(nodes) {
            let node = distinct.binary_search(number).expect("the list holds every node") as u32;
            let leader = &mut leaders[node as usize];
            *leader = pe.min(*leader);
            pes[node as usize] += 1;
            if runs.last().is_none_or(|&(_, last)| last != node) {
                runs.push((pe, node));
            }
        }
        NodeMap { runs, leaders, pes, size: nodes.len() as u32 }
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> u32 {
        self.leaders.len() as u32
    }

    /// The node of a PE of the job.
    pub fn node_of(&self, pe: u32) -> u32 {
        assert!(pe < self.size, "PE {pe} of {}", self.size);
        let run = self.runs.partition_point(|&(first, _)| first <= pe) - 1;
        self.runs[run].1
    }

    /// The lowest PE of a node.
    pub fn leader_of(&self, node: u32) -> u32 {
        self.leaders[node as usize]
    }

    /// How many PEs a node has.
    pub fn pes_on(&self, node: u32) -> usize {
        self.pes[node as usize]
    }

    /// How many PEs the nodes before this one have.
    pub fn pes_before(&self, node: u32) -> usize {
        self.pes[..node as usize].iter().sum()
    }

    /// The PEs of a node, ascending. It looks at all runs, of which a job whose PEs are dealt in turn has as many as PEs.
    pub fn members_of(&self, node: u32) -> Vec<u32> {
        let ends = self.runs[1..].iter().map(|&(first, _)| first).chain([self.size]);
        let mine = self.runs.iter().zip(ends).filter(|((_, of), _)| *of == node);
        mine.flat_map(|(&(first, _), end)| first..end).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn blocks_take_one_entry() {
        let nodes: Vec<u32> = (0..100_000).map(|pe| pe / 128).collect();
        let places = NodeMap::new(&nodes);
        assert_eq!((places.runs.len(), places.nodes(), places.leader_of(7)), (782, 782, 7 * 128));
        assert_eq!(places.members_of(781), (781 * 128..100_000).collect::<Vec<_>>());
    }

    proptest! {
        #[test]
        fn every_pe_is_where_it_was_said_to_be(nodes in proptest::collection::vec(0u32..9, 1..60)) {
            let places = NodeMap::new(&nodes);
            for (pe, a) in (0..).zip(&nodes) {
                for (other, b) in (0..).zip(&nodes) {
                    prop_assert_eq!(places.node_of(pe) == places.node_of(other), a == b);
                    prop_assert_eq!(places.node_of(pe) < places.node_of(other), a < b);
                }
                let members = places.members_of(places.node_of(pe));
                prop_assert!(members.contains(&pe) && members.is_sorted());
                prop_assert_eq!(members.len(), places.pes_on(places.node_of(pe)));
                prop_assert_eq!(members[0], places.leader_of(places.node_of(pe)));
            }
        }
    }
}
