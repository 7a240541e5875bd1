//! The summary at the end of a job, for a terminal.

use std::fmt::Write;

use oxshmem_base::size;
use oxshmem_profile::job::RecordedJob;
use oxshmem_profile::layout::RoutineKind;
use oxshmem_profile::totals::{SlowPe, Totals};
use oxshmem_report::units;

use super::places::{ProgramPlaces, by_time};
use super::verdict;
use crate::verdict::counted_as;

/// Rows of the table of routines.
const ROUTINES: usize = 12;
/// Rows of the other tables.
const ROWS: usize = 6;

pub(crate) fn summary(job: &RecordedJob, totals: &Totals, places: &mut ProgramPlaces) -> String {
    let (begin, end) = job.span();
    let (inside, all) = (totals.inside(), totals.time());
    let waiting: f64 = totals.times.values().map(|time| time.waiting).sum();
    let share = |time: f64| if all > 0.0 { 100.0 * time / all } else { 0.0 };
    let mut text = format!(
        "\nprofile of {} on {} over {}: {:.1} % of their time in the library, {:.1} % waiting for other PEs\n",
        crate::verdict::counted(job.pes as usize),
        nodes(job),
        units::time((end - begin) as f64),
        share(inside),
        share(waiting)
    );
    for (sentence, number) in verdict::verdict(job, totals, places).into_iter().zip(0..) {
        let _ = writeln!(text, "{} {sentence}", if number == 0 { "verdict:" } else { "and:    " });
    }
    if let Some(sentence) = heap(totals) {
        let _ = writeln!(text, "heap:    {sentence}");
    }
    for sentence in &job.missing {
        let _ = writeln!(text, "note: {sentence}");
    }
    text.push_str("\nTimes are sums over PEs and threads, all time that of each from its first record to its last.\n");
    routines(&mut text, totals);
    sites(&mut text, totals, places);
    peers(&mut text, totals);
    blame(&mut text, totals);
    text
}

/// The most that any PE has used of its symmetric heap, in words: what SHMEM_SYMMETRIC_SIZE has to allow.
pub(crate) fn heap(totals: &Totals) -> Option<String> {
    let (pe, most) = totals.heap()?;
    let same = totals.times.values().all(|time| time.heap == most);
    let most = size::display(most);
    Some(if same {
        format!("each PE has used up to {most} of its symmetric heap")
    } else {
        format!("PE {pe} has used the most of its symmetric heap: {most}")
    })
}

/// The number of nodes in words.
pub(crate) fn nodes(job: &RecordedJob) -> String {
    counted_as(job.nodes().len(), "node")
}

/// A line below a heading, or the heading: a name and numbers.
fn row(text: &mut String, name: &str, numbers: &[String]) {
    let _ = write!(text, "  {name:<34}");
    for number in numbers {
        let _ = write!(text, " {number:>11}");
    }
    text.push('\n');
}

fn heading(text: &mut String, name: &str, numbers: &[&str]) {
    text.push('\n');
    row(text, name, &numbers.iter().map(|number| number.to_string()).collect::<Vec<_>>());
}

fn rest(text: &mut String, all: usize, shown: usize) {
    if all > shown {
        let _ = writeln!(text, "  and {} more in the report", all - shown);
    }
}

fn routines(text: &mut String, totals: &Totals) {
    heading(text, "routine", &["calls", "bytes", "time", "waiting", "per call", "slowest PE"]);
    let rows = by_time(&totals.routines);
    // Queries hardly take time, and stand in the table then only if there is room. A loop around `shmem_test` takes much.
    let hardly = |time: f64| time < totals.time() / 100.0;
    let some: Vec<_> = rows
        .iter()
        .filter(|((_, kind), total)| *kind != RoutineKind::Other || !hardly(total.time) || rows.len() < ROUTINES)
        .take(ROUTINES)
        .collect();
    for ((name, _), total) in &some {
        let slowest = total.slowest().map(|slow| match slow {
            SlowPe::Longest(pe, _) => format!("{pe} ({:.1}x)", total.imbalance(totals.pes)),
            SlowPe::Awaited(pe, _) => format!("{pe} (late)"),
        });
        row(
            text,
            name,
            &[
                total.calls.to_string(),
                units::size(total.bytes as f64),
                units::time(total.time),
                units::time(total.waiting),
                units::time(total.time / total.calls as f64),
                slowest.unwrap_or_default(),
            ],
        );
    }
    rest(text, rows.len(), some.len());
}

fn sites(text: &mut String, totals: &Totals, places: &mut ProgramPlaces) {
    heading(text, "place", &["calls", "time", "waiting", "per call"]);
    let rows = places.of(&totals.sites);
    for ((routine, place), total) in rows.iter().take(ROWS) {
        let name = format!("{place} {}", routine.trim_start_matches("shmem_"));
        let numbers = [
            total.calls.to_string(),
            units::time(total.time),
            units::time(total.waiting),
            units::time(total.time / total.calls as f64),
        ];
        row(text, &name, &numbers);
    }
    rest(text, rows.len(), ROWS);
}

fn peers(text: &mut String, totals: &Totals) {
    let mut rows: Vec<_> = totals.pairs.iter().collect();
    if rows.is_empty() {
        return;
    }
    heading(text, "from, to", &["put", "got", "atomics", "calls"]);
    rows.sort_by_key(|(_, ways)| std::cmp::Reverse(ways.iter().map(|way| way.bytes).sum::<u64>()));
    for ((from, to), [puts, gets, atomics]) in rows.iter().take(ROWS).map(|(pair, ways)| (*pair, *ways)) {
        let numbers = [
            units::size(puts.bytes as f64),
            units::size(gets.bytes as f64),
            atomics.calls.to_string(),
            (puts.calls + gets.calls + atomics.calls).to_string(),
        ];
        row(text, &format!("PE {from} to PE {to}"), &numbers);
    }
    rest(text, rows.len(), ROWS);
}

fn blame(text: &mut String, totals: &Totals) {
    let mut rows: Vec<_> = totals.blame.pairs.iter().collect();
    rows.sort_by(|a, b| b.1.total_cmp(a.1));
    if rows.is_empty() {
        return;
    }
    heading(text, "who waited for whom", &["time"]);
    for ((waiter, reason), time) in rows.iter().take(ROWS) {
        row(text, &format!("PE {waiter} for PE {reason}"), &[units::time(**time)]);
    }
    rest(text, rows.len(), ROWS);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use oxshmem_profile::ledger::{CallLedger, SiteRecord};
    use oxshmem_profile::totals;

    use super::*;

    #[test]
    fn routines_that_have_no_room_are_counted() {
        let site = |(number, category): (u32, RoutineKind)| {
            let routine = format!("shmem_{number}");
            let calls = SiteRecord { calls: 1, time: 9.0, timed: 1, longest: 9.0, ..SiteRecord::default() };
            (number, SiteRecord { routine, category, ..calls })
        };
        let summary_of = |kinds: &[RoutineKind], end| {
            let sites: BTreeMap<u32, SiteRecord> = (0..).zip(kinds.iter().copied()).map(site).collect();
            let ledger = CallLedger { pes: 1, span: (0, end), sites, ..CallLedger::default() };
            let mut text = String::new();
            routines(&mut text, &totals::add_up(&RecordedJob::of(vec![ledger])));
            text
        };
        // Queries make room for the others, and are counted.
        let many = [[RoutineKind::Transfer; 8].as_slice(), &[RoutineKind::Other; 5]].concat();
        let text = summary_of(&many, 1000);
        assert!(text.ends_with("  and 5 more in the report\n"), "{text}");
        let text = summary_of(&[[RoutineKind::Transfer; 11].as_slice(), &[RoutineKind::Other]].concat(), 1000);
        assert!(text.ends_with("  and 1 more in the report\n"), "{text}");
        let text = summary_of(&[RoutineKind::Other; 11], 1000);
        assert!(!text.contains("more in the report"), "{text}");
        // Where they take a good part of the time, they stand among the others.
        let text = summary_of(&many, 200);
        assert!(text.contains("shmem_11") && text.ends_with("  and 1 more in the report\n"), "{text}");
    }
}
