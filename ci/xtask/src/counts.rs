//! The result of a set of checks: how many, and which failed.

use std::sync::Mutex;
use std::time::Duration;

use crate::Outcome;

/// How many checks went well, how many did not, how many could not run here.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CheckCounts {
    /// Went well.
    pub(crate) passed: usize,
    /// Did not.
    pub(crate) failed: usize,
    /// Could not run here; the output says why.
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

/// The work of `failed!`.
pub(crate) fn say_failed(said: &str) {
    println!("FAILED {said}");
    remember_failure(said);
}

/// Prints what cannot run here and why, and counts it.
macro_rules! skipped {
    ($($said:tt)*) => { $crate::counts::say_skipped(&format!($($said)*)) };
}
pub(crate) use skipped;

/// The work of `skipped!`.
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

/// How one step went.
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
    let mut text = format!("{HEAD}\n");
    let (mut total, mut work) = (CheckCounts::default(), Duration::ZERO);
    for StepResult { name, took, used, counts, .. } in results {
        text += &row(name, *took, *used, counts);
        total += *counts;
        work += *used;
    }
    text += &row("together", together, work, &total);
    for StepResult { name, failures, .. } in results {
        let told = |failure: &String| format!("{FAILED}{name}: {}\n", failure.replace('\n', &format!("\n{MORE}")));
        text.extend(failures.iter().map(told));
    }
    text
}

/// Begins the table.
pub(crate) const HEAD: &str = "step                 s  CPU s  passed  failed  not run";
const FAILED: &str = "FAILED ";
/// Begins the second and later lines of a failure.
const MORE: &str = "  | ";

/// The results of these steps in the last table of a text.
pub(crate) fn results_in(text: &str, names: &[&str]) -> Vec<StepResult> {
    let Some((_, table)) = text.rsplit_once(HEAD) else { return Vec::new() };
    let result = |name: &&str| {
        let row = table.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        let numbers: Vec<u64> = row.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let [took, used, passed, failed, skipped] = numbers[..] else { return None };
        let [passed, failed, skipped] = [passed, failed, skipped].map(|count| count as usize);
        let own = |text: &str| Some(text.strip_prefix(name)?.strip_prefix(": ")?.to_owned());
        // Each piece begins with a failure; behind its lines there may be sentences of the run.
        let failure = |piece: &str| {
            let mut lines = piece.lines();
            let first = own(lines.next()?)?;
            let more = lines.map_while(|line| line.strip_prefix(MORE)).map(|line| format!("\n{line}"));
            Some(first + &more.collect::<String>())
        };
        Some(StepResult {
            name: (*name).into(),
            took: Duration::from_secs(took),
            used: Duration::from_secs(used),
            counts: CheckCounts { passed, failed, skipped },
            failures: table.split(&format!("\n{FAILED}")).skip(1).filter_map(failure).collect(),
        })
    };
    names.iter().filter_map(result).collect()
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

    fn nodes(failures: Vec<String>) -> StepResult {
        let counts = CheckCounts { passed: 7, failed: failures.len(), skipped: 2 };
        StepResult {
            name: "nodes".into(),
            took: Duration::from_millis(2500),
            used: Duration::from_secs(4),
            counts,
            failures,
        }
    }

    #[test]
    fn the_table_names_what_failed_and_why() {
        failed!("LCK_1 on {} PEs: hung\n  the job said nothing", 4);
        let failures = take_failures().into_iter().filter(|line| line.starts_with("LCK_1")).collect();
        let text = table(&[nodes(failures)], Duration::from_secs(5));
        assert!(text.contains("nodes                2      4       7       1        2\n"), "{text}");
        assert!(text.contains("together             5      4       7       1        2\n"), "{text}");
        assert!(text.ends_with("FAILED nodes: LCK_1 on 4 PEs: hung\n  |   the job said nothing\n"), "{text}");
    }

    #[test]
    fn results_are_read_from_the_table() {
        let written = [
            nodes(vec!["LCK_1: hung\nFAILED nodes: no\n".into(), "LCK_2: hung".into()]),
            StepResult { name: "nodes2".into(), ..nodes(Vec::new()) },
        ];
        let text = format!("nodes 1 1 1 1 1\n{}\n9 passed, 1 failed\n", table(&written, Duration::ZERO));
        let read = results_in(&text, &["nodes", "nodes2", "loom"]);
        assert_eq!(read.len(), 2);
        for (read, written) in read.iter().zip(&written) {
            assert_eq!((read.used.as_secs(), read.took.as_secs()), (4, 2));
            assert_eq!((&read.name, &read.failures), (&written.name, &written.failures));
            assert_eq!((read.counts.passed, read.counts.failed, read.counts.skipped), (7, written.failures.len(), 2));
        }
    }
}
