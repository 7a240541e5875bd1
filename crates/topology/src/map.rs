//! Where PEs are, as a table.

use crate::cpulist;
use crate::nic;
use crate::node::Node;
use crate::placement::PePlace;

/// A node with its PEs, to be shown.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'n> {
    /// The name of the node.
    pub host: &'n str,
    /// The node.
    pub node: &'n Node,
    /// The source of the description.
    pub source: &'n str,
    /// The number in the job of each PE.
    pub pes: &'n [u32],
    /// Where each of them is.
    pub places: &'n [PePlace],
}

/// The table that `oshrun --display map` prints.
pub fn text(shown: &Shown<'_>) -> String {
    let Shown { host, node, source, pes, places } = shown;
    let mut text = format!("{host}: {} (by {source})\n", node.describe());
    let cards: Vec<String> =
        nic::cards(node).iter().zip(0..).map(|((_, nic), index)| format!("{index} {}", nic.describe(node))).collect();
    if !cards.is_empty() {
        text += &format!("cards: {}\n", cards.join(", "));
    }
    let mut rows = vec![["PE", "processors", "NUMA", "L3", "card"].map(String::from)];
    rows.extend(pes.iter().zip(*places).map(|(pe, place)| row(node, *pe, place)));
    let widths: [usize; 5] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or_default());
    for [pe, cells @ ..] in &rows {
        let mut line = format!("{pe:>width$}", width = widths[0]);
        for (cell, width) in cells.iter().zip(&widths[1..]) {
            line += &format!("  {cell:<width$}");
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// PEs that have the same NUMA node and the same card.
struct SharedSpot {
    words: String,
    pes: Vec<u32>,
    /// The processors of each.
    bound: Vec<Option<String>>,
}

/// One line: what the node is, and where its PEs are.
pub fn line(shown: &Shown<'_>) -> String {
    let Shown { host, node, source, pes, places } = shown;
    let words = |place: &PePlace| {
        let numa =
            place.numa.map_or("any NUMA node".into(), |numa| format!("NUMA {}", node.memories[numa as usize].number));
        let card = place.nic.map_or(String::new(), |nic| format!(" with {}", node.nics[nic as usize].name));
        format!("on {numa}{card}")
    };
    let mut spots: Vec<SharedSpot> = Vec::new();
    for (pe, place) in pes.iter().zip(*places) {
        let (words, bound) = (words(place), bound(node, place));
        match spots.iter_mut().find(|known| known.words == words) {
            Some(known) => {
                known.pes.push(*pe);
                known.bound.push(bound);
            }
            None => spots.push(SharedSpot { words, pes: vec![*pe], bound: vec![bound] }),
        }
    }
    let told = spots.iter().map(|SharedSpot { words, pes, bound }| {
        let pe = cpulist::written(pes);
        format!("PE {pe} {words} ({})", together(pes, bound))
    });
    format!("{host}: {} (by {source}); {}", node.describe(), told.collect::<Vec<_>>().join("; "))
}

/// The processors to which a PE is bound, if it may not use all.
fn bound(node: &Node, place: &PePlace) -> Option<String> {
    let cpus = &place.cpus;
    let s = if cpus.len() == 1 { "" } else { "s" };
    (1..node.processors.len()).contains(&cpus.len()).then(|| format!("processor{s} {}", cpulist::written(cpus)))
}

/// To what PEs of one spot are bound: to nothing, to the same processors, or each to others.
fn together(pes: &[u32], bound: &[Option<String>]) -> String {
    let are_alike = bound.iter().all(|one| *one == bound[0]);
    match &bound[0] {
        None if are_alike => "not bound".into(),
        Some(processors) if are_alike => format!("bound to {processors}"),
        _ => {
            let each = pes.iter().zip(bound).map(|(pe, bound)| match bound {
                Some(processors) => format!("PE {pe} bound to {processors}"),
                None => format!("PE {pe} not bound"),
            });
            each.collect::<Vec<_>>().join(", ")
        }
    }
}

fn row(node: &Node, pe: u32, place: &PePlace) -> [String; 5] {
    let known = |number: Option<u32>| number.map_or("any".to_owned(), |number| number.to_string());
    let far = match place.hops {
        0 => String::new(),
        1 => ", 1 hop".to_owned(),
        hops => format!(", {hops} hops"),
    };
    let card = place.nic.map_or("-".to_owned(), |nic| format!("{}{far}", node.nics[nic as usize].name));
    let numa = place.numa.map(|numa| node.memories[numa as usize].number);
    [pe.to_string(), cpulist::written(&place.cpus), known(numa), known(place.l3), card]
}
