//! Simulations side by side, as text and as a drawing. Both say that they are simulated and under what assumptions.

use super::{Cluster, Outcome, Setting, SimulationFailure, simulate, simulate_symmetric};
use crate::algorithm::Schedule;
use crate::step::{Plan, rounds};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;

/// One line of a comparison.
#[derive(Clone, Debug)]
pub struct SimulatedEntry {
    /// The schedule.
    pub schedule: Schedule,
    /// Whether only one PE per node goes to the network.
    pub leaders: bool,
    /// By team size.
    pub outcomes: Vec<(u32, Result<Outcome, SimulationFailure>)>,
}

/// From here on schedules whose steps grow with n² are simulated by symmetry.
const SYMMETRIC_FROM: u32 = 2048;

/// Simulates every schedule at every size, flat and among the leaders of the nodes.
pub fn compare(
    schedules: &[Schedule],
    sizes: &[u32],
    count: u64,
    machine: &Cluster,
    setting: &Setting,
) -> Vec<SimulatedEntry> {
    let entry = |schedule: &Schedule, leaders: bool| {
        let run = |&size: &u32| {
            let seen = if leaders { machine.leaders() } else { *machine };
            let members = if leaders { size.div_ceil(machine.pes_per_node) } else { size };
            let plan = Plan::new(members, count);
            let outcome = match schedule {
                Schedule::Collect(_) => Err(SimulationFailure::LengthsUnknown),
                Schedule::RingReduce(_) | Schedule::RingGather(_) | Schedule::Direct(_) | Schedule::Bruck(_)
                    if members >= SYMMETRIC_FROM =>
                {
                    simulate_symmetric(schedule, &plan, &seen, setting)
                }
                _ => simulate(schedule, &plan, &seen, setting),
            };
            let stage = if leaders { machine.node_stage } else { 0.0 };
            (size, outcome.map(|outcome| Outcome { time: outcome.time + stage, ..outcome }))
        };
        SimulatedEntry { schedule: *schedule, leaders, outcomes: sizes.iter().map(run).collect() }
    };
    // Among leaders a gather or an exchange would carry whole nodes' blocks: another call, so it is not compared.
    let carries_blocks = |s: &Schedule| {
        use crate::algorithm::Collective::{Alltoall, Collect, Fcollect, Shares};
        matches!(s.achieves(), Alltoall | Collect | Fcollect | Shares)
    };
    let flat = schedules.iter().map(|schedule| entry(schedule, false));
    flat.chain(schedules.iter().filter(|s| !carries_blocks(s)).map(|s| entry(s, true))).collect()
}

fn title(entry: &SimulatedEntry) -> String {
    format!("{}{}", entry.schedule, if entry.leaders { ", leaders" } else { "" })
}

fn head(count: u64, machine: &Cluster, setting: &Setting) -> String {
    let bytes = count * setting.element;
    let from =
        if setting.skew > 0.0 { format!("arriving within {} ns", setting.skew) } else { "arriving together".into() };
    format!("simulated, not measured: {bytes} bytes, PEs {from}\n{}", machine.describe())
}

/// Time and messages as a table.
pub fn table(entries: &[SimulatedEntry], count: u64, machine: &Cluster, setting: &Setting) -> String {
    let mut text = head(count, machine, setting);
    let _ = write!(text, "\n\n{:<34}{:>10}{:>18}{:>16}\n", "schedule", "PEs", "time (simulated)", "messages");
    for entry in entries {
        for (size, outcome) in &entry.outcomes {
            let _ = write!(text, "{:<34}{size:>10}", title(entry));
            let _ = match outcome {
                Ok(o) => {
                    let note = if o.by_symmetry { "  by symmetry" } else { "" };
                    writeln!(text, "{:>15.2} µs{:>16}{note}", o.time / 1000.0, o.messages)
                }
                Err(SimulationFailure::TooLong) => writeln!(text, "{:>18}", "too many steps"),
                Err(SimulationFailure::LengthsUnknown) => writeln!(text, "{:>18}", "see fcollect"),
                Err(SimulationFailure::Stuck) => writeln!(text, "{:>18}", "stuck"),
            };
        }
    }
    text
}

/// Time over team size as an SVG drawing, both axes logarithmic.
pub fn svg(entries: &[SimulatedEntry], count: u64, machine: &Cluster, setting: &Setting) -> String {
    let series = |entry: &SimulatedEntry| {
        let points = entry.outcomes.iter().filter_map(|(n, o)| Some((*n, o.ok()?.time)));
        ChartLine { title: title(entry), is_dashed: entry.leaders, points: points.collect() }
    };
    chart(&head(count, machine, setting), &entries.iter().map(series).collect::<Vec<_>>())
}

/// A line of a drawing.
pub(crate) struct ChartLine {
    pub(crate) title: String,
    pub(crate) is_dashed: bool,
    /// Times in nanoseconds by PEs.
    pub(crate) points: Vec<(u32, f64)>,
}

/// The power of ten of the longest time that a drawing shows, in nanoseconds.
const LONGEST: u32 = 20;

/// A drawing of lines below some words.
pub(crate) fn chart(head: &str, lines: &[ChartLine]) -> String {
    const COLOURS: [&str; 8] = ["#1b6ca8", "#c0392b", "#1e8449", "#8e44ad", "#b9770e", "#117a65", "#5d6d7e", "#d81b60"];
    let points = || lines.iter().flat_map(|line| line.points.iter().copied());
    let sizes = points().map(|(n, _)| rounds(n, 2)).fold((31, 1), |(low, high), r| (r.min(low), r.max(high)));
    let powers = |time: f64| (0..LONGEST).find(|power| pow10(*power) >= time).unwrap_or(LONGEST);
    let top = points().map(|(_, t)| powers(t)).max().unwrap_or(1).max(1);
    let bottom = points().map(|(_, t)| powers(t).saturating_sub(1)).min().unwrap_or(0).min(top - 1);
    let x = |n: u32| {
        80.0 + 560.0 * f64::from(log10(f64::from(n)) as f32 - log10(pow2(sizes.0)) as f32)
            / (log10(pow2(sizes.1)) - log10(pow2(sizes.0))).max(0.1)
    };
    let y = |t: f64| 420.0 - 340.0 * (log10(t) - f64::from(bottom)) / f64::from(top - bottom);
    let mut text = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"960\" height=\"480\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"960\" height=\"480\" fill=\"white\"/>\n",
    );
    for (i, line) in head.lines().enumerate() {
        for (j, part) in wrapped(line, 150).iter().enumerate() {
            let (at, weight) = (20 + 20 * i + 14 * j, if i == 0 { "bold" } else { "normal" });
            let part = part.replace('&', "&amp;").replace('<', "&lt;");
            let _ = writeln!(text, "<text x=\"20\" y=\"{at}\" font-weight=\"{weight}\">{part}</text>");
        }
    }
    for power in bottom..=top {
        let (at, time) = (y(pow10(power)), pow10(power) / 1000.0);
        let _ = writeln!(text, "<line x1=\"80\" x2=\"640\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>");
        let _ = writeln!(text, "<text x=\"74\" y=\"{at:.1}\" text-anchor=\"end\">{time} µs</text>");
    }
    for power in (sizes.0..=sizes.1).step_by(2) {
        let n = 1u32 << power;
        let _ = writeln!(text, "<text x=\"{:.1}\" y=\"440\" text-anchor=\"middle\">{n}</text>", x(n));
    }
    text.push_str("<text x=\"360\" y=\"462\" text-anchor=\"middle\">PEs; time simulated</text>\n");
    for (i, ChartLine { title, is_dashed, points }) in lines.iter().enumerate() {
        let (colour, dash) = (COLOURS[i % COLOURS.len()], if *is_dashed { "5 3" } else { "none" });
        let path: Vec<String> = points.iter().map(|(n, t)| format!("{:.1},{:.1}", x(*n), y(*t))).collect();
        let _ = writeln!(
            text,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dash}\"/>",
            path.join(" ")
        );
        let at = 90 + 16 * i;
        let _ = writeln!(text, "<text x=\"660\" y=\"{at}\" fill=\"{colour}\">{}</text>", title);
    }
    text.push_str("</svg>\n");
    text
}

/// A line cut at spaces after at most `width` characters.
fn wrapped(line: &str, width: usize) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for word in line.split(' ') {
        match parts.last_mut() {
            Some(part) if part.len() + word.len() < width => {
                part.push(' ');
                part.push_str(word);
            }
            _ => parts.push(word.to_string()),
        }
    }
    parts
}

fn pow2(power: u32) -> f64 {
    (1u64 << power) as f64
}

fn pow10(power: u32) -> f64 {
    (0..power).fold(1.0, |x, _| x * 10.0)
}

/// The decimal logarithm, which `core` lacks, to drawing precision: exponent and a few squarings of the mantissa.
fn log10(x: f64) -> f64 {
    let mut exponent = (x.to_bits() >> 52) as i64 - 1023;
    let mut mantissa = f64::from_bits(x.to_bits() & (u64::MAX >> 12) | 1023 << 52);
    let (mut log2, mut weight) = (0.0, 1.0);
    for _ in 0..20 {
        log2 += exponent as f64 * weight;
        mantissa *= mantissa;
        exponent = i64::from(mantissa >= 2.0);
        mantissa /= if exponent == 1 { 2.0 } else { 1.0 };
        weight /= 2.0;
    }
    log2 * core::f64::consts::LOG10_2
}
