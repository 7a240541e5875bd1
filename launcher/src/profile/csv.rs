//! The figures of a profile as files of comma-separated values, for other programs. Times are in nanoseconds.

use std::fs;
use std::path::{Path, PathBuf};

use oxshmem_base::Error;
use oxshmem_profile::layout::RoutineKind;
use oxshmem_profile::ledger::{PeerTraffic, TeamKey};
use oxshmem_profile::totals::{PeTime, TeamTotal, Total, Totals};

use super::places::{ProgramPlaces, by_time};
use crate::results;

const NUMBERS: [&str; 6] = ["calls", "bytes", "time", "waiting", "longest", "imbalance"];

struct CsvTable {
    name: &'static str,
    columns: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

/// Writes one file for each table into a folder; their names.
pub(crate) fn write(totals: &Totals, places: &mut ProgramPlaces, folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let fix = "choose another folder for --csv";
    fs::create_dir_all(folder).map_err(results::unwritten(folder, fix))?;
    let mut written = Vec::new();
    for table in tables(totals, places) {
        let path = folder.join(table.name).with_extension("csv");
        results::write(&path, table.text()).map_err(results::unwritten(&path, fix))?;
        written.push(path);
    }
    Ok(written)
}

fn tables(totals: &Totals, places: &mut ProgramPlaces) -> [CsvTable; 6] {
    [routines(totals), sites(totals, places), pairs(totals), waits(totals), pes(totals), teams(totals)]
}

fn routines(totals: &Totals) -> CsvTable {
    let row = |((name, kind), total): (&(String, RoutineKind), &Total)| {
        [vec![name.clone(), kind.name().into()], numbers(total, totals.pes)].concat()
    };
    let columns = [&["routine", "kind"][..], &NUMBERS].concat();
    CsvTable::new("routines", columns, by_time(&totals.routines).into_iter().map(row))
}

fn sites(totals: &Totals, places: &mut ProgramPlaces) -> CsvTable {
    let row = |((routine, place), total): ((String, String), Total)| {
        [vec![place, routine], numbers(&total, totals.pes)].concat()
    };
    let columns = [&["place", "routine"][..], &NUMBERS].concat();
    CsvTable::new("places", columns, places.of(&totals.sites).into_iter().map(row))
}

/// The figures of [`NUMBERS`].
fn numbers(total: &Total, pes: u32) -> Vec<String> {
    let imbalance = format!("{:.3}", total.imbalance(pes));
    let times = [total.time, total.waiting, total.longest].map(whole);
    [vec![total.calls.to_string(), total.bytes.to_string()], times.to_vec(), vec![imbalance]].concat()
}

fn pairs(totals: &Totals) -> CsvTable {
    let latency = |traffic: &PeerTraffic| match traffic.timed {
        0 => String::new(),
        timed => format!("{:.1}", traffic.time / timed as f64),
    };
    let row = |((from, to), [puts, gets, atomics]): (&(u32, u32), &[PeerTraffic; 3])| {
        let counts = [puts.calls, puts.bytes, gets.calls, gets.bytes, atomics.calls].map(|count| count.to_string());
        let latencies = [puts, gets, atomics].map(latency);
        [vec![from.to_string(), to.to_string()], counts.to_vec(), latencies.to_vec()].concat()
    };
    let counts = ["from", "to", "puts", "put_bytes", "gets", "got_bytes", "atomics"];
    let latencies = ["put_latency", "get_latency", "atomic_latency"];
    CsvTable::new("pairs", [&counts[..], &latencies].concat(), totals.pairs.iter().map(row))
}

fn waits(totals: &Totals) -> CsvTable {
    let row =
        |((waiter, reason), time): (&(u32, u32), &f64)| vec![waiter.to_string(), reason.to_string(), whole(*time)];
    CsvTable::new("waits", vec!["waiter", "reason", "time"], totals.blame.pairs.iter().map(row))
}

fn pes(totals: &Totals) -> CsvTable {
    let row = |(pe, time): (&u32, &PeTime)| {
        let head = vec![pe.to_string(), whole(time.span), whole(time.waiting)];
        [head, time.inside.map(whole).to_vec(), vec![time.heap.to_string()]].concat()
    };
    let kinds = RoutineKind::ALL.map(RoutineKind::name);
    let columns = [&["pe", "span", "waited"][..], &kinds, &["heap_bytes"]].concat();
    CsvTable::new("pes", columns, totals.times.iter().map(row))
}

fn teams(totals: &Totals) -> CsvTable {
    let row = |(key, team): (&TeamKey, &TeamTotal)| {
        let number = key.number.map_or_else(String::new, |number| number.to_string());
        let members = [key.first.to_string(), key.stride.to_string(), key.size.to_string()];
        [members.to_vec(), vec![number, team.calls.to_string(), team.bytes.to_string(), whole(team.time)]].concat()
    };
    let columns = vec!["first", "stride", "size", "number", "calls", "bytes", "time"];
    CsvTable::new("teams", columns, totals.teams.iter().map(row))
}

fn whole(time: f64) -> String {
    format!("{time:.0}")
}

impl CsvTable {
    fn new(name: &'static str, columns: Vec<&'static str>, rows: impl Iterator<Item = Vec<String>>) -> Self {
        Self { name, columns, rows: rows.collect() }
    }

    fn text(&self) -> String {
        let titles: Vec<String> = self.columns.iter().map(|title| (*title).to_owned()).collect();
        std::iter::once(&titles).chain(&self.rows).map(|row| line(row)).collect()
    }
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
        assert_eq!(tables.iter().map(|table| table.name).collect::<BTreeSet<_>>().len(), 6);
        for CsvTable { name, columns, .. } in tables {
            assert_eq!(columns.iter().collect::<BTreeSet<_>>().len(), columns.len(), "{name}: {columns:?}");
        }
    }

    #[test]
    fn cells_with_commas_and_marks_are_quoted() {
        let row = ["a.c:7", "b,c", "d\"e"].map(str::to_owned);
        assert_eq!(line(&row), "a.c:7,\"b,c\",\"d\"\"e\"\n");
    }
}
