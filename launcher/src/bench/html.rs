//! The report: what was found, as a page with charts.

use oxshmem_report::chart::{Chart, Curve, Stroke, legend};
use oxshmem_report::dots::{self, Dot, DotLine};
use oxshmem_report::page::{Document, TableFold, escape};
use oxshmem_report::units;

use super::campaign::{Campaign, Figure, Measurand};
use super::spread::distributions;
use super::sweeps::{BySize, COLLECTIVES, MANY, ONE_WAY, overlap_chart};
use super::table::{DIFFERENCES, change};
use crate::verdict::counted;

/// Operations without sizes: a caption and the patterns.
const WITHOUT_SIZES: &[(&str, &[&str])] = &[
    (
        "Single elements and 64-bit atomics on the partner's memory (those without a result with their quiet; fetch_add_nbi many at once), and fetch_add of all PEs on one word.",
        &["p", "g", "atomic", "contended atomic"],
    ),
    ("Barriers, synchronisations, and teams that are made and destroyed.", &["barrier", "sync", "team"]),
    (
        "Start-up: shmem_init as PE 0 sees it, and the whole job from the launcher's start to its end, with an empty program.",
        &["start-up"],
    ),
];

pub(crate) fn page(campaign: &Campaign, against: Option<&Campaign>) -> String {
    let libraries: Vec<String> = campaign.contenders.iter().map(|subject| escape(&subject.title())).collect();
    let mut lead =
        format!("{} on {}, {}.", libraries.join(" beside "), counted(campaign.pes as usize), escape(&campaign.date));
    if let Some(against) = against {
        lead += &format!(" Dotted: the run of {}.", escape(&against.date));
        lead += &campaign.unlike(against).map_or_else(String::new, |unlike| format!(" Note: {}.", escape(&unlike)));
    }
    let mut page = Document::new("What OpenSHMEM operations cost here", &lead);
    page.heading("At a glance");
    glance(&mut page, campaign);
    section(&mut page, "One operation at a time", ONE_WAY, campaign, against);
    section(&mut page, "Many operations at once", MANY, campaign, against);
    figures(&mut page, "Transfers beside computation", overlap_chart(campaign, against).into_iter().collect());
    without_sizes(&mut page, campaign);
    section(&mut page, "Collectives", COLLECTIVES, campaign, against);
    distributions(&mut page, campaign);
    if let Some(against) = against {
        compared(&mut page, campaign, against);
    }
    surroundings(&mut page, campaign);
    all_figures(&mut page, campaign);
    page.finish()
}

fn section(document: &mut Document, heading: &str, charts: &[BySize], campaign: &Campaign, against: Option<&Campaign>) {
    figures(document, heading, charts.iter().filter_map(|by_size| by_size.chart(campaign, against)).collect());
}

fn figures(document: &mut Document, heading: &str, drawn: Vec<Chart>) {
    if drawn.is_empty() {
        return;
    }
    document.heading(heading);
    document.open_figures();
    drawn.iter().for_each(|chart| chart.put_on(document));
    document.close_figures();
}

/// The few figures that most readers look for.
const GLANCE: &[(&str, &str, &str, u64)] = &[
    ("p and quiet", "p", "", 8),
    ("g", "g", "", 8),
    ("put and quiet, 8 B", "put", "", 8),
    ("get, 8 B", "get", "", 8),
    ("put with signal, 8 B, one way", "put with signal", "", 8),
    ("put and flag, 8 B, one way", "put and flag", "", 8),
    ("atomic fetch_add", "atomic", "fetch_add", 8),
    ("barrier_all", "barrier", "all", 0),
    ("broadcast, 8 B, active set", "broadcast", "set", 8),
    ("broadcast, 8 B, team", "broadcast", "team", 8),
    ("sum of one double, active set", "sum of doubles", "set", 8),
    ("sum of one double, team", "sum of doubles", "team", 8),
    ("team split and destroy", "team", "split_strided and destroy", 0),
    ("shmem_init", "start-up", "shmem_init", 0),
    ("whole empty job", "start-up", "whole job", 0),
    ("memory per PE after init", "memory per PE", "after init", 0),
];

fn glance(page: &mut Document, campaign: &Campaign) {
    let mut head = vec![""];
    for subject in &campaign.contenders {
        head.extend([subject.name.as_str(), "95 % interval"]);
    }
    let others: Vec<String> =
        campaign.contenders.iter().skip(1).map(|subject| format!("{} / {}", subject.name, campaign.ours())).collect();
    head.extend(others.iter().map(String::as_str));
    let mut rows = Vec::new();
    for (name, pattern, form, bytes) in GLANCE {
        let of = |contender: &str| Measurand {
            contender: contender.to_owned(),
            pattern: (*pattern).to_owned(),
            form: (*form).to_owned(),
            bytes: *bytes,
        };
        let figures: Vec<Option<&Figure>> =
            campaign.contenders.iter().map(|subject| campaign.figure(&of(&subject.name))).collect();
        if figures.iter().all(Option::is_none) {
            continue;
        }
        let dash = || "–".to_owned();
        let mut row = vec![(*name).to_owned()];
        for figure in &figures {
            row.push(figure.map_or_else(dash, |figure| figure.told(campaign.pes)));
            row.push(figure.and_then(|figure| figure.interval_told(campaign.pes)).unwrap_or_else(dash));
        }
        for other in figures.iter().skip(1) {
            let ratio = figures[0].zip(*other).map(|(ours, theirs)| format!("{:.2}", theirs.value / ours.value));
            row.push(ratio.unwrap_or_else(dash));
        }
        rows.push(row);
    }
    page.table("Medians of all rounds.", &head, 1, rows, TableFold::Open);
}

fn without_sizes(page: &mut Document, campaign: &Campaign) {
    let mut drawn = Vec::new();
    for (caption, patterns) in WITHOUT_SIZES {
        let mut lines: Vec<DotLine> = Vec::new();
        for figure in campaign.figures.iter().filter(|figure| patterns.contains(&figure.of.pattern.as_str())) {
            let hue = campaign.contenders.iter().position(|subject| subject.name == figure.of.contender).unwrap_or(0);
            let interval =
                figure.interval_told(campaign.pes).map_or_else(String::new, |interval| format!(" ({interval})"));
            let note = format!("{}: {}{interval}", figure.of.contender, figure.told(campaign.pes));
            let dot = Dot { hue, value: figure.value, around: figure.interval, note };
            let name = figure.name();
            match lines.iter_mut().find(|line| line.name == name) {
                Some(line) => line.dots.push(dot),
                None => lines.push(DotLine { name, dots: vec![dot] }),
            }
        }
        if !lines.is_empty() {
            drawn.push((*caption, lines));
        }
    }
    if drawn.is_empty() {
        return;
    }
    page.heading("Operations without a size");
    page.open_figures();
    let libraries: Vec<Curve> = campaign
        .drawn()
        .enumerate()
        .map(|(hue, (name, ..))| Curve { name: name.into(), hue, stroke: Stroke::Whole, marks: Vec::new() })
        .collect();
    let legend = if libraries.len() > 1 { legend(&libraries) } else { String::new() };
    for (caption, lines) in &drawn {
        page.figure(caption, &(dots::svg(caption, "time of one operation", lines, units::time) + &legend));
    }
    page.close_figures();
}

fn compared(page: &mut Document, campaign: &Campaign, against: &Campaign) {
    let row = |figure: &Figure| {
        let earlier = against.figure(&figure.of)?;
        let change = change(figure, campaign.pes, against)?;
        Some([
            figure.of.contender.clone(),
            figure.name(),
            figure.of.bytes.to_string(),
            earlier.told(against.pes),
            figure.told(campaign.pes),
            change,
        ])
    };
    let rows: Vec<[String; 6]> = campaign.figures.iter().filter_map(row).collect();
    page.heading("Compared with the earlier run");
    let differs = |row: &&[String; 6]| DIFFERENCES.iter().any(|word| row[5].ends_with(*word));
    let different = rows.iter().filter(differs).count();
    page.text(&format!(
        "The earlier run is of {} ({} PEs, {} rounds). Of {} figures {different} differ so much that their intervals do not meet.",
        against.date,
        against.pes,
        against.rounds,
        rows.len()
    ));
    let head = ["library", "operation", "bytes", "earlier", "now", "now / earlier"];
    page.table("Every figure beside the earlier one.", &head, 2, rows, TableFold::Folded);
}

/// How the figures came about.
const METHOD: [&str; 4] = [
    "Each group of operations is a job of its own. A round runs every group once; libraries that are compared take turns, and \
     another one begins in every round. In a job every operation is repeated until a batch is long enough, which also warms up; \
     then 8 batches are timed, and 3 of long operations. The value of a round is the median of its batches, a figure is the \
     median of its rounds. Its interval has two rounds as its ends and covers the median with at least 95 % whatever the \
     distribution is (sign test); fewer than six rounds give none.",
    "A batch is many repetitions, so that the clock's resolution does not matter; its size is in the table. Percentiles come from \
     repetitions timed one by one only, and from no batch; each contains one reading of the clock. There are none where a \
     repetition takes less than four readings of the clock, and none where fewer than ten samples lie beyond.",
    "Operations between two PEs are timed by the first one; collectives by the slowest PE. Before repetitions of a collective that \
     are timed one by one, all PEs meet, untimed. PE i is the partner of PE i + n/2.",
    "Before each timed part the data is renewed and its destination is spoilt, and behind it every byte is compared, on every PE. \
     Neither is in any figure. A wrong byte ends the run.",
];

fn surroundings(page: &mut Document, campaign: &Campaign) {
    page.heading("Method and machine");
    METHOD.iter().for_each(|sentence| page.text(sentence));
    let machine = campaign.machine.iter().map(|(name, value)| [name.clone(), value.clone()]);
    let libraries = campaign.contenders.iter().map(|subject| {
        let started = format!("{}, OpenSHMEM {}, started by {}", subject.library, subject.standard, subject.launcher);
        [subject.name.clone(), started]
    });
    let run = [
        ["PEs, rounds".into(), format!("{}, {}", campaign.shape(), campaign.rounds)],
        ["command".into(), campaign.command.clone()],
        ["date".into(), campaign.date.clone()],
    ];
    let rows = machine.chain(libraries).chain(run);
    page.table("Where and how it was measured.", &["", ""], 2, rows, TableFold::Open);
    if !campaign.missing.is_empty() {
        let rows = campaign.missing.iter();
        let rows = rows.map(|missing| [missing.contender.clone(), missing.group.clone(), missing.why.clone()]);
        page.table("What could not be measured.", &["library", "group", "reason"], 3, rows, TableFold::Open);
    }
}

fn all_figures(page: &mut Document, campaign: &Campaign) {
    page.heading("All figures");
    let row = |figure: &Figure| {
        [
            figure.of.contender.clone(),
            figure.name(),
            figure.of.bytes.to_string(),
            figure.told(campaign.pes),
            figure.interval_told(campaign.pes).unwrap_or_else(|| "–".into()),
            figure.batch.to_string(),
        ]
    };
    let head = ["library", "operation", "bytes", "median", "95 % interval", "batch"];
    page.table("Every figure.", &head, 2, campaign.figures.iter().map(row), TableFold::Folded);
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    /// The paths of the curves of that name.
    fn curves<'h>(html: &'h str, name: &str) -> Vec<&'h str> {
        let start = format!("data-curve=\"{name}\"><path class=\"");
        let path = |rest: &'h str| rest.split(" d=\"").nth(1)?.split('"').next();
        html.split(&start).skip(1).filter_map(path).collect()
    }

    #[test]
    fn every_sweep_has_its_curves_with_all_sizes() {
        let html = page(&sample(), None);
        for name in [
            "put and quiet (ours)",
            "get (Open MPI)",
            "put with signal (ours)",
            "put, both ways (ours)",
            "active set (ours)",
            "team (Open MPI)",
        ] {
            let found = curves(&html, name);
            assert!(!found.is_empty(), "{name} is not drawn");
            for path in found {
                assert_eq!(path.matches(['M', 'L']).count(), 4, "{name}: {path}");
            }
        }
        for name in ["limit: memcpy in one process", "limit: the line between hosts"] {
            assert!(!curves(&html, name).is_empty(), "{name} is not drawn");
        }
        assert!(html.contains("data-line=\"atomic, fetch_add\"") && html.contains("class=\"bar c0\""));
    }

    #[test]
    fn an_earlier_run_is_drawn_beside_this_one() {
        let (mut now, earlier) = (sample(), sample());
        let html = page(&now, Some(&earlier));
        assert!(!curves(&html, "put and quiet (earlier run)").is_empty());
        assert!(html.contains("0 differ so much") && html.contains("1.00 times, no difference"));
        for figure in &mut now.figures {
            figure.value *= 4.0;
            figure.interval = figure.interval.map(|(low, high)| (low * 4.0, high * 4.0));
        }
        let all = format!("Of {0} figures {0} differ so much", now.figures.len());
        assert!(page(&now, Some(&earlier)).contains(&all), "{all}");
    }

    #[test]
    fn the_page_says_how_and_where_and_what_is_missing() {
        let html = page(&sample(), None);
        for word in ["sign test", "kernel", "Open MPI 1, OpenSHMEM 1.4", "no teams", "99.99 %"] {
            assert!(html.contains(word), "{word} is missing");
        }
        assert!(!html.contains("<script") && !html.contains("http:") && !html.contains("https:"));
        for tag in ["svg", "g", "figure", "table", "div", "details"] {
            let open = html.matches(&format!("<{tag}>")).count() + html.matches(&format!("<{tag} ")).count();
            assert_eq!(open, html.matches(&format!("</{tag}>")).count(), "{tag}");
        }
    }
}
