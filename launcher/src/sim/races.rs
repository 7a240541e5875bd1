//! Races that the runs of a program compiled with `--race` report: each once, with the seeds that show it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use oxshmem_base::Error;
use serde_json::Value;

use super::run::JobUnderSim;
use crate::linked;

/// The beginning of the name of the detector's library.
const DETECTOR: &str = "liboxshmem-race.so";

/// Refuses a program whose races nobody would see. A script is believed to start such a program.
pub(super) fn require(program: &Path) -> Result<(), Error> {
    match linked::needed(program) {
        Some(names) if !names.iter().any(|name| name.starts_with(DETECTOR)) => {
            Err(Error::new(format!("{} cannot find its races", program.display()))
                .because(format!("it is not linked with {DETECTOR}"))
                .fix("compile and link it with oshcc --race, oshc++ --race or oshfort --race"))
        }
        _ => Ok(()),
    }
}

/// One race, as the first seed that shows it tells of it.
struct FoundRace {
    text: String,
    seeds: Vec<u64>,
}

/// The races of all runs, by what is the same in each of them: the kind, the variable, and both calls with their lines.
#[derive(Default)]
pub(super) struct FoundRaces(BTreeMap<String, FoundRace>);

impl FoundRaces {
    /// Adds what a run has written: a line of JSON for each report.
    pub(super) fn add(&mut self, seed: u64, reports: &str) {
        for report in reports.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            let text = report["text"].as_str().unwrap_or_default();
            let race =
                self.0.entry(identity(&report)).or_insert_with(|| FoundRace { text: text.into(), seeds: vec![] });
            if race.seeds.contains(&seed) {
                continue;
            }
            // Threads try seeds in any order; the text is that of the first one.
            if race.seeds.iter().all(|&other| seed < other) {
                race.text = text.into();
            }
            race.seeds.push(seed);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The races for people. `words` are the choice of a seed.
    pub(super) fn shown(&self, tried: u64, job: &JobUnderSim, words: impl Fn(u64) -> String) -> String {
        let mut races: Vec<&FoundRace> = self.0.values().collect();
        races.sort_by_key(|race| race.seeds.iter().min().copied());
        let mut report = match races.len() {
            0 => "No races were found.\n".into(),
            1 => "1 race was found:\n".into(),
            count => format!("{count} races were found:\n"),
        };
        for race in races {
            let first = race.seeds.iter().min().copied().unwrap_or_default();
            let _ = writeln!(report, "\n{}", race.text);
            let _ = writeln!(report, "  seen:    with {} of {tried} seeds, the first is {first}", race.seeds.len());
            let _ = writeln!(report, "  repeat:  {}", job.command_line(&words(first)));
        }
        report
    }
}

/// PEs and threads change their parts from run to run.
fn identity(report: &Value) -> String {
    let side = |access: &Value| format!("{} {}", access["call"], access["place"]);
    let mut sides: Vec<String> = report["accesses"].as_array().into_iter().flatten().map(side).collect();
    sides.sort();
    // The rest of the words about memory name PEs and bytes.
    let variable = report["memory"].as_str().and_then(|memory| memory.split('`').nth(1)).unwrap_or_default();
    format!("{} {variable} {}", report["kind"], sides.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(kind: &str, pes: [u32; 2], calls: [&str; 2]) -> String {
        let side = |at: usize| format!(r#"{{"call":"{}","pe":{},"thread":"","place":"a.c:{at}"}}"#, calls[at], pes[at]);
        format!(r#"{{"kind":"{kind}","accesses":[{},{}],"text":"{kind} by {}"}}"#, side(0), side(1), pes[0])
    }

    #[test]
    fn the_same_race_of_several_seeds_counts_once_and_is_told_as_the_first_one_tells_it() {
        let mut races = FoundRaces::default();
        races.add(7, &line("race", [1, 0], ["put", "load"]));
        races
            .add(3, &format!("{}\n{}\n", line("race", [2, 0], ["put", "load"]), line("race", [0, 2], ["put", "load"])));
        races.add(5, &line("atomics", [0, 1], ["put", "load"]));
        let found: Vec<_> = races.0.values().map(|race| (race.text.as_str(), race.seeds.clone())).collect();
        assert_eq!(found, [("atomics by 0", vec![5]), ("race by 2", vec![7, 3])]);
    }
}
