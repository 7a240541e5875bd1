//! Runs programs of Rust tests and counts what they say.

use std::process::{Command, Output};

use crate::counts::{CheckCounts, remember_failure};
use crate::{Outcome, command, top, watchdog};

pub(crate) fn cargo_test(selection: &[&str]) -> Outcome<CheckCounts> {
    let mut command = command::cargo();
    count(command.arg("test").args(selection).args(["--no-fail-fast", "--", "--show-output"]))
}

/// Runs the examples of the documentation. With `--show-output` rustdoc would compile each of the hundreds as a program of its own,
/// where one program for each crate takes seconds.
pub(crate) fn doc_tests(selection: &[&str]) -> Outcome<CheckCounts> {
    count(command::cargo().args(["test", "--doc", "--no-fail-fast"]).args(selection))
}

/// Runs tests, counted from the summary that belongs to each header: a test whose PEs are test programs again shows
/// their summaries inside its own. A test that cannot run here passes and says `not run: why`.
pub(crate) fn count(command: &mut Command) -> Outcome<CheckCounts> {
    counted(command, |_| false)
}

/// The same, and shows which tests ran and what they printed.
pub(crate) fn count_shown(command: &mut Command) -> Outcome<CheckCounts> {
    let noise = |line: &str| line.is_empty() || ["running ", "test result:"].iter().any(|word| line.starts_with(word));
    counted(command, |line| !noise(line))
}

fn counted(command: &mut Command, shown: impl Fn(&str) -> bool) -> Outcome<CheckCounts> {
    count_output(&watchdog::output(command.current_dir(top()), watchdog::PROGRAM_LIMIT)?, shown)
}

pub(crate) fn count_output(output: &Output, shown: impl Fn(&str) -> bool) -> Outcome<CheckCounts> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().filter(|line| shown(line)).for_each(|line| println!("{line}"));
    let mut counts = summaries(&text);
    for line in text.lines() {
        if line.starts_with("not run:") || line.starts_with("SKIPPED") {
            println!("{line}");
            counts += CheckCounts { skipped: 1, ..CheckCounts::default() };
            counts.passed = counts.passed.saturating_sub(1);
        }
    }
    let said = String::from_utf8_lossy(&output.stderr);
    slow_programs(&text, &said).iter().for_each(|line| println!("{line}"));
    if !output.status.success() {
        print!("{text}{said}");
        failed_tests(&text).for_each(|name| remember_failure(&format!("{name}\n{}", reason(&text, name))));
        counts.failed = counts.failed.max(1);
    }
    println!("{} passed, {} failed", counts.passed, counts.failed);
    if counts.passed + counts.failed + counts.skipped == 0 {
        return Err("no test has the names that were asked for".into());
    }
    Ok(counts)
}

/// The names of the tests that failed, as their program lists them before its summary. Programs that are PEs of a test have lists of their
/// own in its output.
fn failed_tests(text: &str) -> impl Iterator<Item = &str> {
    let failed = outermost_summaries(text).into_iter().filter(|line| line.starts_with("test result: FAILED"));
    failed.flat_map(|line| {
        let before = &text[..line.as_ptr().addr() - text.as_ptr().addr()];
        let (_, names) = before.rsplit_once("failures:\n").unwrap_or_default();
        names.lines().map(str::trim).filter(|name| !name.is_empty())
    })
}

/// The words with which a failed test has ended, and what it printed before if there are none.
fn reason<'t>(text: &'t str, name: &str) -> &'t str {
    let Some((_, behind)) = text.rsplit_once(&format!("---- {name} stdout ----\n")) else { return "" };
    let printed = behind.split("\n---- ").next().unwrap_or_default().split("\nfailures:\n").next().unwrap_or_default();
    printed.find(" panicked at ").map_or(printed, |at| &printed[at..]).trim()
}

/// The sum of the outermost summaries.
fn summaries(text: &str) -> CheckCounts {
    let mut counts = CheckCounts::default();
    for line in outermost_summaries(text) {
        let [passed, failed, skipped] = ["passed", "failed", "ignored"].map(|word| number_before(line, word));
        counts += CheckCounts { passed, failed, skipped };
    }
    counts
}

/// A summary is of the outermost program when it speaks of as many tests as the last open header.
fn outermost_summaries(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut announced = None;
    for line in text.lines() {
        if line.starts_with("running ") {
            announced = announced.or(Some(number_before(line, "tests").max(number_before(line, "test"))));
        } else if line.starts_with("test result:")
            && announced == Some(["passed", "failed", "ignored"].iter().map(|word| number_before(line, word)).sum())
        {
            found.push(line);
            announced = None;
        }
    }
    found
}

/// The test programs that took more than 20 s, as cargo named them while it started one after the other.
fn slow_programs(text: &str, said: &str) -> Vec<String> {
    let names =
        said.lines().map(str::trim_start).filter(|line| line.starts_with("Running ") || line.starts_with("Doc-tests "));
    let seconds = |line: &str| line.rsplit_once("finished in ")?.1.trim_end_matches('s').parse::<f64>().ok();
    let slow = |(name, line): (&str, &&str)| {
        let took = seconds(line).filter(|took| *took > 20.0)?;
        Some(format!("{took:.0} s: {}", name.split(" (").next().unwrap_or(name)))
    };
    names.zip(&outermost_summaries(text)).filter_map(slow).collect()
}

fn number_before(line: &str, word: &str) -> usize {
    let words: Vec<&str> = line.split([' ', ';']).filter(|part| !part.is_empty()).collect();
    let at = words.iter().position(|part| *part == word);
    at.and_then(|at| words[at.checked_sub(1)?].parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    #[test]
    fn summary_lines_are_understood() {
        let line = "test result: ok. 12 passed; 3 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        let found = ["passed", "failed", "ignored"].map(|word| super::number_before(line, word));
        assert_eq!(found, [12, 3, 1]);
    }

    #[test]
    fn failed_tests_are_named() {
        let text = "running 2 tests\ntest a::b ... ok\ntest a::c ... FAILED\n\nsuccesses:\n\n---- a::b stdout ----\nrunning 1 test\n\
                    test inner ... FAILED\n\nfailures:\n    inner\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored\n\n\
                    failures:\n\n---- a::c stdout ----\nwhy\n\nfailures:\n    a::c\n\n\
                    test result: FAILED. 1 passed; 1 failed; 0 ignored\n";
        assert_eq!(super::failed_tests(text).collect::<Vec<_>>(), ["a::c"]);
    }

    #[test]
    fn a_failed_test_has_a_reason() {
        let text = "---- a stdout ----\nwell\n---- b stdout ----\none\n\nthread 'b' panicked at b.rs:3:1:\nleft: 1\n\n\
                    ---- c stdout ----\ntwo\n\nfailures:\n    b\n    c\n";
        let reasons = ["b", "c", "d"].map(|name| super::reason(text, name));
        assert_eq!(reasons, ["panicked at b.rs:3:1:\nleft: 1", "two", ""]);
    }

    #[test]
    fn slow_programs_have_the_name_that_cargo_said() {
        let text = "running 1 test\ntest result: ok. 1 passed; 0 failed; 0 ignored; finished in 0.10s\n\
                    running 2 tests\ntest result: ok. 2 passed; 0 failed; 0 ignored; finished in 21.60s";
        let said = "   Compiling a\n     Running unittests src/lib.rs (target/debug/deps/a)\n   Doc-tests b";
        assert_eq!(super::slow_programs(text, said), ["22 s: Doc-tests b"]);
    }

    #[test]
    fn summaries_inside_a_test_are_not_counted() {
        let text = "running 2 tests\nrunning 1 test\ntest result: FAILED. 0 passed; 1 failed; 0 ignored\n\
                    test result: ok. 2 passed; 0 failed; 0 ignored\nrunning 1 test\n\
                    test result: ok. 0 passed; 0 failed; 1 ignored\nrunning 0 tests\n\
                    test result: ok. 0 passed; 0 failed; 0 ignored";
        let counts = super::summaries(text);
        assert_eq!([counts.passed, counts.failed, counts.skipped], [2, 0, 1]);
    }
}
