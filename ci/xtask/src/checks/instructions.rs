//! The price of our layers, in instructions: each operation is stepped through over a libfabric and a UCX that complete at once
//! (`crates/transport-ofi/examples/instant`, `crates/transport-ucx/examples/instant`) and on one node, and compared with its budget.
//! The count does not depend on the machine's speed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::checks::workspace_tests::unit_packages;
use crate::counts::{CheckCounts, failed, skipped};
use crate::{Outcome, command, disk, target, top};

/// Budgets: a line for each operation, with a column for each of [`WAYS`].
const BUDGETS: &str = "ci/instructions/budgets.txt";

/// A library that completes at once.
struct InstantLibrary {
    example: &'static str,
    /// Cargo's file of the example.
    archive: &'static str,
    /// The name by which our library opens it.
    file: &'static str,
    map: &'static str,
    transport: &'static str,
}

const LIBFABRIC: InstantLibrary = InstantLibrary {
    example: "instant",
    archive: "libinstant.a",
    file: "libfabric.so.1",
    map: "ci/instructions/libfabric.map",
    transport: "ofi:instant",
};

const UCX: InstantLibrary = InstantLibrary {
    example: "instant-ucx",
    archive: "libinstant_ucx.a",
    file: "libucp.so.0",
    map: "ci/instructions/ucp.map",
    transport: "ucx:instant",
};

/// A way to the other PE: the library, if it is on another node, and the device of atomics (`SHMEM_AMO`).
struct CountedWay {
    name: &'static str,
    library: Option<&'static InstantLibrary>,
    atomics: &'static str,
}

const WAYS: [CountedWay; 5] = [
    CountedWay { name: "libfabric", library: Some(&LIBFABRIC), atomics: "network" },
    CountedWay { name: "libfabric, atomics by messages", library: Some(&LIBFABRIC), atomics: "processor" },
    CountedWay { name: "UCX", library: Some(&UCX), atomics: "network" },
    CountedWay { name: "UCX, atomics by messages", library: Some(&UCX), atomics: "processor" },
    CountedWay { name: "one node", library: None, atomics: "processor" },
];

pub(crate) fn check(prefix: &Path) -> Outcome<CheckCounts> {
    if cfg!(not(target_arch = "x86_64")) {
        return Ok(skipped!("instructions: the counting program steps through those of x86-64 only"));
    }
    let folder = target().join("instructions");
    let program = folder.join("count");
    command::compile(prefix, &["-O1"], &[top().join("ci/instructions/count.c")], &program)?;
    let text = disk::read(&top().join(BUDGETS))?;
    let mut counts = CheckCounts::default();
    for (column, way) in WAYS.iter().enumerate() {
        let library = way.library.map(|library| library.build(&folder)).transpose()?;
        let mut job = Command::new(prefix.join("bin/oshrun"));
        job.args(["--nodes", if library.is_some() { "2" } else { "1" }, "-n", "2"]).arg(&program);
        job.arg(library.as_deref().unwrap_or(Path::new("-")));
        if let Some(library) = way.library {
            job.env("LD_LIBRARY_PATH", &folder).env("SHMEM_TRANSPORT", library.transport);
        }
        job.env("SHMEM_AMO", way.atomics).env("SHMEM_SYMMETRIC_SIZE", "16M");
        let output = command::output(&mut job)?;
        let errors = String::from_utf8_lossy(&output.stderr);
        if errors.contains("the process cannot be traced") {
            counts += skipped!("{}: a process may not trace another one here (ptrace)", way.name);
            continue;
        }
        if !output.status.success() {
            return Err(format!("the counting job ended with {}\n{}", output.status, errors.trim_end()));
        }
        counts += compare(way.name, &numbers(&String::from_utf8_lossy(&output.stdout), 0)?, &numbers(&text, column)?);
    }
    Ok(counts)
}

/// Builds a libfabric of ours, an example of the provider's crate, into a folder for `LD_LIBRARY_PATH`.
pub(crate) fn libfabric(example: &'static str, archive: &'static str, folder: &Path) -> Outcome<PathBuf> {
    InstantLibrary { example, archive, ..LIBFABRIC }.build(folder)
}

impl InstantLibrary {
    /// Builds it into a folder for `LD_LIBRARY_PATH`.
    fn build(&self, folder: &Path) -> Outcome<PathBuf> {
        let mut cargo = command::cargo();
        command::run(cargo.args(["build", "--example", self.example]).args(unit_packages()))?;
        let library = folder.join(self.file);
        let mut linker = Command::new("cc");
        linker.args(["-shared", "-Wl,--gc-sections", "-Wl,--whole-archive"]);
        linker.arg(target().join("debug/examples").join(self.archive)).arg("-Wl,--no-whole-archive");
        linker.arg(format!("-Wl,--version-script={}", top().join(self.map).display()));
        command::run(linker.arg("-o").arg(&library))?;
        Ok(library)
    }
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

fn compare(way: &str, counted: &BTreeMap<String, Option<u64>>, budgets: &BTreeMap<String, Option<u64>>) -> CheckCounts {
    let mut counts = CheckCounts::default();
    for (operation, budget) in budgets.iter().filter_map(|(operation, budget)| Some((operation, (*budget)?))) {
        let (words, good) = match counted.get(operation).copied().flatten() {
            Some(count) => (format!("{count} instructions"), count <= budget),
            None => ("not counted".into(), false),
        };
        let line = format!("{operation}, {way}: {words}, budget {budget}");
        if good {
            println!("{line}")
        } else {
            failed!("{line}")
        }
        counts += CheckCounts::one(good);
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
            let CheckCounts { passed, failed, .. } = compare("libfabric", &of(text, 0), &budgets);
            (passed, failed)
        };
        assert_eq!(outcome("put 8: 20\nget: 40\n"), (2, 0));
        assert_eq!(outcome("put 8: 21\nget: 40\n"), (1, 1));
        assert_eq!(outcome("put 8: 20\n"), (1, 1), "one is not counted");
        assert_eq!(outcome("put 8: 20\nget: 40\nadd: 1\n"), (2, 1), "one has no budget");
        assert!(numbers("put 8 20", 0).is_err() && numbers("put 8: x", 0).is_err());
        let waits = of("put 8: -\n", 0);
        assert_eq!(compare("libfabric", &of("put 8: 999\n", 0), &waits).failed, 0, "a wait has no budget");
    }
}
