//! The timeline of a job as JSON of the Trace Event Format, which Perfetto (ui.perfetto.dev) and Chrome (chrome://tracing) read.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::ops::Range;

use crate::bars::{self, DrawnCall};
use crate::job::RecordedJob;
use crate::layout::RoutineKind;
use crate::ledger::{CallLedger, EventRecord};
use crate::meetings::{self, SharedMeeting};

/// How many events a trace has, and how many did not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceCounts {
    /// Written.
    pub events: u64,
    /// Overwritten by later ones.
    pub dropped: u64,
}

/// Writes the trace. Times are microseconds from the first record of the job.
///
/// `place` names the place of the program behind a call: the index of the ledger and the number of the site say which.
pub fn write(
    job: &RecordedJob,
    place: &dyn Fn(usize, u32) -> Option<String>,
    to: &mut dyn Write,
) -> io::Result<TraceCounts> {
    let begin = job.span().0;
    let shared = meetings::shared(job);
    let mut counts = TraceCounts::default();
    let mut line = String::new();
    write!(to, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    for (number, node) in job.nodes().into_iter().enumerate() {
        let host = job.ledgers.iter().find(|ledger| ledger.node == node).map_or("", |ledger| &ledger.host);
        let comma = if number > 0 { "," } else { "" };
        let name = quoted(&format!("node {number} ({host})"));
        writeln!(
            to,
            "{comma}\n{{\"ph\":\"M\",\"pid\":{node},\"name\":\"process_name\",\"args\":{{\"name\":{name}}}}}"
        )?;
    }
    for (index, ledger) in job.ledgers.iter().enumerate() {
        let (track, name) = (track(ledger), quoted(&title(ledger)));
        writeln!(
            to,
            ",{{\"ph\":\"M\",\"pid\":{node},\"tid\":{track},\"name\":\"thread_name\",\"args\":{{\"name\":{name}}}}},\n\
             {{\"ph\":\"M\",\"pid\":{node},\"tid\":{track},\"name\":\"thread_sort_index\",\"args\":{{\"sort_index\":{track}}}}}",
            node = ledger.node
        )?;
        let places: Vec<(u32, String)> =
            ledger.sites.keys().filter_map(|site| Some((*site, quoted(&place(index, *site)?)))).collect();
        counts.events += ledger.events.len() as u64;
        counts.dropped += ledger.happened - ledger.events.len() as u64;
        for DrawnCall { event, start, end } in bars::drawn(&ledger.events, begin) {
            line.clear();
            let event = &ledger.events[event];
            let at = places.binary_search_by_key(&event.site, |(site, _)| *site).ok().map(|found| &places[found].1);
            let meeting = shared.get(&(ledger.pe, ledger.thread, event.site, event.begin));
            describe(&mut line, ledger, event, start..end, at, meeting);
            to.write_all(line.as_bytes())?;
        }
    }
    for (number, arrow) in arrows(job).iter().enumerate() {
        for (letter, (ledger, event)) in [("s", arrow.from), ("f\",\"bp\":\"e", arrow.to)] {
            let ledger = &job.ledgers[ledger];
            let event = &ledger.events[event];
            // The arrow ends with the wait, in whose bar it lies.
            let at = event.begin.saturating_sub(begin) + if letter == "s" { 0 } else { event.time };
            writeln!(
                to,
                ",{{\"ph\":\"{letter}\",\"id\":{number},\"pid\":{},\"tid\":{},\"ts\":{},\"name\":\"update\",\"cat\":\"update\"}}",
                ledger.node,
                track(ledger),
                microseconds(at)
            )?;
        }
    }
    writeln!(
        to,
        "],\"otherData\":{{\"pes\":{},\"events\":{},\"dropped\":{}}}}}",
        job.pes, counts.events, counts.dropped
    )?;
    Ok(counts)
}

/// An event: the index of its ledger, and its own there.
pub type EventPlace = (usize, usize);

/// From an update of a PE's memory to the wait of that PE that it probably ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateArrow {
    /// The put, atomic or signal.
    pub from: EventPlace,
    /// The wait.
    pub to: EventPlace,
}

/// The arrows: to each wait for a variable leads one from the last update of that PE that had begun before the wait ended, unless it was over
/// for longer than the wait took when that began. Records do not name the variable, so another update may have been the one.
pub fn arrows(job: &RecordedJob) -> Vec<UpdateArrow> {
    let mut updates: BTreeMap<u32, Vec<(u64, EventPlace)>> = BTreeMap::new();
    for (index, ledger) in job.ledgers.iter().enumerate() {
        for (number, event) in ledger.events.iter().enumerate() {
            let updates_memory =
                ledger.sites.get(&event.site).is_some_and(|site| is_update(&site.routine, site.category, event.bytes));
            if let Some(peer) = event.peer.filter(|peer| updates_memory && *peer != ledger.pe) {
                updates.entry(peer).or_default().push((event.begin, (index, number)));
            }
        }
    }
    updates.values_mut().for_each(|all| all.sort_unstable());
    let mut arrows = Vec::new();
    for (index, ledger) in job.ledgers.iter().enumerate() {
        let Some(updates) = updates.get(&ledger.pe) else { continue };
        for (number, event) in ledger.events.iter().enumerate() {
            let waits = ledger.sites.get(&event.site).is_some_and(|site| site.routine.to_lowercase().contains("wait"));
            let before = updates.partition_point(|(begin, _)| *begin <= event.begin + event.time);
            // An update that was over long before the wait began did not end it.
            let time_of = |(ledger, number): EventPlace| job.ledgers[ledger].events[number].time;
            let may_end = |(begin, from): &&(u64, EventPlace)| begin + event.time.max(time_of(*from)) >= event.begin;
            let found = updates[..before].last().filter(|update| waits && may_end(update));
            arrows.extend(found.map(|(_, from)| UpdateArrow { from: *from, to: (index, number) }));
        }
    }
    arrows
}

/// Whether a call of a routine with so many bytes writes to the memory of the PE that it names. Names of Fortran's routines are in upper
/// case.
fn is_update(routine: &str, kind: RoutineKind, bytes: u64) -> bool {
    let routine = routine.to_lowercase();
    match kind {
        // Those of signals and of before version 1.4 do not say `atomic`.
        RoutineKind::Atomic => !["_fetch", "_fetch_nbi"].iter().any(|ending| routine.ends_with(ending)),
        // A put of nothing updates its signal or its counter alone, if it has one.
        RoutineKind::Transfer if bytes == 0 => ["_signal", "putmem_ct"].iter().any(|part| routine.contains(part)),
        RoutineKind::Transfer => routine.contains("put") || routine.ends_with("_p"),
        _ => false,
    }
}

fn describe(
    line: &mut String,
    ledger: &CallLedger,
    event: &EventRecord,
    bar: Range<u64>,
    at: Option<&String>,
    meeting: Option<&SharedMeeting>,
) {
    let (name, category) =
        ledger.sites.get(&event.site).map_or(("", "other"), |site| (&site.routine, site.category.name()));
    let _ = write!(
        line,
        ",{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"name\":{},\"cat\":\"{category}\",\"args\":{{",
        ledger.node,
        track(ledger),
        microseconds(bar.start),
        microseconds(bar.end - bar.start),
        quoted(name)
    );
    let _ = write!(line, "\"bytes\":{}", event.bytes);
    if let Some(peer) = event.peer {
        let _ = write!(line, ",\"peer\":{peer}");
    }
    if let Some(at) = at {
        let _ = write!(line, ",\"at\":{at}");
    }
    if let Some(SharedMeeting { team, number, last, waited }) = meeting {
        let _ = write!(
            line,
            ",\"team\":\"{} PEs from PE {}\",\"number\":{number},\"last\":{last},\"waited\":{}",
            team.size,
            team.first,
            microseconds(*waited)
        );
    }
    line.push_str("}}\n");
}

/// The number of a thread's track: PEs stand in their order, threads below their PE.
fn track(ledger: &CallLedger) -> u64 {
    u64::from(ledger.pe) * 1000 + u64::from(ledger.thread)
}

fn title(ledger: &CallLedger) -> String {
    match ledger.thread {
        0 => format!("PE {}", ledger.pe),
        thread => format!("PE {}, thread {thread}", ledger.pe),
    }
}

/// Nanoseconds as microseconds.
fn microseconds(nanoseconds: u64) -> String {
    format!("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000)
}

/// A string of JSON.
fn quoted(text: &str) -> String {
    let mut json = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => json.extend(['\\', c]),
            c if c < ' ' => drop(write!(json, "\\u{:04x}", c as u32)),
            c => json.push(c),
        }
    }
    json + "\""
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::SiteRecord;

    fn ledger(pe: u32, events: &[(u64, u64)]) -> CallLedger {
        let category = RoutineKind::Transfer;
        let site = SiteRecord { routine: "shmem_putmem".into(), category, ..SiteRecord::default() };
        let event = |&(begin, time): &(u64, u64)| EventRecord { begin, time, site: 3, peer: Some(0), bytes: 8 };
        CallLedger {
            pe,
            pes: 2,
            host: "a \"b\"\n".into(),
            span: (1000, 9000),
            sites: std::collections::BTreeMap::from([(3, site)]),
            events: events.iter().map(event).collect(),
            happened: events.len() as u64 + 5,
            ..CallLedger::default()
        }
    }

    #[test]
    fn a_long_update_ends_a_wait_for_its_end() {
        let site = |routine: &str| SiteRecord { routine: routine.into(), ..ledger(0, &[]).sites[&3].clone() };
        let mut waiter = ledger(1, &[(5900, 100)]);
        waiter.sites = BTreeMap::from([(3, site("shmem_long_wait_until"))]);
        for (time, arrow) in [(4990, Some((0, 0))), (4000, None)] {
            let mut writer = ledger(0, &[(1000, time)]);
            writer.events[0].peer = Some(1);
            let found = arrows(&RecordedJob::of(vec![writer, waiter.clone()]));
            assert_eq!(found.first().map(|arrow| arrow.from), arrow, "an update of {time}");
        }
    }

    #[test]
    fn an_arrow_leads_from_the_last_update_before_its_end_to_a_wait() {
        let site = |routine: &str| SiteRecord { routine: routine.into(), ..ledger(0, &[]).sites[&3].clone() };
        let mut waiter = ledger(1, &[(2000, 500), (5000, 10)]);
        waiter.sites = BTreeMap::from([(3, site("shmem_long_wait_until"))]);
        let mut writer = ledger(0, &[(1000, 10), (2300, 10), (2490, 10), (2600, 10)]);
        writer.events.iter_mut().for_each(|event| event.peer = Some(1));
        let job = RecordedJob::of(vec![writer, waiter]);
        // Nothing was sent around the second wait.
        assert_eq!(arrows(&job), [UpdateArrow { from: (0, 2), to: (1, 0) }]);
        let mut text = Vec::new();
        write(&job, &|_, _| None, &mut text).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
        let ends: Vec<_> = ["s", "f"]
            .map(|letter| {
                let found = json["traceEvents"].as_array().unwrap().iter().find(|event| event["ph"] == letter);
                found.map(|event| (event["tid"].as_u64(), event["ts"].as_f64()))
            })
            .into_iter()
            .flatten()
            .collect();
        assert_eq!(ends, [(Some(0), Some(1.49)), (Some(1000), Some(1.5))]);
        for (routine, kind, writes) in [
            ("shmem_long_p", RoutineKind::Transfer, true),
            ("shmem_putmem_signal", RoutineKind::Transfer, true),
            ("SHMEM_PUT8", RoutineKind::Transfer, true),
            ("shmem_int_g", RoutineKind::Transfer, false),
            ("shmem_getmem", RoutineKind::Transfer, false),
            ("shmem_long_atomic_fetch", RoutineKind::Atomic, false),
            ("SHMEM_INT8_FETCH", RoutineKind::Atomic, false),
            ("shmem_long_atomic_fetch_add", RoutineKind::Atomic, true),
            ("shmem_signal_set", RoutineKind::Atomic, true),
            ("shmem_int_fadd", RoutineKind::Atomic, true),
            ("shmem_barrier_all", RoutineKind::Collective, false),
        ] {
            assert_eq!(is_update(routine, kind, 8), writes, "{routine}");
        }
        let of_nothing = [("shmem_putmem", false), ("shmem_putmem_signal_nbi", true), ("shmemx_putmem_ct", true)];
        for (routine, writes) in of_nothing {
            assert_eq!(is_update(routine, RoutineKind::Transfer, 0), writes, "{routine} of nothing");
        }
    }

    #[test]
    fn a_trace_is_json_whose_events_follow_each_other_on_every_track() {
        let job = RecordedJob::of(vec![ledger(0, &[(1000, 200), (1199, 2), (3000, 1)]), ledger(1, &[(2000, 5)])]);
        let mut text = Vec::new();
        let counts = write(&job, &|_, site| (site == 3).then(|| "a\\b.c:3".into()), &mut text).unwrap();
        assert_eq!(counts, TraceCounts { events: 4, dropped: 10 });
        let json: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
        let events = json["traceEvents"].as_array().unwrap();
        let calls: Vec<_> = events.iter().filter(|event| event["ph"] == "X").collect();
        assert_eq!(calls.len(), 4);
        assert_eq!((calls[0]["ts"].as_f64(), calls[0]["dur"].as_f64()), (Some(0.0), Some(0.2)));
        assert_eq!(calls[1]["ts"].as_f64(), Some(0.2), "an event does not begin before the one in front of it ends");
        assert_eq!(calls[3]["tid"].as_u64(), Some(1000));
        assert_eq!(calls[0]["args"]["at"], "a\\b.c:3");
        assert_eq!(events[0]["args"]["name"], "node 0 (a \"b\"\n)");
        assert_eq!(json["otherData"]["dropped"], 10);
    }

    #[test]
    fn a_call_that_a_handler_makes_lies_inside_of_the_wait() {
        let job = RecordedJob::of(vec![ledger(0, &[(4000, 200), (2000, 5000), (7500, 1)])]);
        let mut text = Vec::new();
        write(&job, &|_, _| None, &mut text).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
        let calls = json["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X");
        let bars: Vec<_> = calls.map(|call| [&call["ts"], &call["dur"]].map(|time| time.as_f64().unwrap())).collect();
        assert_eq!(bars, [[1.0, 5.0], [3.0, 0.2], [6.5, 0.001]]);
    }
}
