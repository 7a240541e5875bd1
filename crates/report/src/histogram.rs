//! How often samples of each length were seen.

use std::fmt::Write;

use crate::chart::{self, HUES, WIDTH};
use crate::page::escape;
use crate::scale::{Division, Scale};
use crate::statistics::{Distribution, upper_edge};
use crate::units::time;

const HEIGHT: f64 = 190.0;
const LEFT: f64 = 30.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 22.0;
const BOTTOM: f64 = 48.0;

/// Percentiles that are marked.
const MARKED: [f64; 3] = [50.0, 99.0, 99.9];

/// The least length of a bar, as a share of the longest: rare samples stay visible.
const VISIBLE: f64 = 0.012;

/// The picture ends a little behind the greatest of these percentiles that is known: few far samples would squeeze all others.
const SHOWN: [f64; 3] = [99.9, 99.0, 90.0];
const BEHIND: f64 = 1.3;

/// The drawing: time goes to the right, the height of a bar is its share of the samples. Samples beyond its end are counted.
pub fn svg(title: &str, hue: usize, samples: &Distribution) -> String {
    let last = SHOWN.iter().find_map(|percent| samples.percentile(*percent)).map_or(f64::MAX, |value| value * BEHIND);
    let shown = || samples.buckets.iter().filter(|(edge, _)| *edge <= last);
    let beyond = samples.count - shown().map(|(_, times)| times).sum::<u64>();
    let edges = shown().flat_map(|(edge, _)| [*edge, upper_edge(*edge)]);
    let scale = Scale::around(Division::Decimal, edges);
    let (floor, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    let across = |value: f64| LEFT + scale.place(value) * (right - LEFT);
    let most = samples.buckets.iter().map(|(_, times)| *times).max().unwrap_or(1) as f64;
    let mut svg = chart::opened(title, HEIGHT);
    for (value, labelled) in scale.ticks() {
        let at = across(*value);
        let class = if *labelled { "grid" } else { "grid fine" };
        let _ = write!(svg, "<path class=\"{class}\" d=\"M{at:.1} {TOP}V{floor}\"/>");
        if *labelled {
            let (below, label) = (floor + 17.0, time(*value).replace(".00", "").replace(".0 ", " "));
            let _ = write!(svg, "<text x=\"{at:.1}\" y=\"{below}\" text-anchor=\"middle\">{}</text>", escape(&label));
        }
    }
    for (edge, times) in shown() {
        let (x, width) = (across(*edge), (across(upper_edge(*edge)) - across(*edge)).max(0.8));
        let height = (*times as f64 / most).max(VISIBLE) * (floor - TOP);
        let share = 100.0 * *times as f64 / samples.count as f64;
        let _ = write!(
            svg,
            "<rect class=\"bar c{}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"><title>{} to {}: {times} \
             samples, {share:.3} %</title></rect>",
            hue % HUES,
            floor - height,
            time(*edge),
            time(upper_edge(*edge))
        );
    }
    let mut free = LEFT;
    for percent in MARKED {
        let Some(value) = samples.percentile(percent) else { continue };
        let at = across(value);
        let label = format!("{percent} %: {}", time(value));
        let width = 6.6 * label.chars().count() as f64;
        let start = (at - width / 2.0).clamp(LEFT, (right - width).max(LEFT));
        let _ = write!(svg, "<path class=\"percentile\" d=\"M{at:.1} {TOP}V{floor}\"/>");
        // Labels that would touch the one before are left to the table.
        if start >= free {
            let _ = write!(svg, "<text class=\"small\" x=\"{start:.1}\" y=\"{}\">{}</text>", TOP - 8.0, escape(&label));
            free = start + width + 6.0;
        }
    }
    let middle = WIDTH / 2.0;
    let _ = write!(
        svg,
        "<path class=\"axis\" d=\"M{LEFT} {floor}H{right}\"/>\
         <text class=\"title\" x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">time of one operation, {} samples{}</text></svg>",
        HEIGHT - 9.0,
        samples.count,
        match beyond {
            0 => String::new(),
            beyond => format!(", {beyond} beyond, up to {}", time(samples.max)),
        }
    );
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bucket_has_a_bar_and_every_percentile_a_line() {
        let samples: Vec<(u64, u64)> = (100..10_000).step_by(10).map(|value| (value, 20)).collect();
        let samples = Distribution::new(&samples).expect("there are samples");
        let svg = svg("a barrier", 2, &samples);
        // The last buckets lie less than 1.3 times behind the last percentile.
        assert_eq!(svg.matches("<rect").count(), samples.buckets.len());
        assert_eq!(svg.matches("class=\"percentile\"").count(), 3);
        assert!(svg.contains("19800 samples<"), "{svg}");
    }

    #[test]
    fn a_label_that_is_wider_than_the_drawing_begins_at_its_left_edge() {
        let samples = Distribution::new(&[(100, 10)]).expect("there are samples");
        let samples = Distribution { percentiles: vec![(50.0, 1e300)], ..samples };
        assert!(svg("a put", 0, &samples).contains("class=\"small\""));
    }

    #[test]
    fn far_samples_are_counted_and_do_not_squeeze_the_others() {
        let samples =
            Distribution::new(&[(100, 9_000), (150, 989), (200, 10), (9_000_000, 1)]).expect("there are samples");
        let svg = svg("a put", 0, &samples);
        assert_eq!(svg.matches("<rect").count(), 3, "{svg}");
        assert!(svg.contains("10000 samples, 1 beyond, up to 9.00 ms<"), "{svg}");
    }
}
