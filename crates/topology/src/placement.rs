//! Which processors, which NUMA node and which groups PEs get. Pure functions: the same node gives the same places.

pub use oxshmem_base::knobs::Bind;

use crate::node::{Node, Processor};

/// In which order PEs go over the node.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Map {
    /// Consecutive PEs are neighbours, and all are spread over the whole node.
    #[default]
    Block,
    /// Consecutive PEs go to different NUMA nodes, round and round.
    Numa,
}

/// Where one PE is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PePlace {
    /// The processors it may run on, in the machine's order.
    pub cpus: Vec<u32>,
    /// The place (in [`Node::memories`]) of the NUMA node that all of them belong to, if it is one.
    pub numa: Option<u32>,
    /// The L3 that all of them share, if it is one.
    pub l3: Option<u32>,
    /// The package that all of them belong to, if it is one.
    pub package: Option<u32>,
    /// The place (in [`Node::nics`]) of the card it uses.
    pub nic: Option<u32>,
    /// How many NUMA nodes away the card is; see [`Node::hops`].
    pub hops: u32,
}

/// The processors of each of `pes` PEs that share those allowed.
///
/// PEs are spread evenly: as long as there are enough cores each has one core of its own, as far from the others as the
/// number of PEs lets it be; beyond that they take turns around the cores. Processors that the node does not know, and
/// an empty list, bind to nothing.
pub fn processors(node: &Node, allowed: &[u32], pes: usize, bind: Bind, map: Map) -> Vec<Vec<u32>> {
    let usable: Vec<&Processor> = node.processors.iter().filter(|p| allowed.contains(&p.cpu)).collect();
    let cores = distinct(&usable, |p| p.core);
    if bind == Bind::None || cores.is_empty() {
        let all: Vec<u32> = usable.iter().map(|processor| processor.cpu).collect();
        return vec![if all.is_empty() { allowed.to_vec() } else { all }; pes];
    }
    let given: Vec<u32> = match map {
        Map::Block => (0..pes).map(|pe| cores[spread(pe, pes, cores.len())]).collect(),
        Map::Numa => dealt(&usable, pes),
    };
    let with = |property: &dyn Fn(&Processor) -> u32, value: u32| -> Vec<u32> {
        usable.iter().filter(|p| property(p) == value).map(|p| p.cpu).collect()
    };
    let bound = |core: u32| {
        let numa = usable.iter().find(|p| p.core == core).map_or(0, |p| p.numa);
        match bind {
            Bind::Numa => with(&|p| p.numa, numa),
            _ => with(&|p| p.core, core),
        }
    };
    given.into_iter().map(bound).collect()
}

/// The cores of PEs that go to the NUMA nodes in turn. A NUMA node whose cores all have a PE is passed over until all
/// other cores have one too.
fn dealt(usable: &[&Processor], pes: usize) -> Vec<u32> {
    let of_numa = |numa: u32| -> Vec<u32> {
        let here: Vec<&Processor> = usable.iter().copied().filter(|p| p.numa == numa).collect();
        distinct(&here, |p| p.core)
    };
    let numas: Vec<Vec<u32>> = distinct(usable, |p| p.numa).into_iter().map(of_numa).collect();
    let most = numas.iter().map(Vec::len).max().unwrap_or_default();
    // The NUMA node of each PE, and its number among the guests there.
    let mut guests = vec![0; numas.len()];
    let turns = (0..most).flat_map(|turn| numas.iter().zip(0..).filter(move |(cores, _)| turn < cores.len()));
    let one_pass: Vec<usize> = turns.map(|(_, numa)| numa).collect();
    let seats: Vec<(usize, usize)> = one_pass
        .iter()
        .cycle()
        .take(pes)
        .map(|&numa| {
            guests[numa] += 1;
            (numa, guests[numa] - 1)
        })
        .collect();
    seats.into_iter().map(|(numa, guest)| numas[numa][spread(guest, guests[numa], numas[numa].len())]).collect()
}

/// The place of one of `guests` among `places`.
fn spread(guest: usize, guests: usize, places: usize) -> usize {
    if guests <= places { guest * places / guests } else { guest % places }
}

/// Values of a property, in the machine's order.
pub(crate) fn distinct(processors: &[&Processor], property: impl Fn(&Processor) -> u32) -> Vec<u32> {
    let mut values: Vec<u32> = processors.iter().map(|processor| property(processor)).collect();
    // Cores, L3s and packages are numbered in the machine's order; NUMA nodes by the system.
    let mut seen = Vec::new();
    values.retain(|value| !seen.contains(value) && (seen.push(*value), true).1);
    values
}

/// How many cores the allowed processors belong to.
pub fn cores(node: &Node, allowed: &[u32]) -> usize {
    let usable: Vec<&Processor> = node.processors.iter().filter(|p| allowed.contains(&p.cpu)).collect();
    distinct(&usable, |p| p.core).len()
}

/// Where PEs with these processors are, without cards.
pub fn places(node: &Node, cpus: &[Vec<u32>]) -> Vec<PePlace> {
    let place = |cpus: &Vec<u32>| PePlace {
        cpus: cpus.clone(),
        numa: node.shared(cpus, |p| p.numa),
        l3: node.shared(cpus, |p| p.l3),
        package: node.shared(cpus, |p| p.package),
        nic: None,
        hops: 0,
    };
    cpus.iter().map(place).collect()
}

/// Which PEs of a node are close: those with equal numbers share what the name says. Numbers are dense and in the order
/// of the PEs. Where a PE may run on several, the groups are not known, and all PEs are one group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Groups {
    /// The last level of cache.
    pub l3: Vec<u32>,
    /// The NUMA node.
    pub numa: Vec<u32>,
    /// The package.
    pub package: Vec<u32>,
}

/// The groups of PEs at these places.
pub fn groups(places: &[PePlace]) -> Groups {
    let numbered = |of: fn(&PePlace) -> Option<u32>| {
        let Some(values) = places.iter().map(of).collect::<Option<Vec<u32>>>() else { return vec![0; places.len()] };
        let mut seen: Vec<u32> = Vec::new();
        let mut number = |value: u32| {
            seen.iter().position(|known| *known == value).unwrap_or_else(|| {
                seen.push(value);
                seen.len() - 1
            }) as u32
        };
        values.into_iter().map(&mut number).collect()
    };
    Groups {
        l3: numbered(|place| place.l3),
        numa: numbered(|place| place.numa),
        package: numbered(|place| place.package),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::{FoundMemory, FoundProcessor, LoaderFindings};

    /// Two NUMA nodes of two cores with two threads: core c has the processors c and c + 4.
    fn node() -> Node {
        let processors = (0..8).map(|cpu| FoundProcessor {
            cpu,
            core: u64::from(cpu % 4),
            l3: Some(u64::from(cpu % 4 / 2)),
            package: u64::from(cpu % 4 / 2),
        });
        let memory = |number, cpus: &[u32]| FoundMemory { number, cpus: cpus.into(), bytes: 0 };
        let memories = vec![memory(0, &[0, 1, 4, 5]), memory(1, &[2, 3, 6, 7])];
        Node::assemble(LoaderFindings { processors: processors.collect(), memories, ..LoaderFindings::default() })
            .unwrap()
    }

    fn all() -> Vec<u32> {
        (0..8).collect()
    }

    fn first_processors(pes: usize, bind: Bind, map: Map) -> Vec<u32> {
        processors(&node(), &all(), pes, bind, map).iter().map(|cpus| cpus[0]).collect()
    }

    #[test]
    fn pes_are_spread_over_the_cores() {
        let table = [
            (1, Map::Block, vec![0]),
            (2, Map::Block, vec![0, 2]),
            (3, Map::Block, vec![0, 1, 2]),
            (4, Map::Block, vec![0, 1, 2, 3]),
            (6, Map::Block, vec![0, 1, 2, 3, 0, 1]),
            (2, Map::Numa, vec![0, 2]),
            (3, Map::Numa, vec![0, 2, 1]),
            (4, Map::Numa, vec![0, 2, 1, 3]),
            (7, Map::Numa, vec![0, 2, 1, 3, 0, 2, 1]),
        ];
        for (pes, map, cores) in table {
            assert_eq!(first_processors(pes, Bind::Core, map), cores, "{pes} PEs, {map:?}");
        }
        assert_eq!(processors(&node(), &all(), 2, Bind::Core, Map::Block), [vec![0, 4], vec![2, 6]]);
        assert_eq!(processors(&node(), &all(), 2, Bind::Numa, Map::Block), [vec![0, 4, 1, 5], vec![2, 6, 3, 7]]);
    }

    #[test]
    fn numa_nodes_of_different_sizes_are_filled_before_a_core_is_shared() {
        let given = |pes| -> Vec<u32> {
            // One core of NUMA node 0, two of NUMA node 1.
            processors(&node(), &[1, 2, 3], pes, Bind::Core, Map::Numa).iter().map(|cpus| cpus[0]).collect()
        };
        assert_eq!(given(3), [1, 2, 3]);
        assert_eq!(given(4), [1, 2, 3, 1]);
        assert_eq!(given(6), [1, 2, 3, 1, 2, 3]);
    }

    #[test]
    fn only_allowed_processors_are_given() {
        assert_eq!(processors(&node(), &[3, 5, 6], 2, Bind::Core, Map::Block), [vec![5], vec![6]]);
        assert_eq!(processors(&node(), &[3, 5, 6], 2, Bind::Numa, Map::Numa), [vec![5], vec![6, 3]]);
        assert_eq!(processors(&node(), &[3, 5, 6], 1, Bind::None, Map::Block), [vec![5, 6, 3]]);
        // Of another machine: nothing is known about it, nothing is done.
        assert_eq!(processors(&node(), &[77], 2, Bind::Core, Map::Block), [vec![77], vec![77]]);
        assert_eq!(cores(&node(), &[3, 7, 5]), 2);
    }

    #[test]
    fn groups_are_those_that_are_certain() {
        let of = |pes, bind| groups(&places(&node(), &processors(&node(), &all(), pes, bind, Map::Numa)));
        assert_eq!(
            of(4, Bind::Core),
            Groups { l3: vec![0, 1, 0, 1], numa: vec![0, 1, 0, 1], package: vec![0, 1, 0, 1] }
        );
        assert_eq!(of(3, Bind::None), Groups { l3: vec![0; 3], numa: vec![0; 3], package: vec![0; 3] });
    }

    proptest::proptest! {
        #[test]
        fn nobody_leaves_the_allowed_processors_and_no_core_is_left_idle(
            allowed in proptest::collection::btree_set(0_u32..8, 1..9), pes in 1_usize..20, numa: bool, whole: bool,
        ) {
            let allowed: Vec<u32> = allowed.into_iter().collect();
            let (bind, map) = (if whole { Bind::Numa } else { Bind::Core }, if numa { Map::Numa } else { Map::Block });
            let given = processors(&node(), &allowed, pes, bind, map);
            assert!(given.iter().all(|cpus| !cpus.is_empty() && cpus.iter().all(|cpu| allowed.contains(cpu))));
            let mut load = std::collections::BTreeMap::new();
            given.iter().for_each(|cpus| *load.entry(cpus.clone()).or_insert(0) += 1);
            if bind == Bind::Core {
                let cores = cores(&node(), &allowed);
                assert_eq!(load.len(), cores.min(pes));
                assert!(load.values().max().unwrap() - load.values().min().unwrap() <= 1);
            }
        }
    }
}
