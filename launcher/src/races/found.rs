//! The races of some reports: the same race counts once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;

/// One access of a race.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RaceSide {
    pub(crate) call: String,
    pub(crate) pe: u64,
    /// The words for its thread, if it has to be told.
    pub(crate) thread: String,
    /// File and line, or function and offset.
    pub(crate) place: String,
    /// The file with its folder, if lines are known.
    pub(crate) path: Option<String>,
}

/// One race, as the first report of the lowest seed tells of it.
#[derive(Debug)]
pub(crate) struct FoundRace {
    pub(crate) kind: String,
    /// The memory, if it has a name.
    pub(crate) memory: Option<String>,
    pub(crate) text: String,
    pub(crate) sides: Vec<RaceSide>,
    /// How many reports tell of it.
    pub(crate) reports: usize,
    /// The PEs of both accesses, in the order of the accesses.
    pub(crate) pairs: BTreeSet<Vec<u64>>,
    pub(crate) seeds: BTreeSet<u64>,
}

/// The races by what is the same in each report: the kind, the variable, and both calls with their lines.
#[derive(Default)]
pub(crate) struct FoundRaces(BTreeMap<String, FoundRace>);

pub(super) fn is_report(line: &str) -> bool {
    serde_json::from_str::<Value>(line)
        .is_ok_and(|report| report["kind"].is_string() && report["accesses"].is_array() && report["text"].is_string())
}

/// Each report begins so. Inside of one, a backslash stands before each quotation mark of a text.
const BEGINNING: &str = r#"{"kind":""#;

/// The reports of a line. There are several if the first ones are cut off: PEs write at the end of the file, also where another one could not
/// write to the end.
pub(super) fn parts(line: &str) -> Vec<&str> {
    let mut begins: Vec<usize> = line.match_indices(BEGINNING).map(|(at, _)| at).collect();
    if begins.first() != Some(&0) {
        begins.insert(0, 0);
    }
    let ends = begins.iter().skip(1).copied().chain([line.len()]);
    begins.iter().zip(ends).map(|(&begin, end)| &line[begin..end]).collect()
}

/// Whether this is what is left of a report.
pub(super) fn is_beginning(part: &str) -> bool {
    !part.is_empty() && (part.starts_with(BEGINNING) || BEGINNING.starts_with(part))
}

impl FoundRaces {
    /// Adds what a run has written: a line of JSON for each report. `seed` is that of the run, if it had one.
    pub(crate) fn add(&mut self, seed: Option<u64>, reports: &str) {
        for report in reports.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            let told = FoundRace::of(&report);
            let race = self.0.entry(identity(&report)).or_insert_with(|| FoundRace::of(&report));
            race.reports += 1;
            race.pairs.insert(told.sides.iter().map(|side| side.pe).collect());
            let Some(seed) = seed else { continue };
            // Threads try seeds in any order; the text is that of the first one.
            if race.seeds.first().is_some_and(|&first| seed < first) {
                (race.memory, race.text, race.sides) = (told.memory, told.text, told.sides);
            }
            race.seeds.insert(seed);
        }
    }

    /// How many races there are. Other reports change no status.
    pub(crate) fn count(&self) -> usize {
        self.0.values().filter(|race| race.is_race()).count()
    }

    /// All of them, that of the lowest seed first.
    pub(crate) fn all(&self) -> Vec<&FoundRace> {
        let mut races: Vec<&FoundRace> = self.0.values().collect();
        races.sort_by_key(|race| race.seeds.first().copied());
        races
    }

    /// The races for people, and then the other reports; `more` follows each of them.
    pub(crate) fn told(&self, more: impl Fn(&FoundRace) -> String) -> String {
        let (races, others): (Vec<_>, Vec<_>) = self.all().into_iter().partition(|race| race.is_race());
        let mut text = match races.len() {
            0 => "No races were found.\n".into(),
            1 => "1 race was found:\n".into(),
            count => format!("{count} races were found:\n"),
        };
        let tell = |text: &mut String, race: &FoundRace| {
            let _ = write!(text, "\n{}\n{}", race.text, more(race));
        };
        races.into_iter().for_each(|race| tell(&mut text, race));
        text += &match others.len() {
            0 => String::new(),
            1 => "\n1 report changes no status:\n".into(),
            count => format!("\n{count} reports change no status:\n"),
        };
        others.into_iter().for_each(|race| tell(&mut text, race));
        text
    }
}

impl FoundRace {
    fn of(report: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let side = |access: &Value| RaceSide {
            call: text(&access["call"]),
            pe: access["pe"].as_u64().unwrap_or_default(),
            thread: text(&access["thread"]),
            place: text(&access["place"]),
            path: access["path"].as_str().map(str::to_owned),
        };
        Self {
            kind: text(&report["kind"]),
            memory: report["memory"].as_str().map(str::to_owned),
            text: text(&report["text"]),
            sides: report["accesses"].as_array().into_iter().flatten().map(side).collect(),
            reports: 0,
            pairs: BTreeSet::new(),
            seeds: BTreeSet::new(),
        }
    }

    /// Whether the detector gives a PE with this report the status of a race: the kinds that it does not are named here.
    fn is_race(&self) -> bool {
        !["letter", "threads"].contains(&self.kind.as_str())
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
        let (sides, first) = ([side(0), side(1)].join(","), pes[0]);
        format!(r#"{{"kind":"{kind}","memory":"`x` of PE {first}","accesses":[{sides}],"text":"{kind} by {first}"}}"#)
    }

    #[test]
    fn the_same_race_of_several_seeds_counts_once_and_is_told_as_the_first_one_tells_it() {
        let mut races = FoundRaces::default();
        races.add(Some(7), &line("race", [1, 0], ["put", "load"]));
        let twice = format!("{}\n{}\n", line("race", [2, 0], ["put", "load"]), line("race", [0, 2], ["put", "load"]));
        races.add(Some(3), &twice);
        races.add(Some(5), &line("atomics", [0, 1], ["put", "load"]));
        let found: Vec<_> =
            races.all().iter().map(|race| (race.text.clone(), race.seeds.len(), race.reports)).collect();
        assert_eq!(found, [("race by 2".into(), 2, 3), ("atomics by 0".into(), 1, 1)]);
        assert_eq!(races.all()[0].pairs.len(), 3);
        assert_eq!(races.all()[0].memory.as_deref(), Some("`x` of PE 2"), "that of the same report as the text");
    }

    #[test]
    fn reports_of_a_job_without_a_seed_are_told_in_their_order() {
        let mut races = FoundRaces::default();
        races.add(None, &line("race", [1, 0], ["put", "load"]));
        races.add(None, &line("race", [0, 1], ["put", "load"]));
        assert_eq!(races.told(|_| String::new()), "1 race was found:\n\nrace by 1\n");
        assert_eq!(FoundRaces::default().told(|_| String::new()), "No races were found.\n");
        assert!(is_report(&line("race", [1, 0], ["put", "load"])) && !is_report("{}") && !is_report("race"));
    }

    #[test]
    fn reports_that_change_no_status_are_no_races() {
        let mut races = FoundRaces::default();
        races.add(None, &line("letter", [1, 0], ["put", "store"]));
        let letter = "\n1 report changes no status:\n\nletter by 1\n";
        assert_eq!((races.count(), races.told(|_| String::new())), (0, format!("No races were found.\n{letter}")));
        races.add(None, &line("race", [1, 0], ["put", "load"]));
        let told = format!("1 race was found:\n\nrace by 1\n{letter}");
        assert_eq!((races.count(), races.told(|_| String::new())), (1, told));
        races.add(None, &line("threads", [1, 0], ["put", "load"]));
        assert!(races.count() == 1 && races.told(|_| String::new()).contains("\n2 reports change no status:\n"));
    }
}
