//! The report of a profile: a page with tables, heat maps and curves.

use oxshmem_profile::job::RecordedJob;
use oxshmem_profile::layout::RoutineKind;
use oxshmem_profile::ledger::{Interval, PeerTraffic, TeamKey};
use oxshmem_profile::totals::{PairMatrix, SlowPe, Total, Totals};
use oxshmem_report::chart::{Axis, Chart, Curve, Mark, Stroke, legend};
use oxshmem_report::heatmap::HeatMap;
use oxshmem_report::page::{Document, TableFold, escape};
use oxshmem_report::scale::Division;
use oxshmem_report::units;

use super::places::{ProgramPlaces, by_time};
use super::text::{heap, nodes};
use super::verdict;

/// More PEs share rows of matrices.
const MOST_ROWS: u32 = 512;
/// Rows of the longest tables.
const MOST_PLACES: usize = 200;

pub(crate) fn page(job: &RecordedJob, totals: &Totals, places: &mut ProgramPlaces) -> String {
    let (begin, end) = job.span();
    let who = crate::verdict::counted(job.pes as usize);
    let lead = format!("{who} on {}, {}", escape(&nodes(job)), units::time((end - begin) as f64));
    let mut page = Document::new("What a program does with OpenSHMEM", &lead);
    page.heading("Verdict");
    for sentence in verdict::verdict(job, totals, places).into_iter().chain(heap(totals)) {
        page.text(&format!("{}{}.", sentence[..1].to_uppercase(), &sentence[1..]));
    }
    job.missing.iter().for_each(|sentence| page.text(&format!("Note: {sentence}.")));
    page.heading("At a glance");
    glance(&mut page, totals);
    page.heading("Between PEs");
    matrices(&mut page, totals);
    page.heading("Over time, and by size");
    curves(&mut page, totals);
    page.heading("Routines");
    routines(&mut page, totals);
    page.heading("Places of the program");
    sites(&mut page, totals, places);
    page.heading("PEs and teams");
    pes(&mut page, totals);
    teams(&mut page, totals);
    page.heading("How this was measured");
    METHOD.iter().for_each(|sentence| page.text(sentence));
    page.finish()
}

/// How the figures came about.
const METHOD: [&str; 4] = [
    "Calls and bytes are counted, not sampled. The time of calls that take less than a microsecond comes from one in 32 of \
     them, chosen at random; collectives, waits and all longer calls are timed each. Bytes of a collective are those of one PE's \
     array or block.",
    "In a collective a PE waits from the moment at which it comes until the last other PE comes that comes before it leaves. \
     If a job has very many collectives, every second, fourth and so on is compared and counts for those between. Waits for \
     variables are waits for the PEs that updated them by p, a put of up to 8 bytes, an atomic or a signal.",
    "Latency is the mean time of a call as its caller sees it: nonblocking calls return before their data has arrived, and the \
     time of the network is then in quiet, fence or a barrier.",
    "PEs of one machine have one clock. The clocks of several machines are aligned by the barriers of the job.",
];

fn share(part: f64, all: f64) -> String {
    if all > 0.0 { format!("{:.1} %", 100.0 * part / all) } else { "–".into() }
}

fn glance(page: &mut Document, totals: &Totals) {
    let all = totals.time();
    let inside = |category: RoutineKind| totals.times.values().map(|time| time.inside[category as usize]).sum::<f64>();
    let waiting: f64 = totals.times.values().map(|time| time.waiting).sum();
    let mut rows = vec![
        ("outside of the library", all - totals.inside()),
        ("puts and gets", inside(RoutineKind::Transfer)),
        ("atomics and signals", inside(RoutineKind::Atomic)),
        ("fence and quiet", inside(RoutineKind::Ordering)),
        ("waits for variables, locks", inside(RoutineKind::Waiting)),
        ("collectives", inside(RoutineKind::Collective)),
        ("other calls", inside(RoutineKind::Other)),
    ];
    rows.retain(|(_, time)| *time > 0.0);
    rows.push(("of all this: waiting for other PEs", waiting));
    let rows = rows.into_iter().map(|(name, time)| [name.into(), units::time(time), share(time, all)]);
    page.table("Time of all PEs together.", &["", "time", "share"], 1, rows, TableFold::Open);
}

fn matrices(page: &mut Document, totals: &Totals) {
    let matrix = |value: fn(&PeerTraffic) -> f64| totals.matrix(MOST_ROWS, |ways| ways.iter().map(value).sum());
    let latency = matrix(|way| way.time).per(&matrix(|way| way.timed as f64));
    let count = |value: f64| format!("{value:.0}");
    let drawn: [PairFigure; 4] = [
        (
            "Bytes that PEs put to others, got from them, or updated there.",
            matrix(|way| way.bytes as f64),
            units::size,
            CALLS,
        ),
        ("Operations: puts, gets and atomics.", matrix(|way| way.calls as f64), count, CALLS),
        ("Latency: the mean time of an operation.", latency, units::time, CALLS),
        ("Who waited for whom.", totals.waits(MOST_ROWS), units::time, ("PE that waits", "PE that it waits for")),
    ];
    page.open_figures();
    for (caption, matrix, write, axes) in drawn {
        let name = |index: u32| matrix.named(index, totals.pes);
        let map = HeatMap { title: caption.into(), axes, size: matrix.size, cells: &matrix.cells, write, name: &name };
        let empty = if matrix.cells.is_empty() { " There was none." } else { "" };
        let folded = if matrix.fold > 1 { format!(" Each row stands for {} PEs.", matrix.fold) } else { String::new() };
        page.figure(&format!("{caption}{folded}{empty}"), &map.svg());
    }
    page.close_figures();
}

/// A caption, a matrix, how its values are written, and the meaning of rows and columns.
type PairFigure = (&'static str, PairMatrix, fn(f64) -> String, (&'static str, &'static str));

const CALLS: (&str, &str) = ("PE that calls", "PE that it names");

fn curves(page: &mut Document, totals: &Totals) {
    page.open_figures();
    let (length, intervals) = &fewer(&totals.series);
    if !intervals.is_empty() {
        let moment = |number: usize| (number as f64 + 0.5) * length / 1e9;
        // Threads have time of their own. This is how many PEs and threads there were on average.
        let lanes = f64::from(totals.pes.max(1)).max(totals.time() / (length * intervals.len() as f64));
        let whole = length * lanes;
        let names =
            ["puts, gets, atomics", "fence and quiet", "waits for variables, locks", "collectives and other calls"];
        let curve = |(hue, name): (usize, &str)| {
            let marks = intervals.iter().enumerate().map(|(number, interval)| {
                let percent = (100.0 * interval.time[hue] / whole).min(100.0);
                plain(moment(number), percent, format!("{}: {percent:.1} %", units::time(moment(number) * 1e9)))
            });
            line(name, hue, marks.collect())
        };
        let curves = names.into_iter().enumerate().map(curve).collect();
        figure(
            page,
            "Share of all PEs' time in the library.",
            ("seconds", Division::Linear, units::digits),
            ("% of the time", Division::Percent, units::digits),
            curves,
        );
        let rate = |number: usize| intervals[number].bytes as f64 / length * 1e9;
        let marks = (0..intervals.len())
            .map(|number| plain(moment(number), rate(number), units::bandwidth(rate(number))))
            .collect();
        figure(
            page,
            "Bytes that all calls moved in a second.",
            ("seconds", Division::Linear, units::digits),
            ("bytes in a second", Division::Linear, units::bandwidth),
            vec![line("bytes", 0, marks)],
        );
    }
    let by_size = |(hue, name): (usize, &str)| {
        let all = &totals.sizes[hue];
        // Sizes in between that no call has are points at 0.
        let used = |calls: &u64| *calls > 0;
        let (first, last) = (all.iter().position(used).unwrap_or(1), all.iter().rposition(used).unwrap_or(0));
        let marks = (first..=last).map(|digits| {
            let (low, high) = (2f64.powi(digits as i32 - 1), 2f64.powi(digits as i32) - 1.0);
            let note = format!("{} calls of {} to {} bytes", all[digits], low.floor(), high.max(0.0));
            plain(low.max(1.0), all[digits] as f64, note)
        });
        line(name, hue, marks.collect())
    };
    let curves: Vec<Curve> =
        ["puts", "gets"].into_iter().enumerate().map(by_size).filter(|curve| !curve.marks.is_empty()).collect();
    if !curves.is_empty() {
        figure(
            page,
            "Calls by their bytes; a point stands for sizes up to its double.",
            ("bytes", Division::Binary, units::short_size),
            ("calls", Division::Linear, amount),
            curves,
        );
    }
    page.close_figures();
}

/// The most points of a curve over time.
const MOST_POINTS: usize = 64;

/// Neighbouring intervals joined, so that points of curves can be told apart.
fn fewer((length, intervals): &(f64, Vec<Interval>)) -> (f64, Vec<Interval>) {
    let join = intervals.len().div_ceil(MOST_POINTS).max(1);
    let joined = intervals.chunks(join).map(|part| {
        part.iter().fold(Interval::default(), |sum, more| Interval {
            time: [0, 1, 2, 3].map(|group| sum.time[group] + more.time[group]),
            bytes: sum.bytes + more.bytes,
            calls: sum.calls + more.calls,
        })
    });
    (length * join as f64, joined.collect())
}

/// A count with few digits.
fn amount(value: f64) -> String {
    units::rate(value).replace("/s", "").trim_end().to_owned()
}

fn plain(x: f64, y: f64, note: String) -> Mark {
    Mark { x, y, around: None, note }
}

fn line(name: &str, hue: usize, marks: Vec<Mark>) -> Curve {
    Curve { name: name.into(), hue, stroke: Stroke::Whole, marks }
}

type AxisParts = (&'static str, Division, fn(f64) -> String);

fn figure(page: &mut Document, caption: &str, x: AxisParts, y: AxisParts, curves: Vec<Curve>) {
    let axis = |(title, division, write): AxisParts| Axis { title: title.into(), division, write };
    let chart = Chart { title: caption.into(), x: axis(x), y: axis(y), curves };
    let legend = if chart.curves.len() > 1 { legend(&chart.curves) } else { String::new() };
    page.figure(caption, &(chart.svg() + &legend));
}

fn numbers(total: &Total, totals: &Totals) -> Vec<String> {
    let slowest = total.slowest().map_or_else(String::new, |slow| match slow {
        SlowPe::Longest(pe, time) => format!("PE {pe}, {}", units::time(time)),
        SlowPe::Awaited(pe, time) => format!("PE {pe}, others waited {}", units::time(time)),
    });
    vec![
        total.calls.to_string(),
        units::size(total.bytes as f64),
        units::time(total.time),
        share(total.time, totals.time()),
        units::time(total.waiting),
        units::time(total.time / total.calls.max(1) as f64),
        units::time(total.longest),
        format!("{:.2}", total.imbalance(totals.pes)),
        slowest,
    ]
}

const NUMBERS: [&str; 9] =
    ["calls", "bytes", "time", "share", "waiting", "per call", "longest", "imbalance", "slowest"];

fn routines(page: &mut Document, totals: &Totals) {
    let rows = by_time(&totals.routines)
        .into_iter()
        .map(|((name, category), total)| [vec![name.clone(), category.name().into()], numbers(total, totals)].concat());
    let head = [&["routine", "kind"][..], &NUMBERS].concat();
    let caption = "All PEs together. Imbalance: the time of the slowest PE over the mean.";
    page.table(caption, &head, 2, rows, TableFold::Open);
}

fn sites(page: &mut Document, totals: &Totals, places: &mut ProgramPlaces) {
    let all = places.of(&totals.sites);
    let count = all.len();
    let rows = all
        .into_iter()
        .take(MOST_PLACES)
        .map(|((routine, place), total)| [vec![place, routine], numbers(&total, totals)].concat());
    let head = [&["place", "routine"][..], &NUMBERS].concat();
    let caption = if count > MOST_PLACES {
        format!("The {MOST_PLACES} places of {count} that take the most time.")
    } else {
        "Where the program calls. Lines are known where it was compiled with -g.".into()
    };
    page.table(&caption, &head, 2, rows, TableFold::Open);
}

fn pes(page: &mut Document, totals: &Totals) {
    let rows = totals.times.iter().map(|(pe, time)| {
        let inside: f64 = time.inside.iter().sum();
        let mut row = vec![format!("PE {pe}"), units::time(time.span), share(inside, time.span)];
        // Queries, which come first, have no column.
        row.extend(time.inside[1..].iter().map(|time| units::time(*time)));
        row.push(units::time(time.waiting));
        row.push(totals.blame.unknown.get(pe).map_or_else(|| "–".into(), |time| units::time(*time)));
        row.push(if time.heap > 0 { units::size(time.heap as f64) } else { "–".into() });
        row
    });
    let head = [
        "",
        "time",
        "in the library",
        "transfers",
        "atomics",
        "ordering",
        "waits",
        "collectives",
        "waiting",
        "for unknown",
        "heap",
    ];
    let caption = "Time by PE. Waiting: for other PEs, in collectives and for variables; for unknown: no PE is known to be the reason. \
                   Heap: how far its symmetric heap was used.";
    page.table(caption, &head, 1, rows, TableFold::IfLong);
}

fn teams(page: &mut Document, totals: &Totals) {
    let rows = totals.teams.iter().map(|(team, total)| {
        [
            described(team, totals.pes),
            team.size.to_string(),
            total.calls.to_string(),
            units::size(total.bytes as f64),
            units::time(total.time),
        ]
    });
    let head = ["team", "members", "calls", "bytes", "time"];
    let caption = "Collectives by team, and transfers on contexts of teams. All members together.";
    page.table(caption, &head, 1, rows, TableFold::IfLong);
}

/// The members of a team in words.
fn described(team: &TeamKey, pes: u32) -> String {
    let kind = match team.number {
        Some(0) | None => String::new(),
        Some(number) => format!(", number {}", number + 1),
    };
    let what = if team.number.is_none() { "active set" } else { "team" };
    let last = i64::from(team.first) + i64::from(team.stride) * (i64::from(team.size) - 1);
    match team.stride {
        1 if team.size == pes && team.number == Some(0) => "world".into(),
        _ if team.size == 1 => format!("{what} of PE {}{kind}", team.first),
        0 => format!("{what} of PE {} and {} others{kind}", team.first, team.size - 1),
        1 => format!("{what} of PEs {} to {last}{kind}", team.first),
        stride => format!("{what} of PEs {} to {last} by {stride}{kind}", team.first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn teams_are_told_by_their_first_and_last_members() {
        let told = |first, stride, size, number| described(&TeamKey { first, stride, size, sum: 0, number }, 8);
        assert_eq!(told(0, 1, 8, Some(0)), "world");
        assert_eq!(told(7, -1, 8, Some(0)), "team of PEs 7 to 0 by -1");
        assert_eq!(told(6, -2, 3, Some(1)), "team of PEs 6 to 2 by -2, number 2");
        assert_eq!(told(0, 4, 2, None), "active set of PEs 0 to 4 by 4");
        assert_eq!(told(5, 1, 1, Some(0)), "team of PE 5");
    }
}
