//! The protocols that know no levels and those for many cores side by side, on one machine, and what the library chooses.

use super::{ModelledCall, NodeMachine, NodeOutcome, Stuck, simulate};
use crate::algorithm::{Collective, OperatorLaw};
use crate::node::chain::PieceChain;
use crate::node::counted::Counted;
use crate::node::dissemination::LineDissemination;
use crate::node::relay::Relay;
use crate::node::slices::Slices;
use crate::node::tree::LineTree;
use crate::node::{Load, PIECE, Protocol, Shape, WIDTH, levels_pay};
use crate::simulate::{ChartLine, chart};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Write;

/// The subject of a simulation.
#[derive(Clone, Copy, Debug)]
pub struct NodeQuestion {
    /// A synchronisation, a reduction or a broadcast.
    pub collective: Collective,
    /// Bytes of the array.
    pub bytes: u64,
}

/// One protocol at all sizes.
#[derive(Clone, Debug)]
pub struct NodeEntry {
    /// The protocol.
    pub name: &'static str,
    /// By members.
    pub outcomes: Vec<(u32, Result<NodeOutcome, Stuck>)>,
}

/// Bytes of an element in every report.
const ELEMENT: u64 = 8;
/// Bytes that travel in a line.
const INLINE: u64 = 56;

/// A name, a protocol, and whether it knows the levels of the machine.
type Row = (&'static str, Box<dyn Protocol>, bool);

impl NodeQuestion {
    /// Whether the library lets a team of this shape go through its levels.
    fn takes_levels(&self, shape: &Shape, caches: u32) -> bool {
        let long = |law| PieceChain { in_order: law == OperatorLaw::FixedTree }.pays(shape, self.bytes);
        match self.collective {
            _ if !levels_pay(shape.size(), caches) => false,
            Collective::Reduce(law) if self.bytes > INLINE => long(law),
            _ => true,
        }
    }

    /// The protocols that answer it, first the one of small teams, last the one through levels; `None` where the node has none as data.
    fn rows(&self) -> Option<Vec<Row>> {
        let row = |name, protocol: Box<dyn Protocol>, levels| (name, protocol, levels);
        let short = self.bytes <= INLINE;
        Some(match self.collective {
            Collective::Sync => vec![
                row("all read (flat)", Box::new(LineTree { load: Load::Nothing }), false),
                row("counted (flat)", Box::new(Counted { payload: false }), false),
                row("dissemination", Box::new(LineDissemination { payload: false }), false),
                row("tree", Box::new(LineTree { load: Load::Nothing }), true),
            ],
            Collective::Reduce(law) if short => {
                let mut rows = vec![
                    row("all read (flat)", Box::new(LineTree { load: Load::Operands }), false),
                    row("counted (flat)", Box::new(Counted { payload: true }), false),
                ];
                if law == OperatorLaw::Idempotent {
                    rows.push(row("dissemination", Box::new(LineDissemination { payload: true }), false));
                }
                rows.push(row("tree", Box::new(LineTree { load: Load::of(law) }), true));
                rows
            }
            Collective::Reduce(law) => vec![
                row("slices (flat)", Box::new(Slices), false),
                row("chain", Box::new(PieceChain { in_order: law == OperatorLaw::FixedTree }), true),
            ],
            Collective::Broadcast => {
                vec![row("from the root (flat)", Box::new(Relay), false), row("relay", Box::new(Relay), true)]
            }
            _ => return None,
        })
    }
}

/// The shape of `size` members of a machine.
fn shape(machine: &NodeMachine, size: u32) -> Shape {
    let seats = machine.seats(size);
    let domain = |which: usize| -> Vec<u32> { seats.iter().map(|&seat| machine.domains(seat)[which]).collect() };
    let domains = [domain(0), domain(1), domain(2)];
    Shape::nested(size, &domains.each_ref().map(|domain| &domain[..]), WIDTH)
}

/// Simulates every protocol at every size; `None` if the node has no protocol for the collective as data.
pub fn compare(question: &NodeQuestion, sizes: &[u32], machine: &NodeMachine) -> Option<Vec<NodeEntry>> {
    let entry = |(name, protocol, levels): Row| {
        let run = |&size: &u32| {
            let shape = if levels { shape(machine, size) } else { Shape::flat(size) };
            // Without levels all members fetch all of it at once.
            let piece = if levels { PIECE } else { question.bytes.max(ELEMENT) };
            let call = ModelledCall { bytes: question.bytes, element: ELEMENT, root: 0, piece };
            (size, simulate(&*protocol, &shape, machine, &call))
        };
        NodeEntry { name, outcomes: sizes.iter().map(run).collect() }
    };
    let mut entries: Vec<NodeEntry> = question.rows()?.into_iter().map(entry).collect();
    let (flat, leveled) = (&entries[0], &entries[entries.len() - 1]);
    let chosen = |(index, size): (usize, &u32)| {
        let mut caches: Vec<u32> = machine.seats(*size).iter().map(|&seat| machine.domains(seat)[0]).collect();
        caches.dedup();
        let through = question.takes_levels(&shape(machine, *size), caches.len() as u32);
        let from = if through { leveled } else { flat };
        from.outcomes[index]
    };
    let outcomes = sizes.iter().enumerate().map(chosen).collect();
    entries.push(NodeEntry { name: "chosen", outcomes });
    Some(entries)
}

fn head(question: &NodeQuestion, machine: &NodeMachine) -> String {
    format!("simulated, not measured: {} bytes, members arrive together\n{}", question.bytes, machine.describe())
}

/// Time, transfers and bytes as a table.
pub fn table(entries: &[NodeEntry], question: &NodeQuestion, machine: &NodeMachine) -> String {
    let mut text = head(question, machine);
    let _ = write!(
        text,
        "\n\n{:<26}{:>5}{:>18}{:>11}{:>14}{:>14}{:>14}\n",
        "protocol", "PEs", "time (simulated)", "transfers", "KB in NUMA", "KB in socket", "KB across"
    );
    for entry in entries {
        for (size, outcome) in &entry.outcomes {
            let _ = write!(text, "{:<26}{size:>5}", entry.name);
            let _ = match outcome {
                Ok(NodeOutcome { time, path, bytes: [_, _, numa, socket, node] }) => {
                    let kb = |bytes: u64| bytes as f64 / 1024.0;
                    let us = time / 1000.0;
                    writeln!(text, "{us:>15.3} µs{path:>11}{:>14.1}{:>14.1}{:>14.1}", kb(*numa), kb(*socket), kb(*node))
                }
                Err(Stuck) => writeln!(text, "{:>18}", "stuck"),
            };
        }
    }
    text + "\ntransfers: of lines, one after the other, on the way to the last departure; KB: between caches of a NUMA node,\n\
            NUMA nodes of a socket, sockets\n"
}

/// Time over members as an SVG drawing, both axes logarithmic.
pub fn svg(entries: &[NodeEntry], question: &NodeQuestion, machine: &NodeMachine) -> String {
    let series = |entry: &NodeEntry| {
        let points = entry.outcomes.iter().filter_map(|(size, outcome)| Some((*size, outcome.ok()?.time)));
        ChartLine { title: String::from(entry.name), is_dashed: entry.name.contains("flat"), points: points.collect() }
    };
    chart(&head(question, machine), &entries.iter().map(series).collect::<Vec<_>>())
}
