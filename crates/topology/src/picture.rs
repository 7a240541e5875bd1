//! Where PEs are, as a picture: boxes in boxes, from the machine down to its cores, in SVG.
//!
//! A PE stands in the smallest box that it cannot leave, in the colour of the card that it uses.

use std::fmt::Write;

use crate::cpulist;
use crate::map::Shown;
use crate::nic;
use crate::node::{Node, Processor};
use crate::placement::{PePlace, distinct};

/// The picture that `oshrun --display map=svg` prints.
pub fn svg(shown: &Shown<'_>) -> String {
    let machine = PictureBox::machine(shown);
    let (width, height) = machine.size();
    let (full_width, full_height) = (width + 2.0 * MARGIN, height + 2.0 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{full_width}\" height=\"{full_height}\" \
         viewBox=\"0 0 {full_width} {full_height}\" role=\"img\">\n<title>{} {} on {}</title>\n<style>{STYLE}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        shown.pes.len(),
        if shown.pes.len() == 1 { "PE" } else { "PEs" },
        escaped(shown.host)
    );
    machine.draw(&mut svg, MARGIN, MARGIN, width, height);
    svg += "</svg>\n";
    svg
}

/// Pictures of several machines, one below the other, as one.
pub fn together(pictures: &[String]) -> String {
    let length = |picture: &str, name: &str| {
        let value = picture.split_once(&format!(" {name}=\""))?.1.split_once('"')?.0;
        value.parse::<f64>().ok()
    };
    let (mut inner, mut full_width, mut full_height) = (String::new(), 0.0_f64, 0.0);
    for picture in pictures {
        let moved = format!("<svg y=\"{full_height}\" ");
        inner += &picture.replacen("<svg ", &moved, 1);
        full_width = full_width.max(length(picture, "width").unwrap_or_default());
        full_height += length(picture, "height").unwrap_or_default();
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{full_width}\" height=\"{full_height}\" \
         viewBox=\"0 0 {full_width} {full_height}\" role=\"img\">\n{inner}</svg>\n"
    )
}

const STYLE: &str = "text{font-family:system-ui,'Segoe UI',Helvetica,Arial,sans-serif;fill:#1f2933}\
    .title{font-size:12px;font-weight:600}.note{font-size:10px;fill:#52606d}\
    .pe{font-size:10px;font-weight:600;fill:#ffffff;text-anchor:middle}";
const MARGIN: f64 = 12.0;
/// Between a box and what is in it.
const PAD: f64 = 8.0;
/// Between boxes.
const GAP: f64 = 8.0;
const TITLE: f64 = 18.0;
const CHIP: (f64, f64) = (42.0, 16.0);
const CHIP_GAP: f64 = 4.0;
/// Widths of characters are estimated: the picture must not depend on the fonts of the program that draws it.
const TITLE_CHARACTER: f64 = 7.8;
const NOTE_CHARACTER: f64 = 5.6;

/// Colours of cards and the PEs that use them, apart for the colour-blind too; they repeat on nodes with more cards.
const CARDS: [&str; 8] = ["#0b69a3", "#c2410c", "#047857", "#7e3794", "#a16207", "#be185d", "#4d5b6a", "#0e7490"];
/// Of PEs without a card.
const NO_CARD: &str = "#52606d";

/// A box: what it is called, the PEs that stand in it, boxes in it.
#[derive(Default)]
struct PictureBox {
    fill: &'static str,
    edge: &'static str,
    title: String,
    note: String,
    /// Numbers and colours of PEs.
    pes: Vec<(u32, &'static str)>,
    inner: Vec<PictureBox>,
    columns: usize,
    /// Cards, in a row below.
    cards: Vec<PictureBox>,
}

/// The levels of boxes from the outside to the inside.
#[derive(Clone, Copy, PartialEq)]
enum BoxLevel {
    Package,
    Numa,
    L3,
    Core,
}

/// A level, the number of a processor's box there, and the colours of boxes and of their edges.
type LevelRow = (BoxLevel, fn(&Processor) -> u32, &'static str, &'static str);

const LEVELS: [LevelRow; 4] = [
    (BoxLevel::Package, |processor| processor.package, "#eef2f7", "#9aa5b1"),
    (BoxLevel::Numa, |processor| processor.numa, "#e3f0e3", "#8fb58f"),
    (BoxLevel::L3, |processor| processor.l3, "#fdf3dc", "#d9bd7c"),
    (BoxLevel::Core, |processor| processor.core, "#ffffff", "#b8c2cc"),
];

impl PictureBox {
    fn machine(shown: &Shown<'_>) -> PictureBox {
        let node = shown.node;
        let all: Vec<&Processor> = node.processors.iter().collect();
        let mut waiting: Vec<(u32, &PePlace)> = shown.pes.iter().copied().zip(shown.places).collect();
        let inner = inside(node, &all, &LEVELS, &mut waiting);
        let homeless = nic::cards(node).into_iter().filter(|(_, nic)| nic.near.len() != 1);
        PictureBox {
            fill: "#fafbfc",
            edge: "#616e7c",
            title: shown.host.to_owned(),
            note: node.describe(),
            pes: chips(node, &waiting),
            columns: columns(inner.len(), 2),
            inner,
            cards: homeless.map(|(place, _)| card(node, place)).collect(),
        }
    }

    /// The least width and height.
    fn size(&self) -> (f64, f64) {
        let written = self.title.chars().count() as f64 * TITLE_CHARACTER;
        let noted = self.note.chars().count() as f64 * NOTE_CHARACTER;
        let (grid, cards) = (grid(&self.inner, self.columns), grid(&self.cards, self.cards.len()));
        let least = if self.inner.is_empty() { written.max(noted) } else { written + 10.0 + noted };
        let content = [least, grid.0, cards.0].into_iter().fold(0.0, f64::max);
        let content =
            if self.pes.is_empty() { content } else { content.max(self.pes.len().min(2) as f64 * CHIP.0 + CHIP_GAP) };
        let mut height = self.head() + self.chip_rows(content) as f64 * (CHIP.1 + CHIP_GAP);
        for part in [grid.1, cards.1] {
            height += if part > 0.0 { part + GAP } else { 0.0 };
        }
        let below = if grid.1 + cards.1 > 0.0 { PAD - GAP } else { PAD };
        (content + 2.0 * PAD, height + below)
    }

    /// Title and note: beside each other, or below where there is nothing else.
    fn head(&self) -> f64 {
        PAD / 2.0 + if self.inner.is_empty() && !self.note.is_empty() { TITLE + 14.0 } else { TITLE } + 2.0
    }

    fn chip_rows(&self, width: f64) -> usize {
        self.pes.len().div_ceil(chips_in_a_row(width))
    }

    fn draw(&self, svg: &mut String, x: f64, y: f64, width: f64, height: f64) {
        let PictureBox { fill, edge, .. } = self;
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"5\" fill=\"{fill}\" stroke=\"{edge}\"/>"
        );
        let text = |svg: &mut String, class: &str, x: f64, y: f64, text: &str| {
            let _ = writeln!(
                svg,
                "<text class=\"{class}\" x=\"{}\" y=\"{}\">{}</text>",
                rounded(x),
                rounded(y),
                escaped(text)
            );
        };
        let baseline = y + PAD / 2.0 + 13.0;
        text(svg, "title", x + PAD, baseline, &self.title);
        if !self.note.is_empty() {
            let beside = x + PAD + self.title.chars().count() as f64 * TITLE_CHARACTER + 10.0;
            let (x, y) = if self.inner.is_empty() { (x + PAD, baseline + 14.0) } else { (beside, baseline) };
            text(svg, "note", x, y, &self.note);
        }
        let content = width - 2.0 * PAD;
        let in_a_row = chips_in_a_row(content);
        for (place, (pe, colour)) in self.pes.iter().enumerate() {
            let x = x + PAD + (place % in_a_row) as f64 * (CHIP.0 + CHIP_GAP);
            let y = y + self.head() + (place / in_a_row) as f64 * (CHIP.1 + CHIP_GAP);
            let _ = writeln!(
                svg,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"8\" fill=\"{colour}\"/>",
                CHIP.0, CHIP.1
            );
            text(svg, "pe", x + CHIP.0 / 2.0, y + 12.0, &format!("PE {pe}"));
        }
        let mut y = y + self.head() + self.chip_rows(content) as f64 * (CHIP.1 + CHIP_GAP);
        for (areas, columns) in [(&self.inner, self.columns), (&self.cards, self.cards.len())] {
            y += draw_grid(svg, areas, columns, x + PAD, y, content);
        }
    }
}

fn chips_in_a_row(width: f64) -> usize {
    (((width + CHIP_GAP) / (CHIP.0 + CHIP_GAP)) as usize).max(1)
}

/// The size of boxes in rows of `columns`, all of them equally large.
fn grid(areas: &[PictureBox], columns: usize) -> (f64, f64) {
    let Some((width, height)) = largest(areas) else { return (0.0, 0.0) };
    let rows = areas.len().div_ceil(columns);
    let total = |count: usize, each: f64| count as f64 * (each + GAP) - GAP;
    (total(columns.min(areas.len()), width), total(rows, height))
}

fn largest(areas: &[PictureBox]) -> Option<(f64, f64)> {
    let sizes = areas.iter().map(PictureBox::size);
    sizes.reduce(|a, b| (a.0.max(b.0), a.1.max(b.1)))
}

/// Draws boxes over the whole width and returns how far down they reach.
fn draw_grid(svg: &mut String, areas: &[PictureBox], columns: usize, x: f64, y: f64, width: f64) -> f64 {
    let Some((_, height)) = largest(areas) else { return 0.0 };
    let columns = columns.min(areas.len());
    let each = (width + GAP) / columns as f64 - GAP;
    for (place, area) in areas.iter().enumerate() {
        let (column, row) = ((place % columns) as f64, (place / columns) as f64);
        area.draw(svg, rounded(x + column * (each + GAP)), y + row * (height + GAP), rounded(each), height);
    }
    areas.len().div_ceil(columns) as f64 * (height + GAP)
}

/// The boxes of the first of these levels for these processors. They take the waiting PEs that cannot leave them.
fn inside(
    node: &Node,
    processors: &[&Processor],
    levels: &[LevelRow],
    waiting: &mut Vec<(u32, &PePlace)>,
) -> Vec<PictureBox> {
    let Some((&(level, of, fill, edge), inner)) = levels.split_first() else { return Vec::new() };
    let area = |value: u32| {
        let own: Vec<&Processor> = processors.iter().copied().filter(|p| of(p) == value).collect();
        let stays = |place: &PePlace| {
            !place.cpus.is_empty() && place.cpus.iter().all(|cpu| own.iter().any(|processor| processor.cpu == *cpu))
        };
        let mut mine = Vec::new();
        waiting.retain(|&(pe, place)| {
            let stays = stays(place);
            if stays {
                mine.push((pe, place));
            }
            !stays
        });
        let inner = inside(node, &own, inner, &mut mine);
        let (title, note, cards) = words(node, level, value, &own);
        let widest = if level == BoxLevel::L3 { 4 } else { 2 };
        PictureBox {
            fill,
            edge,
            title,
            note,
            pes: chips(node, &mine),
            columns: columns(inner.len(), widest),
            inner,
            cards,
        }
    };
    distinct(processors, of).into_iter().map(area).collect()
}

/// How a box is called, what else is to be said, and the cards in it.
fn words(node: &Node, level: BoxLevel, value: u32, own: &[&Processor]) -> (String, String, Vec<PictureBox>) {
    match level {
        BoxLevel::Package => (format!("Package {value}"), String::new(), Vec::new()),
        BoxLevel::L3 => (format!("L3 {value}"), String::new(), Vec::new()),
        BoxLevel::Core => {
            let cpus: Vec<u32> = own.iter().map(|processor| processor.cpu).collect();
            (format!("Core {value}"), format!("cpu {}", cpulist::written(&cpus)), Vec::new())
        }
        BoxLevel::Numa => {
            let memory = node.memories[value as usize];
            let size = if memory.bytes > 0 { oxshmem_base::size::display(memory.bytes) } else { String::new() };
            let near = nic::cards(node).into_iter().filter(|(_, nic)| nic.near == [value]);
            (format!("NUMA {}", memory.number), size, near.map(|(place, _)| card(node, place)).collect())
        }
    }
}

fn card(node: &Node, place: u32) -> PictureBox {
    let nic = &node.nics[place as usize];
    let colour = colour(node, Some(place));
    let state = if nic.up { String::new() } else { ", down".into() };
    let title = if nic.fabric && !nic.interfaces.is_empty() {
        format!("{} / {}", nic.name, nic.interfaces.join(" "))
    } else {
        nic.name.clone()
    };
    let note = format!("{}{state}", nic.bus);
    PictureBox { fill: "#ffffff", edge: colour, title, note, columns: 1, ..PictureBox::default() }
}

fn chips(node: &Node, pes: &[(u32, &PePlace)]) -> Vec<(u32, &'static str)> {
    pes.iter().map(|(pe, place)| (*pe, colour(node, place.nic))).collect()
}

fn colour(node: &Node, nic: Option<u32>) -> &'static str {
    let index = nic.and_then(|nic| nic::cards(node).iter().position(|(place, _)| *place == nic));
    index.map_or(NO_CARD, |index| CARDS[index % CARDS.len()])
}

/// Few boxes stand in at most `most` columns, many in a rectangle that is a little wider than high.
fn columns(boxes: usize, most: usize) -> usize {
    let wide = (boxes as f64).sqrt().ceil() as usize;
    wide.max(most.min(boxes)).max(1)
}

/// Tenths are fine enough, and written the same on every machine.
fn rounded(length: f64) -> f64 {
    (length * 10.0).round() / 10.0
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
