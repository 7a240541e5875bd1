//! Charts over sizes: which sweeps stand together, with which limits.

use oxshmem_report::chart::{Axis, Chart, Curve, Mark, Stroke};
use oxshmem_report::scale::Division;
use oxshmem_report::units;

use super::campaign::{Campaign, Figure};
use super::patterns::{OVERLAPS, overlap};

/// One sweep of a chart: pattern, form, and its name in the legend.
pub(super) type Sweep = (&'static str, &'static str, &'static str);

pub(super) struct BySize {
    caption: &'static str,
    sweeps: &'static [Sweep],
    /// Limits of the machine, which only our own jobs measure.
    limits: &'static [Sweep],
    axis: &'static str,
    value: fn(&Figure, u32) -> f64,
    write: fn(f64) -> String,
}

fn nanoseconds(figure: &Figure, _: u32) -> f64 {
    figure.value
}

/// A value for an axis, whose labels have no zeros behind the point.
pub(super) fn short(told: String) -> String {
    told.replace(".00 ", " ").replace(".0 ", " ")
}

const fn of_time(
    caption: &'static str,
    sweeps: &'static [Sweep],
    limits: &'static [Sweep],
    axis: &'static str,
) -> BySize {
    BySize { caption, sweeps, limits, axis, value: nanoseconds, write: |value| short(units::time(value)) }
}

/// One transfer at a time.
pub(super) const ONE_WAY: &[BySize] = &[
    of_time(
        "Time until a put is complete (put and quiet) and until a get has its data, one at a time between two PEs.",
        &[("put", "", "put and quiet"), ("get", "", "get")],
        &[MEMCPY, BARE_TCP],
        "time of one operation",
    ),
    of_time(
        "Time of strided transfers of 8-byte elements, of which every second is moved: iput and quiet, and iget.",
        &[("iput", "", "iput and quiet"), ("iget", "", "iget")],
        &[],
        "time of one operation",
    ),
    of_time(
        "Time until the target has seen a message: half of a ping-pong of a put with a flag (put, fence, p, wait_until) and of a put with signal.",
        &[("put and flag", "", "put and flag"), ("put with signal", "", "put with signal")],
        &[("loads and stores", "limit", "limit: loads and stores, 8 B"), MEMCPY, BARE_TCP],
        "time of one message",
    ),
];

const MEMCPY: Sweep = ("memcpy", "limit", "limit: memcpy in one process");
const BARE_TCP: Sweep = ("bare TCP", "limit", "limit: bare TCP, one way");
const BARE_STREAM: Sweep = ("bare TCP stream", "limit", "limit: bare TCP stream");

/// Windows of transfers.
const WINDOWS: &[Sweep] = &[
    ("put bandwidth", "", "put, one way"),
    ("get bandwidth", "", "get, one way"),
    ("put bandwidth", "both ways", "put, both ways"),
    ("put bandwidth", "all pairs", "put, all pairs"),
];

/// Many transfers under way.
pub(super) const MANY: &[BySize] = &[
    BySize {
        caption: "Bandwidth of windows of 64 transfers, or fewer where they are large (16 MiB, at least 4). Both ways and all pairs: the sum over all senders.",
        sweeps: WINDOWS,
        limits: &[MEMCPY, BARE_STREAM],
        axis: "bandwidth",
        value: Figure::bandwidth,
        write: |value| short(units::bandwidth(value)),
    },
    BySize {
        caption: "Rate of the same transfers: messages in a second.",
        sweeps: WINDOWS,
        limits: &[BARE_STREAM],
        axis: "messages per second",
        value: Figure::rate,
        write: |value| short(units::rate(value)),
    },
];

/// A chart of a collective over active sets and over teams.
macro_rules! collective {
    ($name:literal, $caption:literal) => {
        of_time($caption, &[($name, "set", "active set"), ($name, "team", "team")], &[], "time of one call")
    };
}

pub(super) const COLLECTIVES: &[BySize] = &[
    collective!("broadcast", "Broadcast from PE 0, by the size of the array."),
    collective!("collect", "Collect, by the size of each PE's block."),
    collective!("fcollect", "Fcollect, by the size of each PE's block."),
    collective!("alltoall", "Alltoall, by the size of the block for each PE."),
    collective!(
        "alltoalls",
        "Alltoalls with a stride of two words in the source, by the size of the block for each PE."
    ),
    collective!("sum of doubles", "Sum of doubles, by the size of the array."),
    collective!("maximum of longs", "Maximum of 64-bit integers, by the size of the array."),
    of_time(
        "Inclusive and exclusive scan of 64-bit integers, by the size of the array.",
        &[("inclusive scan", "team", "inclusive scan"), ("exclusive scan", "team", "exclusive scan")],
        &[],
        "time of one call",
    ),
];

impl BySize {
    /// The chart, if there is anything to draw but limits.
    pub(super) fn chart(&self, campaign: &Campaign, against: Option<&Campaign>) -> Option<Chart> {
        let mut curves = Vec::new();
        for (hue, (pattern, form, name)) in self.sweeps.iter().enumerate() {
            for (subject, added, stroke) in campaign.drawn() {
                curves.extend(self.curve(campaign, subject, (pattern, form), format!("{name}{added}"), hue, stroke));
            }
            if let Some(earlier) = against {
                let named = format!("{name} (earlier run)");
                curves.extend(self.curve(earlier, earlier.ours(), (pattern, form), named, hue, Stroke::Dotted));
            }
        }
        if curves.is_empty() {
            return None;
        }
        for (pattern, form, name) in self.limits {
            curves.extend(self.curve(campaign, campaign.ours(), (pattern, form), (*name).to_owned(), 0, Stroke::Limit));
        }
        if let (Some(rate), "bandwidth") = (campaign.line_rate, self.axis) {
            let mark = |mark: &Mark| Mark { x: mark.x, y: rate, ..Mark::default() };
            let marks = curves[0].marks.iter().map(mark).collect();
            curves.push(Curve { name: "limit: the line between hosts".into(), hue: 0, stroke: Stroke::Limit, marks });
        }
        let x = Axis { title: "bytes".into(), division: Division::Binary, write: units::short_size };
        let y = Axis { title: self.axis.into(), division: Division::Decimal, write: self.write };
        Some(Chart { title: self.caption.into(), x, y, curves })
    }

    fn curve(
        &self,
        run: &Campaign,
        contender: &str,
        (pattern, form): (&str, &str),
        name: String,
        hue: usize,
        stroke: Stroke,
    ) -> Option<Curve> {
        let mark = |figure: &Figure| {
            let at = |value: f64| (self.value)(&Figure { value, ..figure.clone() }, run.pes);
            let around = figure.interval.map(|(low, high)| (at(low), at(high)));
            let y = at(figure.value);
            let note = format!("{name}, {}: {}", units::size(figure.of.bytes as f64), (self.write)(y));
            Mark { x: figure.of.bytes as f64, y, around, note }
        };
        let marks: Vec<Mark> = run.sweep(contender, pattern, form).into_iter().map(mark).collect();
        (!marks.is_empty()).then_some(Curve { name: name.clone(), hue, stroke, marks })
    }
}

/// The share of communications that goes by behind a computation, if any is long enough.
pub(super) fn overlap_chart(campaign: &Campaign, against: Option<&Campaign>) -> Option<Chart> {
    let curves_of = |run: &Campaign, contender: &str, name: &str, first: usize, stroke: Stroke| -> Vec<Curve> {
        let curve = |(place, (pattern, what)): (usize, (&str, &str))| {
            let name = format!("{what}, {name}");
            let mark = |&(bytes, share): &(u64, f64)| {
                let (x, y) = (bytes as f64, 100.0 * share);
                Mark { x, y, around: None, note: format!("{name}, {}: {y:.0} %", units::size(x)) }
            };
            let marks: Vec<Mark> = overlap(run, contender, pattern).iter().map(mark).collect();
            (!marks.is_empty()).then_some(Curve { name: name.clone(), hue: first + place, stroke, marks })
        };
        OVERLAPS.into_iter().enumerate().filter_map(curve).collect()
    };
    let now = campaign.drawn().enumerate();
    let now = now.flat_map(|(place, (name, _, stroke))| curves_of(campaign, name, name, 2 * place, stroke));
    let earlier = against.iter().flat_map(|run| curves_of(run, run.ours(), "earlier run", 0, Stroke::Dotted));
    let curves: Vec<Curve> = now.chain(earlier).collect();
    if curves.is_empty() {
        return None;
    }
    let caption = "Share of a communication that goes by while its PE computes for as long as that takes alone, if it takes more \
                   than 1 µs. On one node the PE itself copies a put, so nothing can go by. A collective moves on whenever its PE \
                   asks whether it is over, here after each sixteenth of the computation.";
    let x = Axis { title: "bytes".into(), division: Division::Binary, write: units::short_size };
    let y = Axis { title: "hidden share".into(), division: Division::Percent, write: |share| format!("{share:.0} %") };
    Some(Chart { title: caption.into(), x, y, curves })
}
