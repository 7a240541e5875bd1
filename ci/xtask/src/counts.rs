//! The result of a set of checks: how many, and which failed.

use std::sync::Mutex;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Outcome;

/// How many checks went well, how many did not, how many could not run here.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct CheckCounts {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
}

impl std::ops::AddAssign for CheckCounts {
    fn add_assign(&mut self, more: CheckCounts) {
        self.passed += more.passed;
        self.failed += more.failed;
        self.skipped += more.skipped;
    }
}

impl std::iter::Sum for CheckCounts {
    fn sum<I: Iterator<Item = CheckCounts>>(all: I) -> CheckCounts {
        all.fold(CheckCounts::default(), |mut sum, counts| {
            sum += counts;
            sum
        })
    }
}

/// Failures so far, said again at the end of the output: a log of which only a part is kept still has them, and their reasons.
static FAILURES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Lines of a failure that are said again.
const MOST_LINES: usize = 24;
/// Characters of such a line.
const MOST_CHARACTERS: usize = 400;

/// Prints what failed and why, which is said again at the end.
macro_rules! failed {
    ($($said:tt)*) => { $crate::counts::say_failed(&format!($($said)*)) };
}
pub(crate) use failed;

pub(crate) fn say_failed(said: &str) {
    println!("FAILED {said}");
    remember_failure(said);
}

/// Prints what cannot run here and why, and counts it.
macro_rules! skipped {
    ($($said:tt)*) => { $crate::counts::say_skipped(&format!($($said)*)) };
}
pub(crate) use skipped;

pub(crate) fn say_skipped(said: &str) -> CheckCounts {
    println!("SKIPPED {said}");
    CheckCounts { skipped: 1, ..CheckCounts::default() }
}

impl CheckCounts {
    /// One check, by whether it went well.
    pub(crate) fn one(is_well: bool) -> CheckCounts {
        CheckCounts { passed: usize::from(is_well), failed: usize::from(!is_well), skipped: 0 }
    }

    /// One check, by its outcome. A failure is printed behind the name of the check.
    pub(crate) fn of<T>(name: impl std::fmt::Display, outcome: Outcome<T>) -> CheckCounts {
        CheckCounts::one(outcome.inspect_err(|why| failed!("{name}: {why}")).is_ok())
    }
}

/// Keeps the beginning of a failure that has been printed.
pub(crate) fn remember_failure(said: &str) {
    let lines = said.lines().take(MOST_LINES).map(|line| line.chars().take(MOST_CHARACTERS).collect::<String>());
    let kept = lines.collect::<Vec<_>>().join("\n");
    FAILURES.lock().expect("nobody panics while a line is added").push(kept);
}

/// The failures since the last call.
pub(crate) fn take_failures() -> Vec<String> {
    std::mem::take(&mut *FAILURES.lock().expect("nobody panics while a line is added"))
}

#[derive(Serialize, Deserialize)]
pub(crate) struct StepResult {
    pub(crate) name: String,
    pub(crate) took: Duration,
    /// Processor time of the step's processes.
    pub(crate) used: Duration,
    pub(crate) counts: CheckCounts,
    pub(crate) failures: Vec<String>,
}

/// The steps with what each took, the counts, and the failures with their step. It ends the output, where a reader looks first.
pub(crate) fn table(results: &[StepResult], together: Duration) -> String {
    let row = |name: &str, took: Duration, used: Duration, counts: &CheckCounts| {
        let CheckCounts { passed, failed, skipped } = counts;
        let [took, used] = [took, used].map(|time| time.as_secs());
        format!("{name:15} {took:>6} {used:>6} {passed:>7} {failed:>7} {skipped:>8}\n")
    };
    let mut text = "step                 s  CPU s  passed  failed  not run\n".to_string();
    let (mut total, mut work) = (CheckCounts::default(), Duration::ZERO);
    for StepResult { name, took, used, counts, .. } in results {
        text += &row(name, *took, *used, counts);
        total += *counts;
        work += *used;
    }
    text += &row("together", together, work, &total);
    for StepResult { name, failures, .. } in results {
        let told = |failure: &String| format!("FAILED {name}: {}\n", failure.replace('\n', "\n  | "));
        text.extend(failures.iter().map(told));
    }
    text
}

/// Prints the counts; an error when something failed or nothing ran.
pub(crate) fn finish(total: CheckCounts) -> Outcome {
    if total.skipped > 0 {
        println!("{} could not run here, see above", total.skipped);
    }
    println!("{} passed, {} failed", total.passed, total.failed);
    if total.failed == 0 && total.passed > 0 { Ok(()) } else { Err("not everything passed".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_what_failed_and_why() {
        failed!("LCK_1 on {} PEs: hung\n  the job said nothing", 4);
        let failures = take_failures().into_iter().filter(|line| line.starts_with("LCK_1")).collect();
        let counts = CheckCounts { passed: 7, failed: 1, skipped: 2 };
        let (took, used) = (Duration::from_millis(2500), Duration::from_secs(4));
        let result = StepResult { name: "nodes".into(), took, used, counts, failures };
        let text = table(&[result], Duration::from_secs(5));
        assert!(text.contains("nodes                2      4       7       1        2\n"), "{text}");
        assert!(text.contains("together             5      4       7       1        2\n"), "{text}");
        assert!(text.ends_with("FAILED nodes: LCK_1 on 4 PEs: hung\n  |   the job said nothing\n"), "{text}");
    }
}
