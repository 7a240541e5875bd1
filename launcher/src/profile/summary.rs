//! The summary of a timeline, in words and as a page.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use oxshmem_base::{Error, size};
use oxshmem_report::chart::{Axis, Chart, Curve, Mark, Stroke};
use oxshmem_report::page::{Document, TableFold};
use oxshmem_report::scale::Division;
use oxshmem_report::units;
use serde::Deserialize;

use super::event::TraceEvent;
use super::places::behind_verb;
use super::{otf2, picture};
use crate::{results, verdict};

/// The timeline and where its page goes.
#[derive(Args)]
pub struct TraceArgs {
    /// The file of the timeline
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Also write a self-contained page with charts to this file
    #[arg(long, value_name = "PAGE")]
    html: Option<PathBuf>,
    /// Also write it as an archive of the Open Trace Format 2 into this folder, for Vampir and other tools
    #[arg(long, value_name = "DIR")]
    otf2: Option<PathBuf>,
}

impl TraceArgs {
    /// The summary in words; the page is written.
    pub fn run(&self) -> Result<String, Error> {
        let summary = TraceSummary::read(&self.file)?;
        if let Some(page) = &self.html {
            let unwritten = results::unwritten(page, "choose another place for --html");
            results::write(page, summary.page()).map_err(unwritten)?;
        }
        if let Some(folder) = &self.otf2 {
            summary.archive(folder).map_err(|error| {
                Error::new(format!("the archive in {} cannot be written", folder.display()))
                    .because(error)
                    .fix("choose another folder for --otf2")
            })?;
        }
        Ok(summary.text())
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TraceFile {
    trace_events: Vec<TraceEvent>,
    other_data: TraceData,
}

#[derive(Deserialize)]
struct TraceData {
    pes: u32,
    events: u64,
    dropped: u64,
}

/// Bytes of a timeline that are read: those of some ten million calls.
const LONGEST_FILE: u64 = 2 << 30;
/// How many of the longest calls are named.
const LONGEST: usize = 8;
/// Points of a curve over time.
const POINTS: usize = 64;
/// Routines that have a curve.
const CURVES: usize = 4;

/// The calls of a timeline.
struct TraceSummary {
    data: TraceData,
    /// The longest first.
    calls: Vec<TraceEvent>,
    /// Names of tracks, and the ends of arrows.
    others: Vec<TraceEvent>,
    /// When the last one ended, in microseconds.
    end: f64,
    /// By time, most first.
    routines: Vec<(String, RoutineTimes)>,
}

/// The calls of one routine, in microseconds.
#[derive(Default)]
struct RoutineTimes {
    calls: u64,
    time: f64,
    longest: f64,
}

impl TraceSummary {
    fn read(path: &Path) -> Result<Self, Error> {
        let wrong = |why: String| {
            Error::new(format!("{} is no timeline of oshrun --trace", path.display()))
                .because(why)
                .fix("name the file of --trace")
        };
        let file = File::open(path).map_err(|error| wrong(error.to_string()))?;
        let length = file.metadata().map_or(0, |about| about.len());
        if length > LONGEST_FILE {
            let (length, most) = (size::display(length), size::display(LONGEST_FILE));
            return Err(Error::new(format!("{} is too long for a summary", path.display()))
                .because(format!("it has {length}, and {most} are read at most"))
                .fix("let each thread keep fewer calls: oshrun --trace-events N"));
        }
        // A device may bring bytes without end. The reader stops at the first one that is no JSON.
        Self::of(BufReader::new(file.take(LONGEST_FILE))).map_err(|error| wrong(error.to_string()))
    }

    fn of(file: impl Read) -> serde_json::Result<Self> {
        let TraceFile { trace_events: all, other_data: data } = serde_json::from_reader(file)?;
        let (mut calls, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|event| event.ph == "X");
        calls.sort_by(|a, b| b.dur.total_cmp(&a.dur));
        let end = calls.iter().map(|call| call.ts + call.dur).fold(0.0, f64::max);
        let mut routines: BTreeMap<&str, RoutineTimes> = BTreeMap::new();
        for call in &calls {
            let times = routines.entry(&call.name).or_default();
            times.calls += 1;
            times.time += call.dur;
            times.longest = times.longest.max(call.dur);
        }
        let mut routines: Vec<_> = routines.into_iter().map(|(name, times)| (name.to_owned(), times)).collect();
        routines.sort_by(|a, b| b.1.time.total_cmp(&a.1.time));
        Ok(Self { data, calls, others, end, routines })
    }

    fn archive(&self, folder: &Path) -> std::io::Result<()> {
        let titles = self.others.iter().filter(|event| event.ph == "M" && event.name == "thread_name");
        let titles = titles.map(|event| (event.tid, event.args.name.as_str())).collect();
        otf2::write(&self.calls, &titles, folder)
    }

    fn lead(&self) -> String {
        let TraceData { pes, events, dropped } = self.data;
        let whole = units::time(self.end * 1e3);
        let earlier = match dropped {
            0 => String::new(),
            _ => format!("; {dropped} earlier calls are not in it"),
        };
        format!(
            "{}: {} over {whole}{earlier}",
            verdict::counted(pes as usize),
            verdict::counted_as(events as usize, "call")
        )
    }

    /// Of each routine its calls, their time and the longest one, in words.
    fn rows(&self) -> impl Iterator<Item = [String; 4]> {
        self.routines.iter().map(|(name, RoutineTimes { calls, time, longest })| {
            [name.clone(), calls.to_string(), units::time(time * 1e3), units::time(longest * 1e3)]
        })
    }

    fn text(&self) -> String {
        let mut text = format!("timeline of {}\nTimes of routines are the sums of all PEs.\n\n", self.lead());
        let titles = TITLES.map(str::to_owned);
        // Writing to a string cannot fail.
        for [name, calls, time, longest] in std::iter::once(titles).chain(self.rows()) {
            let _ = writeln!(text, "  {name:<34} {calls:>9} {time:>11} {longest:>11}");
        }
        text.push_str("\n  longest calls\n");
        for call in self.calls.iter().take(LONGEST) {
            let at = &call.args.at;
            let place = if at.is_empty() { String::new() } else { behind_verb(at) };
            let (time, since) = (units::time(call.dur * 1e3), units::time(call.ts * 1e3));
            let _ = writeln!(text, "  PE {}: {} took {time}, from {since} on{place}", call.pe(), call.name);
        }
        text
    }

    fn page(&self) -> String {
        let mut page = Document::new("Where the time of a job went", &self.lead());
        page.heading("Timeline");
        let (drawing, is_cut) = picture::drawing(&self.calls, &self.others, self.end);
        page.text(
            "One row for each thread. The wheel zooms, dragging moves, a double click shows all. An arrow leads from an update to the \
             wait that it probably ended.",
        );
        if is_cut {
            page.text("Only the longest calls are drawn, and not all arrows.");
        }
        page.block(&drawing);
        page.heading("Over time");
        let caption = "Share of all PEs' time in the routines that take the most of it.";
        let x = Axis { title: "seconds".into(), division: Division::Linear, write: units::digits };
        let y = Axis { title: "% of the time".into(), division: Division::Percent, write: units::digits };
        let longest = self.routines.iter().take(CURVES).enumerate();
        let curves = longest.map(|(hue, (name, _))| self.curve(hue, name)).collect();
        page.open_figures();
        Chart { title: caption.into(), x, y, curves }.put_on(&mut page);
        page.close_figures();
        page.heading("Routines");
        page.table("All PEs together.", &TITLES, 1, self.rows(), TableFold::Open);
        page.heading("Longest calls");
        let longest = self.calls.iter().take(LONGEST).map(|call| {
            let [time, since] = [call.dur, call.ts].map(|time| units::time(time * 1e3));
            [call.name.clone(), call.args.at.clone(), format!("PE {}", call.pe()), time, since]
        });
        let titles = ["routine", "place", "PE", "time", "after"];
        page.table("The longest first.", &titles, 2, longest, TableFold::Open);
        page.finish()
    }

    /// The share of all PEs' time that a routine takes, over time.
    fn curve(&self, hue: usize, name: &str) -> Curve {
        let step = (self.end / POINTS as f64).max(f64::MIN_POSITIVE);
        let mut inside = [0.0; POINTS];
        for call in self.calls.iter().filter(|call| call.name == name) {
            let (first, last) = (call.ts / step, (call.ts + call.dur) / step);
            for (point, time) in
                inside.iter_mut().enumerate().skip(first as usize).take(last as usize - first as usize + 1)
            {
                *time += (last.min(point as f64 + 1.0) - first.max(point as f64)).max(0.0);
            }
        }
        let marks = inside.into_iter().enumerate().map(|(point, time)| {
            let (x, percent) = ((point as f64 + 0.5) * step / 1e6, 100.0 * time / f64::from(self.data.pes.max(1)));
            let note = format!("{percent:.1} % after {}", units::time(x * 1e9));
            Mark { x, y: percent.min(100.0), around: None, note }
        });
        Curve { name: name.into(), hue, stroke: Stroke::Whole, marks: marks.collect() }
    }
}

const TITLES: [&str; 4] = ["routine", "calls", "time", "longest"];

#[cfg(test)]
mod tests {
    use oxshmem_test_folder::TestFolder;

    use super::{LONGEST_FILE, TraceSummary};

    const TIMELINE: &str = r#"{"traceEvents": [
        {"ph": "M", "name": "thread_name"},
        {"ph": "X", "tid": 0, "ts": 0, "dur": 64, "name": "shmem_barrier_all", "args": {"at": "a.c:7"}},
        {"ph": "X", "tid": 1000, "ts": 32, "dur": 32, "name": "shmem_barrier_all"},
        {"ph": "X", "tid": 1000, "ts": 0, "dur": 8, "name": "shmem_putmem", "args": {"at": "in main"}}
    ], "otherData": {"pes": 2, "events": 3, "dropped": 4}}"#;

    #[test]
    fn routines_stand_by_their_time() {
        let text = TraceSummary::of(TIMELINE.as_bytes()).expect("the timeline is one").text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "timeline of 2 PEs: 3 calls over 64.0 µs; 4 earlier calls are not in it");
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(lines[4]), ["shmem_barrier_all", "2", "96.0", "µs", "64.0", "µs"]);
        assert_eq!(lines[8], "  PE 0: shmem_barrier_all took 64.0 µs, from 0 ns on at a.c:7");
        assert_eq!(lines[10], "  PE 1: shmem_putmem took 8.00 µs, from 0 ns on in main");
    }

    #[test]
    fn a_file_that_is_too_long_is_told_so() {
        let folder = TestFolder::new("long-trace");
        let path = folder.join("trace.json");
        let file = std::fs::File::create(&path).expect("our folder");
        // It has a length and no blocks.
        file.set_len(LONGEST_FILE + 1).expect("the file system takes holes");
        let told = TraceSummary::read(&path).map(|_| ()).expect_err("it is too long").to_string();
        assert!(told.contains("too long for a summary") && told.contains("--trace-events"), "{told}");
    }

    #[test]
    fn a_call_counts_where_it_was() {
        let summary = TraceSummary::of(TIMELINE.as_bytes()).expect("the timeline is one");
        let shares = |name| summary.curve(0, name).marks.iter().map(|mark| mark.y).collect::<Vec<_>>();
        // Of 64 points of a microsecond each, one PE is in the barrier from the first on, the other one from the 33rd on.
        let [barrier, put] = ["shmem_barrier_all", "shmem_putmem"].map(shares);
        assert_eq!((barrier.len(), barrier[0], barrier[31], barrier[32], barrier[63]), (64, 50.0, 50.0, 100.0, 100.0));
        assert_eq!((put[0], put[7], put[8]), (50.0, 50.0, 0.0));
        assert!(summary.page().contains("data-curve=\"shmem_barrier_all\""));
    }
}
