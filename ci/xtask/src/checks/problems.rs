//! Problems of users of such libraries, reproduced. Tests of them carry `problem` and the number in their names:
//!
//! 1. several jobs of one PE instead of one job
//! 3. launchers that refuse to run as root, or more PEs than they see processors
//! 15. ports that are blocked, interfaces that lead nowhere
//! 17. a network card that is far from its PE
//! 19. starts that cost more in larger jobs
//! 20. exit statuses that are not those of the PEs
//! 24. two jobs on the same core
//! 25. hosts on which a stage of the launch fails
//!
//! Faults that were found in this library from outside carry `fault` and their number; `ci/faults/README.md` lists them.

use std::collections::BTreeMap;

use crate::checks::{launchers, rust_tests};
use crate::counts::{CheckCounts, failed};
use crate::{Outcome, command};

/// Runs them all, and shows the messages that users get.
pub(crate) fn run() -> Outcome<CheckCounts> {
    let mut command = command::cargo();
    command.args(["test", "--workspace", "--lib", "--tests", "--examples"]);
    let mut counts = rust_tests::count_shown(command.args(["--", "problem_", "fault_", "--show-output"]))?;
    counts += launchers::run(&["problem".to_owned()])?;
    Ok(counts)
}

/// The numbers of a group of faults whose every row has a test.
const ROWS: &[(&str, &[&str])] = &[(
    "the third look",
    &[
        "A1", "B1", "D1", "N1", "N2", "N3", "P", "R1", "R2", "S1", "S2", "S3", "S4", "S5", "T1", "T2", "T3", "T4",
        "T5", "T6", "T7", "T8", "V1", "V2",
    ],
)];

/// The files and names of the tests of a fault.
type FaultTests = Vec<(String, String)>;

/// Names every fault with its tests. A row without a test is a failure.
pub(crate) fn list() -> Outcome<CheckCounts> {
    let tests = tests_in_source()?;
    for (number, of) in &tests {
        println!("{number}");
        of.iter().for_each(|(file, name)| println!("    {name} ({file})"));
    }
    let mut counts = CheckCounts::default();
    for (group, numbers) in ROWS {
        let missing: Vec<_> = numbers.iter().filter(|number| !tests.contains_key(**number)).collect();
        counts += CheckCounts { passed: numbers.len() - missing.len(), failed: missing.len(), skipped: 0 };
        match &missing[..] {
            [] => println!("{group}: each of its {} faults has a test", numbers.len()),
            _ => failed!("{group}: no test is named after {missing:?}"),
        }
    }
    Ok(counts)
}

/// All tests that are named after a fault or a problem, by its number.
fn tests_in_source() -> Outcome<BTreeMap<String, FaultTests>> {
    let grep = ["grep", "-oE", r"fn (fault|problem)_[A-Z0-9]+_[A-Za-z0-9_]+\(", "--", "*.rs"];
    let mut tests: BTreeMap<String, FaultTests> = BTreeMap::new();
    for line in command::read(&mut command::git(&grep))?.lines() {
        let (number, test) = named(line).ok_or_else(|| format!("git grep printed {line:?}"))?;
        tests.entry(number).or_default().push(test);
    }
    Ok(tests)
}

/// The number in a line `FILE:fn fault_NUMBER_words(`, and the test.
fn named(line: &str) -> Option<(String, (String, String))> {
    let (file, name) = line.split_once(":fn ")?;
    let name = name.trim_end_matches('(');
    let (kind, words) = name.split_once('_')?;
    let number = words.split('_').next()?;
    let number = if kind == "problem" { format!("problem {number}") } else { number.to_owned() };
    Some((number, (file.to_owned(), name.to_owned())))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_test_says_whose_it_is() {
        let found = super::named("crates/os/src/a.rs:fn fault_M5_the_cap(");
        assert_eq!(found, Some(("M5".into(), ("crates/os/src/a.rs".into(), "fault_M5_the_cap".into()))));
        let found = super::named("a.rs:fn problem_15_ports(").map(|(number, _)| number);
        assert_eq!(found.as_deref(), Some("problem 15"));
    }

    #[test]
    fn every_row_has_a_test() {
        let counts = super::list().expect("git is here");
        assert!(counts.failed == 0 && counts.passed > 20);
    }
}
