//! The model of a node: its processors and what they share, its memory, its network cards.

use std::collections::{BTreeMap, BTreeSet};

/// A node, however it was found. Equal machines give equal values, whichever loader has looked.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Node {
    /// All processors that are switched on, in the machine's order: package, NUMA node, L3, core, thread.
    pub processors: Vec<Processor>,
    /// The NUMA nodes, by the system's number. There is at least one.
    pub memories: Vec<NumaMemory>,
    /// The network cards, by name.
    pub nics: Vec<Nic>,
    /// Distances between NUMA nodes as the firmware has them: 10 is local. A row per place in `memories`.
    distances: Vec<u16>,
}

/// One hardware thread. Cores, L3s and packages are numbered in the machine's order, from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Processor {
    /// The system's number.
    pub cpu: u32,
    /// The core it is a thread of.
    pub core: u32,
    /// The last level of cache that it uses; its package where the machine tells of none.
    pub l3: u32,
    /// Its place among the node's memories.
    pub numa: u32,
    /// Its package.
    pub package: u32,
}

/// A NUMA node's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct NumaMemory {
    /// The system's number of the NUMA node.
    pub number: u32,
    /// Its size; 0 if the machine does not tell.
    pub bytes: u64,
}

/// A network card.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Nic {
    /// The device that fabric libraries know (`mlx5_0`, `cxi0`), or else the interface (`eth0`).
    pub name: String,
    /// Whether `name` is a device of a fabric.
    pub fabric: bool,
    /// Its interfaces of the TCP/IP stack.
    pub interfaces: Vec<String>,
    /// Where it is plugged in, as `lspci -D` writes it.
    pub bus: String,
    /// The places (in [`Node::memories`]) of the NUMA nodes it hangs at; none where the machine does not tell.
    pub near: Vec<u32>,
    /// Whether its link is up, as far as that is known.
    pub up: bool,
}

/// The findings of a loader; [`Node::assemble`] puts them in order.
#[derive(Clone, Default, Debug)]
pub struct LoaderFindings {
    /// The processors.
    pub processors: Vec<FoundProcessor>,
    /// The NUMA nodes.
    pub memories: Vec<FoundMemory>,
    /// Interfaces and fabric devices; those of one card have the same bus address.
    pub devices: Vec<FoundDevice>,
    /// Distances between the memories in the order given; empty if unknown.
    pub distances: Vec<u16>,
}

/// A processor; equal numbers of `core`, `l3` and `package` mean the same thing, whatever they are.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "as in Processor")]
pub struct FoundProcessor {
    pub cpu: u32,
    pub core: u64,
    pub l3: Option<u64>,
    pub package: u64,
}

/// A NUMA node.
#[derive(Clone, Debug)]
pub struct FoundMemory {
    /// The system's number.
    pub number: u32,
    /// Its processors.
    pub cpus: Vec<u32>,
    /// Its size.
    pub bytes: u64,
}

/// An interface of the TCP/IP stack, or a device that fabric libraries know.
#[derive(Clone, Debug)]
pub struct FoundDevice {
    /// Its name.
    pub name: String,
    /// Whether it is a device of a fabric.
    pub fabric: bool,
    /// Where its card is plugged in.
    pub bus: String,
    /// The system's numbers of the NUMA nodes at which that is.
    pub near: Vec<u32>,
    /// Whether its link is up, where the machine tells.
    pub up: Option<bool>,
}

/// The distance that firmware gives to local memory.
const LOCAL: u16 = 10;
/// The distance to remote memory where firmware names none.
const REMOTE: u16 = 20;

impl Node {
    /// Puts what was found in order and numbers it. `None` if there is no processor.
    pub fn assemble(found: LoaderFindings) -> Option<Node> {
        let LoaderFindings { processors, mut memories, devices, distances } = found;
        if processors.is_empty() {
            return None;
        }
        if memories.is_empty() {
            let cpus = processors.iter().map(|processor| processor.cpu).collect();
            memories.push(FoundMemory { number: 0, cpus, bytes: 0 });
        }
        let count = memories.len();
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|&place| memories[place].number);
        let told = distances.len() == count * count;
        let distance = |from: usize, to: usize| match told {
            true => distances[from * count + to],
            false if from == to => LOCAL,
            false => REMOTE,
        };
        let distances = order.iter().flat_map(|&from| order.iter().map(move |&to| (from, to)));
        let distances = distances.map(|(from, to)| distance(from, to)).collect();
        let memories: Vec<FoundMemory> = order.iter().map(|&place| memories[place].clone()).collect();

        let numa = |cpu: u32| memories.iter().position(|memory| memory.cpus.contains(&cpu)).unwrap_or(0) as u32;
        let rows: Vec<[u64; 4]> = processors
            .iter()
            .map(|p| [p.package, numa(p.cpu).into(), p.l3.unwrap_or(p.package << 32 | u64::from(u32::MAX)), p.core])
            .collect();
        // Everything is sorted by the lowest processor in it, which is what makes two loaders agree.
        let lowest: [BTreeMap<u64, u32>; 4] = std::array::from_fn(|column| {
            let mut lowest = BTreeMap::new();
            for (row, processor) in rows.iter().zip(&processors) {
                let cpu = lowest.entry(row[column]).or_insert(processor.cpu);
                *cpu = processor.cpu.min(*cpu);
            }
            lowest
        });
        let mut sorted: Vec<([u32; 4], u32, u32)> = rows
            .iter()
            .zip(&processors)
            .map(|(row, p)| (std::array::from_fn(|column| lowest[column][&row[column]]), p.cpu, row[1] as u32))
            .collect();
        sorted.sort_unstable();
        let mut numbers: [BTreeMap<u32, u32>; 4] = Default::default();
        let processors = sorted
            .into_iter()
            .map(|(keys, cpu, numa)| {
                let mut number = |column: usize| {
                    let next = numbers[column].len() as u32;
                    *numbers[column].entry(keys[column]).or_insert(next)
                };
                Processor { cpu, core: number(3), l3: number(2), numa, package: number(0) }
            })
            .collect();

        // A device at every NUMA node with processors is near none in particular, unless there is only one.
        let homes: Vec<u32> = places(&memories, |memory| !memory.cpus.is_empty());
        let near = |numbers: &[u32]| match places(&memories, |memory| numbers.contains(&memory.number)) {
            _ if homes.len() == 1 => homes.clone(),
            near if homes.iter().all(|home| near.contains(home)) => Vec::new(),
            near => near.into_iter().filter(|place| homes.contains(place)).collect(),
        };
        let nics = cards(devices, near);
        let memories =
            memories.iter().map(|memory| NumaMemory { number: memory.number, bytes: memory.bytes }).collect();
        Some(Node { processors, memories, nics, distances })
    }

    /// The firmware's distance between two NUMA nodes.
    pub fn distance(&self, from: u32, to: u32) -> u16 {
        self.distances[from as usize * self.memories.len() + to as usize]
    }

    /// How many steps away a NUMA node is: 0 for the own one, 1 for the nearest others, and so on.
    pub fn hops(&self, from: u32, to: u32) -> u32 {
        let here = self.distance(from, to);
        let all = (0..self.memories.len() as u32).map(|other| self.distance(from, other));
        let nearer: BTreeSet<u16> = all.filter(|&distance| distance < here).collect();
        if from == to { 0 } else { nearer.len().max(1) as u32 }
    }

    /// The processor with the system's number.
    pub fn processor(&self, cpu: u32) -> Option<&Processor> {
        self.processors.iter().find(|processor| processor.cpu == cpu)
    }

    /// The one thing that all of these processors have in common, by a property of processors; `None` if they differ,
    /// or if none of them is of this node.
    pub fn shared(&self, cpus: &[u32], property: impl Fn(&Processor) -> u32) -> Option<u32> {
        let mut values = cpus.iter().filter_map(|&cpu| self.processor(cpu)).map(property);
        let first = values.next()?;
        values.all(|value| value == first).then_some(first)
    }

    /// How many different values a property of the processors has.
    pub fn count(&self, property: impl Fn(&Processor) -> u32) -> usize {
        self.processors.iter().map(property).collect::<BTreeSet<u32>>().len()
    }

    /// One line: how much there is of everything.
    pub fn describe(&self) -> String {
        let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let parts = [
            counted(self.count(|p| p.package), "package"),
            counted(self.memories.len(), "NUMA node"),
            counted(self.count(|p| p.l3), "L3"),
            counted(self.count(|p| p.core), "core"),
            counted(self.processors.len(), "processor"),
        ];
        parts.join(", ")
    }
}

impl Nic {
    /// The name and where it is: `mlx5_0 (NUMA 1)`.
    pub fn describe(&self, node: &Node) -> String {
        let numbers: Vec<u32> = self.near.iter().map(|&place| node.memories[place as usize].number).collect();
        let place = if numbers.is_empty() {
            "no NUMA node known".into()
        } else {
            format!("NUMA {}", crate::cpulist::written(&numbers))
        };
        format!("{} ({place}{})", self.name, if self.up { "" } else { ", down" })
    }
}

/// The places of the memories that are meant.
fn places(memories: &[FoundMemory], meant: impl Fn(&FoundMemory) -> bool) -> Vec<u32> {
    let places = memories.iter().zip(0..).filter(|(memory, _)| meant(memory));
    places.map(|(_, place)| place).collect()
}

/// Cards from devices: one for each fabric device, with the interfaces of the same card; one for each other interface.
fn cards(devices: Vec<FoundDevice>, near: impl Fn(&[u32]) -> Vec<u32>) -> Vec<Nic> {
    let (fabrics, mut plain): (Vec<_>, Vec<_>) = devices.into_iter().partition(|device| device.fabric);
    plain.sort_by(|one, other| natural(&one.name).cmp(&natural(&other.name)));
    let nic = |device: &FoundDevice| {
        let on_card =
            || plain.iter().filter(|other| other.bus == device.bus && (device.fabric || other.name == device.name));
        // A device that does not tell is up if one of its interfaces is, or if it has none.
        let all_down = || on_card().all(|other| other.up == Some(false));
        Nic {
            name: device.name.clone(),
            fabric: device.fabric,
            interfaces: on_card().map(|other| other.name.clone()).collect(),
            bus: device.bus.clone(),
            near: near(&device.near),
            up: device.up.unwrap_or_else(|| on_card().next().is_none() || !all_down()),
        }
    };
    let others = plain.iter().filter(|device| !fabrics.iter().any(|fabric| fabric.bus == device.bus));
    let mut nics: Vec<Nic> = fabrics.iter().chain(others).map(nic).collect();
    nics.sort_by(|one, other| natural(&one.name).cmp(&natural(&other.name)));
    nics.dedup_by(|one, other| one.name == other.name);
    nics
}

/// A key under which `cxi10` comes after `cxi9`, and `mlx5_10` after `mlx5_2`: texts and the numbers that follow them.
pub(crate) fn natural(name: &str) -> Vec<(&str, Option<u64>)> {
    let mut rest = name;
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let (text, numbered) = rest.split_at(rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len()));
        let end = numbered.find(|c: char| !c.is_ascii_digit()).unwrap_or(numbered.len());
        parts.push((text, numbered[..end].parse().ok()));
        rest = &numbered[end..];
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two packages of two cores with two threads, numbered as Linux does: first threads first.
    fn found() -> LoaderFindings {
        let processors = (0..8).map(|cpu| FoundProcessor {
            cpu,
            core: u64::from(cpu % 4) + 100,
            l3: Some(7 + u64::from(cpu % 4 / 2)),
            package: u64::from(cpu % 4 / 2),
        });
        let memory = |number, cpus: &[u32]| FoundMemory { number, cpus: cpus.into(), bytes: 1 << 30 };
        LoaderFindings {
            processors: processors.rev().collect(),
            memories: vec![memory(1, &[2, 3, 6, 7]), memory(0, &[0, 1, 4, 5])],
            devices: Vec::new(),
            distances: vec![10, 31, 21, 10],
        }
    }

    #[test]
    fn the_order_is_the_machines() {
        let node = Node::assemble(found()).unwrap();
        let cpus: Vec<u32> = node.processors.iter().map(|processor| processor.cpu).collect();
        assert_eq!(cpus, [0, 4, 1, 5, 2, 6, 3, 7]);
        assert_eq!(node.processor(6), Some(&Processor { cpu: 6, core: 2, l3: 1, numa: 1, package: 1 }));
        // Memory 0 came second: rows and columns have moved with it.
        assert_eq!([node.distance(0, 0), node.distance(0, 1), node.distance(1, 0)], [10, 21, 31]);
        assert_eq!(node.describe(), "2 packages, 2 NUMA nodes, 2 L3s, 4 cores, 8 processors");
        assert_eq!(node.shared(&[2, 7], |p| p.numa), Some(1));
        assert_eq!(node.shared(&[1, 2], |p| p.numa), None);
        assert_eq!(node.shared(&[99], |p| p.numa), None);
    }

    #[test]
    fn without_numa_and_l3_there_is_one_of_each() {
        let processors = found().processors.into_iter().map(|p| FoundProcessor { l3: None, package: 3, ..p });
        let node =
            Node::assemble(LoaderFindings { processors: processors.collect(), ..LoaderFindings::default() }).unwrap();
        assert_eq!(node.describe(), "1 package, 1 NUMA node, 1 L3, 4 cores, 8 processors");
        assert!(Node::assemble(LoaderFindings::default()).is_none());
    }

    #[test]
    fn hops_are_ranks_of_distances() {
        let memory = |number| FoundMemory { number, cpus: vec![number], bytes: 0 };
        let processors = (0..4).map(|cpu| FoundProcessor { cpu, core: cpu.into(), l3: None, package: 0 });
        let distances = vec![10, 12, 21, 21, 12, 10, 21, 21, 21, 21, 10, 12, 21, 21, 12, 10];
        let memories = (0..4).map(memory).collect();
        let node = Node::assemble(LoaderFindings {
            processors: processors.collect(),
            memories,
            devices: Vec::new(),
            distances,
        })
        .unwrap();
        assert_eq!([0, 1, 2, 3].map(|to| node.hops(0, to)), [0, 1, 2, 2]);
    }

    #[test]
    fn names_with_numbers_sort_by_number() {
        let mut names = ["mlx5_10", "cxi10", "mlx5_2", "cxi9", "eth"];
        names.sort_by(|one, other| natural(one).cmp(&natural(other)));
        assert_eq!(names, ["cxi9", "cxi10", "eth", "mlx5_2", "mlx5_10"]);
    }
}
