//! Model machines: LogGP parameters by distance.

use super::SimulatedPe;
use crate::step::Step;
use alloc::format;
use alloc::string::String;

/// How far apart two PEs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NetworkDistance {
    /// On one node.
    Node = 0,
    /// On one switch.
    Switch = 1,
    /// In one group of switches: a pod, a dragonfly group.
    Group = 2,
    /// Anywhere.
    Global = 3,
}

/// A machine. Times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cluster {
    /// Its name.
    pub name: &'static str,
    /// PEs of a node; PEs are numbered node by node.
    pub pes_per_node: u32,
    /// Nodes of a switch.
    pub nodes_per_switch: u32,
    /// Switches of a group.
    pub switches_per_group: u32,
    /// Processor time of a send or a receive (o).
    pub overhead: f64,
    /// Between two sends of a PE (g).
    pub gap: f64,
    /// By distance (L).
    pub latency: [f64; 4],
    /// Per byte, by distance (G); the taper of the network is in here.
    pub per_byte: [f64; 4],
    /// Per byte copied or reduced.
    pub work: f64,
    /// The time of the stages inside a node when only one PE per node uses the network.
    pub node_stage: f64,
}

impl Cluster {
    /// A fat tree with full bandwidth up to the pod and half of it across pods. The figures are assumptions.
    pub const FAT_TREE: Self = Self {
        name: "fat tree",
        pes_per_node: 64,
        nodes_per_switch: 32,
        switches_per_group: 32,
        overhead: 300.0,
        gap: 60.0,
        latency: [400.0, 1100.0, 1500.0, 2000.0],
        per_byte: [0.05, 0.04, 0.04, 0.08],
        work: 0.05,
        node_stage: 1000.0,
    };

    /// A dragonfly: short ways inside a group, one tapered global hop outside. The figures are assumptions.
    pub const DRAGONFLY: Self = Self {
        name: "dragonfly",
        pes_per_node: 64,
        nodes_per_switch: 16,
        switches_per_group: 32,
        overhead: 300.0,
        gap: 60.0,
        latency: [400.0, 1000.0, 1300.0, 2100.0],
        per_byte: [0.05, 0.04, 0.04, 0.12],
        work: 0.05,
        node_stage: 1000.0,
    };

    /// The machine as the leaders of its nodes see it: one PE per node.
    pub const fn leaders(self) -> Self {
        Self { pes_per_node: 1, ..self }
    }

    /// How far apart two PEs are.
    pub const fn distance(&self, a: u32, b: u32) -> NetworkDistance {
        self.distance_from(self.seat(a), b)
    }

    /// The node, switch and group of a PE.
    pub(super) const fn seat(&self, rank: u32) -> [u32; 3] {
        let node = rank / self.pes_per_node;
        let switch = node / self.nodes_per_switch;
        [node, switch, switch / self.switches_per_group]
    }

    /// The same with the sender's seat at hand.
    #[inline]
    pub(super) const fn distance_from(&self, [node, switch, group]: [u32; 3], to: u32) -> NetworkDistance {
        let [to_node, to_switch, to_group] = self.seat(to);
        if node == to_node {
            NetworkDistance::Node
        } else if switch == to_switch {
            NetworkDistance::Switch
        } else if group == to_group {
            NetworkDistance::Group
        } else {
            NetworkDistance::Global
        }
    }

    /// The widest distance between PEs whose numbers differ by `apart`, around the end.
    pub(super) fn worst(&self, apart: u32, size: u32) -> NetworkDistance {
        let group = self.pes_per_node * self.nodes_per_switch * self.switches_per_group;
        let switch = self.pes_per_node * self.nodes_per_switch;
        let ends = [self.pes_per_node, switch, group].map(|end| end.min(size) - 1);
        let from = |rank: u32| self.distance(rank, ((u64::from(rank) + u64::from(apart)) % u64::from(size)) as u32);
        ends.into_iter().map(from).fold(from(size - 1), NetworkDistance::max)
    }

    /// A PE sends; returns when the message arrives.
    pub(super) fn send(&self, pe: &mut SimulatedPe, distance: NetworkDistance, bytes: u64) -> f64 {
        let wire = bytes as f64 * self.per_byte[distance as usize];
        let start = pe.time.max(pe.adapter);
        pe.time = start + self.overhead;
        pe.adapter = start + self.gap.max(wire);
        start + self.overhead + wire + self.latency[distance as usize]
    }

    /// A PE receives what arrived at `at`.
    pub(super) fn receive(&self, pe: &mut SimulatedPe, at: f64) {
        pe.time = pe.time.max(at) + self.overhead;
    }

    /// A PE computes.
    pub(super) fn work(&self, pe: &mut SimulatedPe, step: &Step, element: u64) {
        let elements = match *step {
            Step::Copy { into, from, len } if into != from => len,
            Step::Reduce { len, terms, .. } => len * u64::from(terms),
            Step::Zero { len, .. } => len,
            _ => 0,
        };
        pe.time += (elements * element) as f64 * self.work;
    }

    /// The parameters, for the head of a report.
    pub fn describe(&self) -> String {
        let Self { name, pes_per_node, nodes_per_switch, switches_per_group, overhead, gap, work, node_stage, .. } =
            self;
        let [l0, l1, l2, l3] = self.latency;
        let [g0, g1, g2, g3] = self.per_byte;
        format!(
            "{name}: {pes_per_node} PEs/node, {nodes_per_switch} nodes/switch, {switches_per_group} switches/group; \
             o {overhead} ns, g {gap} ns, L {l0}/{l1}/{l2}/{l3} ns and G {g0}/{g1}/{g2}/{g3} ns/B by distance \
             (node/switch/group/global), computing {work} ns/B, node stage {node_stage} ns; no contention"
        )
    }
}
