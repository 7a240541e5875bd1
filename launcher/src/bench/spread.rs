//! How single operations are spread: the curve of percentiles, histograms, and the table.

use oxshmem_report::chart::{Axis, Chart, Curve, Mark};
use oxshmem_report::page::{Document, TableFold};
use oxshmem_report::scale::{Division, as_percent};
use oxshmem_report::statistics::PERCENTILES;
use oxshmem_report::{histogram, units};

use super::campaign::{Campaign, Figure};
use super::sweeps::{Sweep, short};

/// Operations whose distribution is drawn, if single repetitions could be timed: pattern, form, and the name.
const DISTRIBUTIONS: &[Sweep] = &[
    ("put with signal", "", "put with signal, there and back"),
    ("put and flag", "", "put and flag, there and back"),
    ("put", "", "put and quiet"),
    ("get", "", "get"),
    ("barrier", "all", "barrier_all"),
    ("sum of doubles", "team", "sum of doubles"),
];

/// Which single repetitions were timed: the smallest size of each operation that is drawn.
fn drawn_distributions<'c>(campaign: &'c Campaign, contender: &str) -> Vec<(usize, &'static str, &'c Figure)> {
    let smallest = |(hue, (pattern, form, name)): (usize, &Sweep)| {
        let figure =
            campaign.sweep(contender, pattern, form).into_iter().find(|figure| figure.distribution.is_some())?;
        Some((hue, *name, figure))
    };
    DISTRIBUTIONS.iter().enumerate().filter_map(smallest).collect()
}

pub(super) fn distributions(page: &mut Document, campaign: &Campaign) {
    let mut curves = Vec::new();
    for (subject, added, stroke) in campaign.drawn() {
        for (hue, name, figure) in drawn_distributions(campaign, subject) {
            let Some(samples) = &figure.distribution else { continue };
            let name = format!("{name}, {} B{added}", figure.of.bytes);
            let marks = samples.nines().into_iter().map(|(x, y)| Mark { x, y, ..Mark::default() });
            curves.push(Curve { name, hue, stroke, marks: thinned(marks.collect()) });
        }
    }
    if curves.is_empty() {
        return;
    }
    page.heading("How single operations are spread");
    page.open_figures();
    let caption = "Percentiles of operations that were timed one by one: the share that took no longer. A curve ends where fewer than ten samples are left.";
    let x = Axis { title: "share of operations".into(), division: Division::Nines, write: as_percent };
    let y = Axis {
        title: "time of one operation".into(),
        division: Division::Decimal,
        write: |value| short(units::time(value)),
    };
    Chart { title: caption.into(), x, y, curves }.put_on(page);
    for (hue, name, figure) in drawn_distributions(campaign, campaign.ours()) {
        if let Some(samples) = &figure.distribution {
            let caption = format!(
                "{}: {name}, {} B. Each sample contains one reading of the clock, {:.0} ns.",
                campaign.ours(),
                figure.of.bytes,
                figure.clock
            );
            page.figure(&caption, &histogram::svg(&caption, hue, samples));
        }
    }
    page.close_figures();
    let rows = campaign.figures.iter().filter_map(|figure| {
        let samples = figure.distribution.as_ref()?;
        let percentile = |percent: &f64| samples.percentile(*percent).map_or_else(|| "–".to_owned(), units::time);
        let mut row = vec![
            figure.of.contender.clone(),
            figure.name(),
            figure.of.bytes.to_string(),
            samples.count.to_string(),
            units::time(samples.min),
        ];
        row.extend(PERCENTILES.iter().map(percentile));
        row.push(units::time(samples.max));
        Some(row)
    });
    let head =
        ["library", "operation", "bytes", "samples", "least", "50 %", "90 %", "99 %", "99.9 %", "99.99 %", "most"];
    let caption = "Percentiles of repetitions timed one by one; of a ping-pong a repetition is the way there and back.";
    page.table(caption, &head, 2, rows, TableFold::Folded);
}

/// The points of a curve that are far enough apart for their marks.
fn thinned(marks: Vec<Mark>) -> Vec<Mark> {
    const STEP: f64 = 0.12;
    let mut kept: Vec<Mark> = Vec::new();
    let last = marks.len().saturating_sub(1);
    for (number, mark) in marks.into_iter().enumerate() {
        if number == last || kept.last().is_none_or(|before| mark.x - before.x >= STEP) {
            kept.push(mark);
        }
    }
    kept
}
