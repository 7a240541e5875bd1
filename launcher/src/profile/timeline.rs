//! The timeline: written at the end of a job, and summarised later.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use oxshmem_base::Error;
use oxshmem_profile::job::RecordedJob;
use oxshmem_profile::{totals, trace};
use oxshmem_report::units;
use serde::Deserialize;

use super::places::ProgramPlaces;

/// Writes the timeline, and says so in a sentence.
pub(crate) fn write(job: &RecordedJob, path: &Path) -> Result<String, Error> {
    let unwritable = |error: std::io::Error| {
        Error::new(format!("{} cannot be written", path.display()))
            .because(error)
            .fix("choose another place for --trace")
    };
    let mut places = ProgramPlaces::default();
    let mut names: HashMap<(usize, u32), String> = HashMap::new();
    for (index, ledger) in job.ledgers.iter().enumerate() {
        for (number, site) in &ledger.sites {
            names.insert((index, *number), places.name(&totals::place(ledger, site.caller)));
        }
    }
    let mut file = BufWriter::new(File::create(path).map_err(unwritable)?);
    let counts =
        trace::write(job, &|ledger, site| names.get(&(ledger, site)).cloned(), &mut file).map_err(unwritable)?;
    file.flush().map_err(unwritable)?;
    let dropped = match counts.dropped {
        0 => String::new(),
        dropped => format!("; {dropped} earlier ones are dropped, --trace-events keeps more"),
    };
    let notes: String = job.missing.iter().map(|sentence| format!("; {sentence}")).collect();
    Ok(format!(
        "timeline of {} calls in {}: open it at ui.perfetto.dev or chrome://tracing{dropped}{notes}",
        counts.events,
        path.display()
    ))
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

#[derive(Deserialize)]
struct TraceEvent {
    ph: String,
    #[serde(default)]
    tid: u64,
    #[serde(default)]
    ts: f64,
    #[serde(default)]
    dur: f64,
    name: String,
    #[serde(default)]
    args: TraceArguments,
}

#[derive(Default, Deserialize)]
struct TraceArguments {
    #[serde(default)]
    at: String,
}

/// `oxshmem trace`: what a timeline shows, in words.
pub fn summarise(path: &Path) -> Result<String, Error> {
    let wrong = |why: String| {
        Error::new(format!("{} is no timeline of oshrun --trace", path.display()))
            .because(why)
            .fix("name the file of --trace")
    };
    let bytes = fs::read(path).map_err(|error| wrong(error.to_string()))?;
    let trace: TraceFile = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
    let calls: Vec<&TraceEvent> = trace.trace_events.iter().filter(|event| event.ph == "X").collect();
    let ends = calls.iter().map(|event| event.ts + event.dur).fold(0.0, f64::max);
    let mut text = format!(
        "timeline of {} PEs: {} calls over {}; {} earlier calls are not in it\n\n  {:<34} {:>9} {:>11} {:>11}\n",
        trace.other_data.pes,
        trace.other_data.events,
        units::time(ends * 1e3),
        trace.other_data.dropped,
        "routine",
        "calls",
        "time",
        "longest"
    );
    let mut routines: BTreeMap<&str, (u64, f64, f64)> = BTreeMap::new();
    for event in &calls {
        let (count, time, longest) = routines.entry(&event.name).or_default();
        (*count, *time, *longest) = (*count + 1, *time + event.dur, longest.max(event.dur));
    }
    let mut rows: Vec<_> = routines.into_iter().collect();
    rows.sort_by(|a, b| b.1.1.total_cmp(&a.1.1));
    for (name, (count, time, longest)) in rows {
        let (time, longest) = (units::time(time * 1e3), units::time(longest * 1e3));
        let _ = writeln!(text, "  {name:<34} {count:>9} {time:>11} {longest:>11}");
    }
    let mut longest = calls;
    longest.sort_by(|a, b| b.dur.total_cmp(&a.dur));
    text.push_str("\n  longest calls\n");
    for event in longest.iter().take(8) {
        let place = if event.args.at.is_empty() { String::new() } else { format!(" at {}", event.args.at) };
        let (time, since) = (units::time(event.dur * 1e3), units::time(event.ts * 1e3));
        let _ = writeln!(text, "  PE {}: {} took {time} after {since}{place}", event.tid / 1000, event.name);
    }
    Ok(text)
}
