//! The figures of a profile as files of comma-separated values, for other programs. Times are in nanoseconds.

use std::fs;
use std::path::{Path, PathBuf};

use oxshmem_base::Error;
use oxshmem_profile::layout::RoutineKind;
use oxshmem_profile::totals::{Total, Totals};

use super::places::{ProgramPlaces, by_time};
use crate::results;

const NUMBERS: [&str; 6] = ["calls", "bytes", "time", "waiting", "longest", "imbalance"];

/// Writes one file for each table into a folder; their names.
pub(crate) fn write(totals: &Totals, places: &mut ProgramPlaces, folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let fix = "choose another folder for --csv";
    fs::create_dir_all(folder).map_err(results::unwritten(folder, fix))?;
    let mut written = Vec::new();
    for (name, head, rows) in tables(totals, places) {
        let path = folder.join(name).with_extension("csv");
        let lines = std::iter::once(head.iter().map(|title| (*title).to_owned()).collect()).chain(rows);
        let text: String = lines.map(|row: Vec<String>| line(&row)).collect();
        results::write(&path, text).map_err(results::unwritten(&path, fix))?;
        written.push(path);
    }
    Ok(written)
}

type CsvTable = (&'static str, Vec<&'static str>, Vec<Vec<String>>);

fn tables(totals: &Totals, places: &mut ProgramPlaces) -> Vec<CsvTable> {
    let whole = |time: f64| format!("{time:.0}");
    let numbers = |total: &Total| -> Vec<String> {
        let imbalance = format!("{:.3}", total.imbalance(totals.pes));
        let times = [total.time, total.waiting, total.longest].map(whole);
        [vec![total.calls.to_string(), total.bytes.to_string()], times.to_vec(), vec![imbalance]].concat()
    };
    let routines = by_time(totals.routines.iter().map(|(key, total)| (key.clone(), total.clone())));
    let sites = places.of(&totals.sites);
    let kinds = RoutineKind::ALL.map(RoutineKind::name);
    vec![
        (
            "routines",
            [&["routine", "kind"][..], &NUMBERS].concat(),
            routines
                .iter()
                .map(|((name, kind), total)| [vec![name.clone(), kind.name().into()], numbers(total)].concat())
                .collect(),
        ),
        (
            "places",
            [&["place", "routine"][..], &NUMBERS].concat(),
            sites
                .iter()
                .map(|((routine, place), total)| [vec![place.clone(), routine.clone()], numbers(total)].concat())
                .collect(),
        ),
        (
            "pairs",
            vec![
                "from",
                "to",
                "puts",
                "put_bytes",
                "gets",
                "got_bytes",
                "atomics",
                "put_latency",
                "get_latency",
                "atomic_latency",
            ],
            totals
                .pairs
                .iter()
                .map(|((from, to), [puts, gets, atomics])| {
                    let all = [puts.calls, puts.bytes, gets.calls, gets.bytes, atomics.calls].map(|n| n.to_string());
                    let latencies = [puts, gets, atomics].map(|way| match way.timed {
                        0 => String::new(),
                        timed => format!("{:.1}", way.time / timed as f64),
                    });
                    [vec![from.to_string(), to.to_string()], all.to_vec(), latencies.to_vec()].concat()
                })
                .collect(),
        ),
        (
            "waits",
            vec!["waiter", "reason", "time"],
            totals
                .blame
                .pairs
                .iter()
                .map(|((waiter, reason), time)| vec![waiter.to_string(), reason.to_string(), whole(*time)])
                .collect(),
        ),
        (
            "pes",
            [&["pe", "span", "waited"][..], &kinds, &["heap_bytes"]].concat(),
            totals
                .times
                .iter()
                .map(|(pe, time)| {
                    let inside = time.inside.map(whole);
                    let head = vec![pe.to_string(), whole(time.span), whole(time.waiting)];
                    [head, inside.to_vec(), vec![time.heap.to_string()]].concat()
                })
                .collect(),
        ),
        (
            "teams",
            vec!["first", "stride", "size", "number", "calls", "bytes", "time"],
            totals
                .teams
                .iter()
                .map(|(key, (calls, bytes, time))| {
                    let number = key.number.map_or_else(String::new, |number| number.to_string());
                    let members = [key.first, key.stride, key.size].map(|word| word.to_string());
                    [members.to_vec(), vec![number, calls.to_string(), bytes.to_string(), whole(*time)]].concat()
                })
                .collect(),
        ),
    ]
}

fn line(row: &[String]) -> String {
    row.iter().map(|text| results::cell(text)).collect::<Vec<_>>().join(",") + "\n"
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use oxshmem_profile::job::RecordedJob;
    use oxshmem_profile::totals;

    use super::*;

    #[test]
    fn no_table_has_two_columns_of_one_name() {
        let totals = totals::add_up(&RecordedJob::of(Vec::new()));
        let tables = tables(&totals, &mut ProgramPlaces::default());
        assert_eq!(tables.iter().map(|(name, ..)| *name).collect::<BTreeSet<_>>().len(), 6);
        for (name, head, _) in tables {
            assert_eq!(head.iter().collect::<BTreeSet<_>>().len(), head.len(), "{name}: {head:?}");
        }
    }

    #[test]
    fn cells_with_commas_and_marks_are_quoted() {
        let row = ["a.c:7", "b,c", "d\"e"].map(str::to_owned);
        assert_eq!(line(&row), "a.c:7,\"b,c\",\"d\"\"e\"\n");
    }
}
