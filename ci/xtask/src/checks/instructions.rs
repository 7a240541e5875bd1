//! The price of our layers above libfabric, in instructions: each operation is stepped through over a libfabric that completes at once
//! (`crates/transport-ofi/examples/instant`), and compared with its budget. The count does not depend on the machine's speed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::counts::{CheckCounts, failed};
use crate::{Outcome, command, target, top};

/// Budgets: a line for each operation, with a column for each of [`ATOMICS`].
const BUDGETS: &str = "ci/instructions/budgets.txt";

/// Values of `SHMEM_AMO`: who does atomics.
const ATOMICS: [&str; 2] = ["network", "processor"];

/// Counts, and compares with the budgets.
pub(crate) fn check(prefix: &Path) -> Outcome<CheckCounts> {
    if cfg!(not(target_arch = "x86_64")) {
        println!("SKIPPED: the counting program steps through instructions of x86-64 only");
        return Ok(CheckCounts { skipped: 1, ..CheckCounts::default() });
    }
    let folder = target().join("instructions");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let library = libfabric("instant", &folder)?;
    let program = folder.join("count");
    let mut compiler = Command::new(prefix.join("bin/oshcc"));
    command::run(compiler.args(["-O1", "-o"]).arg(&program).arg(top().join("ci/instructions/count.c")))?;
    let text = std::fs::read_to_string(top().join(BUDGETS)).map_err(|error| format!("{BUDGETS}: {error}"))?;
    let mut counts = CheckCounts::default();
    for (column, atomics) in ATOMICS.into_iter().enumerate() {
        let mut job = Command::new(prefix.join("bin/oshrun"));
        job.args(["--nodes", "2", "-n", "2"]).arg(&program).arg(&library);
        job.env("LD_LIBRARY_PATH", &folder).env("SHMEM_TRANSPORT", "ofi:instant").env("SHMEM_AMO", atomics);
        job.env("SHMEM_SYMMETRIC_SIZE", "16M");
        let output = command::output(&mut job)?;
        let errors = String::from_utf8_lossy(&output.stderr);
        if errors.contains("the process cannot be traced") {
            println!("SKIPPED: a process may not trace another one here (ptrace)");
            counts.skipped += 1;
            continue;
        }
        if !output.status.success() {
            return Err(format!("the counting job ended with {}\n{}", output.status, errors.trim_end()));
        }
        counts += compare(atomics, &numbers(&String::from_utf8_lossy(&output.stdout), 0)?, &numbers(&text, column)?);
    }
    Ok(counts)
}

/// Builds a libfabric of ours, an example of the provider's crate, into a folder for `LD_LIBRARY_PATH`.
pub(crate) fn libfabric(example: &str, folder: &Path) -> Outcome<PathBuf> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--package", "oxshmem-transport-ofi", "--example", example]);
    command::run(cargo.current_dir(top()))?;
    let library = folder.join("libfabric.so.1");
    let mut linker = Command::new("cc");
    linker.args(["-shared", "-Wl,--gc-sections", "-Wl,--whole-archive"]);
    linker.arg(target().join(format!("debug/examples/lib{example}.a"))).arg("-Wl,--no-whole-archive");
    linker.arg(format!("-Wl,--version-script={}", top().join("ci/instructions/libfabric.map").display()));
    command::run(linker.arg("-o").arg(&library))?;
    Ok(library)
}

/// The numbers of one column by the operations, of a text with lines `operation: number ...`. A dash is no number: the operation waits
/// for the other PE, so its count depends on time.
fn numbers(text: &str, column: usize) -> Outcome<BTreeMap<String, Option<u64>>> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let number = |line: &str| {
        let (operation, numbers) = line.split_once(':')?;
        let number = match numbers.split_whitespace().nth(column)? {
            "-" => None,
            number => Some(number.parse().ok()?),
        };
        Some((operation.to_owned(), number))
    };
    lines.map(|line| number(line).ok_or(format!("no number in {line:?}"))).collect()
}

fn compare(
    atomics: &str,
    counted: &BTreeMap<String, Option<u64>>,
    budgets: &BTreeMap<String, Option<u64>>,
) -> CheckCounts {
    let mut counts = CheckCounts::default();
    for (operation, budget) in budgets.iter().filter_map(|(operation, budget)| Some((operation, (*budget)?))) {
        let (words, good) = match counted.get(operation).copied().flatten() {
            Some(count) => (format!("{count} instructions"), count <= budget),
            None => ("not counted".into(), false),
        };
        let line = format!("{operation}, atomics of the {atomics}: {words}, budget {budget}");
        if good {
            println!("{line}")
        } else {
            failed!("{line}")
        }
        counts.passed += usize::from(good);
        counts.failed += usize::from(!good);
    }
    for operation in counted.keys().filter(|operation| !budgets.contains_key(*operation)) {
        failed!("{operation} has no budget in {BUDGETS}");
        counts.failed += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_exceeds_its_budget_or_has_none_fails() {
        let of = |text: &str, column| numbers(text, column).expect("numbers");
        let budgets = of("# note\n\nput 8: 10 20\nget: 30 40\n", 1);
        assert_eq!(budgets["put 8"], Some(20));
        let outcome = |text: &str| {
            let CheckCounts { passed, failed, .. } = compare("network", &of(text, 0), &budgets);
            (passed, failed)
        };
        assert_eq!(outcome("put 8: 20\nget: 40\n"), (2, 0));
        assert_eq!(outcome("put 8: 21\nget: 40\n"), (1, 1));
        assert_eq!(outcome("put 8: 20\n"), (1, 1), "one is not counted");
        assert_eq!(outcome("put 8: 20\nget: 40\nadd: 1\n"), (2, 1), "one has no budget");
        assert!(numbers("put 8 20", 0).is_err() && numbers("put 8: x", 0).is_err());
        let waits = of("put 8: -\n", 0);
        assert_eq!(compare("network", &of("put 8: 999\n", 0), &waits).failed, 0, "a wait has no budget");
    }
}
