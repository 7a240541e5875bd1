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

/// Failures so far, said again at the end of the output: a log of which only a part is kept still has them.
static FAILURES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Prints what failed and why; the first line is said again at the end.
macro_rules! failed {
    ($($said:tt)*) => { $crate::counts::say_failed(&format!($($said)*)) };
}
pub(crate) use failed;

/// The work of `failed!`.
pub(crate) fn say_failed(said: &str) {
    println!("FAILED {said}");
    remember_failure(said);
}

/// Keeps the first line of a failure that has been printed.
pub(crate) fn remember_failure(said: &str) {
    let line = said.lines().next().unwrap_or_default();
    FAILURES.lock().expect("nobody panics while a line is added").push(line.into());
}

/// The failures since the last call.
pub(crate) fn take_failures() -> Vec<String> {
    std::mem::take(&mut *FAILURES.lock().expect("nobody panics while a line is added"))
}

/// How one step went.
pub(crate) struct StepResult {
    pub(crate) name: &'static str,
    pub(crate) took: Duration,
    pub(crate) counts: CheckCounts,
    pub(crate) failures: Vec<String>,
}

/// The steps with what each took, the counts, and the failures with their step. It ends the output, where a reader looks first.
pub(crate) fn table(results: &[StepResult]) -> String {
    let row = |name: &str, took: Duration, counts: &CheckCounts| {
        let CheckCounts { passed, failed, skipped } = counts;
        format!("{name:15} {:>6} {passed:>7} {failed:>7} {skipped:>8}\n", took.as_secs())
    };
    let mut text = format!("{:15} {:>6} {:>7} {:>7} {:>8}\n", "step", "s", "passed", "failed", "not run");
    let mut total = (Duration::ZERO, CheckCounts::default());
    for StepResult { name, took, counts, .. } in results {
        text += &row(name, *took, counts);
        total.0 += *took;
        total.1 += *counts;
    }
    text += &row("together", total.0, &total.1);
    for StepResult { name, failures, .. } in results {
        text.extend(failures.iter().map(|line| format!("FAILED {name}: {line}\n")));
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
    fn the_table_names_what_failed_by_its_first_line() {
        failed!("LCK_1 on {} PEs: hung\n  the job said nothing", 4);
        let failures = take_failures().into_iter().filter(|line| line.starts_with("LCK_1")).collect();
        let counts = CheckCounts { passed: 7, failed: 1, skipped: 2 };
        let text = table(&[StepResult { name: "nodes", took: Duration::from_millis(2500), counts, failures }]);
        assert!(text.contains("nodes                2       7       1        2\n"), "{text}");
        assert!(text.ends_with("FAILED nodes: LCK_1 on 4 PEs: hung\n"), "{text}");
    }
}
