//! The steps whose checks are Rust tests: of every crate, of features, of faults, under the model checker and under Miri.

use std::process::Command;

use oxshmem_faults::{AT_ONCE, in_parallel};

use crate::checks::packages;
use crate::checks::rust_tests::{cargo_test, count, count_output, doc_tests};
use crate::counts::{CheckCounts, skipped};
use crate::{Outcome, command, disk, target, top};

/// Packages whose tests are steps of their own.
const ELSEWHERE: [&str; 3] = ["oxshmem-faults", "oxshmem-schedule", "oxshmem-reduce"];

/// The words that select the packages of the step `unit`. Others that build for the profile of tests select them too, and name
/// targets: cargo chooses the features of every crate by the selected packages, and would compile what two steps share once for
/// each.
pub(super) fn unit_packages() -> Vec<&'static str> {
    ["--workspace"].into_iter().chain(ELSEWHERE.iter().flat_map(|package| ["--exclude", package])).collect()
}

/// The words that select packages for which cargo chooses all features below them as it does for the step unit: the provider asks for
/// the suite of the transports, the benches for the defaults of `num-traits`. So nothing below is compiled anew.
pub(super) const LIKE_ALL: [&str; 6] =
    ["--package", "oxshmem", "--package", "oxshmem-transport-tcp", "--package", "oxshmem-benches"];

/// The tests beside the code and in `tests`, then those in the documentation.
pub(super) fn unit() -> Outcome<CheckCounts> {
    let packages = unit_packages();
    // Tests run examples as PEs; `cargo test` builds them as programs only when no kind of target is named.
    command::run_cargo(&[&["build", "--quiet", "--examples"], &packages[..]].concat())?;
    // Every target with tests: libraries that say `test = false`, which `--lib` would build for nothing, are left out.
    let mut counts = cargo_test(&[&["--tests"], &packages[..]].concat())?;
    counts += doc_tests(&packages)?;
    Ok(counts)
}

/// The tests that need features of `oxshmem`. A test that is named does not make cargo build the examples which it runs.
pub(super) fn features() -> Outcome<CheckCounts> {
    let features = ["--features", "oxshmem/c,oxshmem/bytemuck,oxshmem/zerocopy,oxshmem/rayon,oxshmem/serde"];
    let selection = [&LIKE_ALL[..], &features].concat();
    command::run_cargo(&[&["build", "--quiet", "--examples"], &selection[..]].concat())?;
    let mut counts = cargo_test(&[&selection[..], &["--test", "examples", "languages"]].concat())?;
    let tests = ["--test", "messages", "--test", "active", "--test", "array"];
    counts += cargo_test(&[&selection[..], &tests].concat())?;
    // The race detector accuses neither the examples nor the crate's own messages.
    let race = [&LIKE_ALL[..], &["--features", "oxshmem/race,oxshmem/serde"]].concat();
    command::run_cargo(&[&["build", "--quiet", "--examples"], &race[..]].concat())?;
    let tests = ["--test", "race_detector", "--test", "examples", "--test", "messages"];
    counts += cargo_test(&[&race[..], &tests].concat())?;
    Ok(counts)
}

/// Tests of faults whose programs wait for silence, limits and full queues most of the time, so they leave the processors to
/// the others.
const WAITING: [&str; 8] =
    ["deadlock", "deadlocks", "full_queue", "handles", "launcher", "nonblocking", "requests", "wrong_programs"];

/// The tests of faults: those that wait beside those that compute.
pub(super) fn faults() -> Outcome<CheckCounts> {
    let folder = top().join("ci/faults/tests");
    let paths = disk::entries(&folder)?.into_iter();
    let names: Vec<String> = paths.filter_map(|path| Some(path.file_stem()?.to_str()?.to_string())).collect();
    if let Some(unknown) = WAITING.iter().find(|name| !names.iter().any(|known| known == *name)) {
        return Err(format!("{} has no test `{unknown}`, which WAITING names", folder.display()));
    }
    let (waiting, computing): (Vec<_>, Vec<_>) = names.iter().partition(|name| WAITING.contains(&name.as_str()));
    let selections = [(vec![], waiting), (vec!["--lib"], computing)].map(|(more, names)| {
        let tests = names.into_iter().flat_map(|name| ["--test", name.as_str()]);
        ["--package", "oxshmem-faults"].into_iter().chain(more).chain(tests).collect::<Vec<_>>()
    });
    in_parallel(AT_ONCE, &selections, |selection| cargo_test(selection)).into_iter().sum()
}

/// The models of `oxshmem-runtime` and `oxshmem-transport`, in a folder of their own because they are built with other atomics.
pub(super) fn loom() -> Outcome<CheckCounts> {
    let fetched = command::output(command::cargo().args(["fetch", "--locked"]))?;
    if !fetched.status.success() {
        return Ok(skipped!("the model checker: it is not on this machine and cannot be fetched"));
    }
    let mut command = command::cargo();
    command.env("RUSTFLAGS", "--cfg loom").env("RUST_BACKTRACE", "0");
    command.args(["test", "--profile", "loom", "--package", "oxshmem-runtime", "--package", "oxshmem-transport"]);
    count(command.args(["--lib", "loom_", "--target-dir"]).arg(target().join("loom")))
}

/// Tests of one package that Miri runs.
struct MiriTests {
    package: &'static str,
    /// Options of cargo that choose the programs.
    targets: &'static [&'static str],
    /// Parts of the tests' names.
    names: &'static [&'static str],
    /// One more option of Miri, or nothing.
    flag: &'static str,
}

/// The tests that Miri runs. Others call C or the system, or take hours there; crates that forbid unsafe code have nothing for it to
/// find. The longest comes first, because two run at a time.
const MIRI: &[MiriTests] = &[
    MiriTests {
        package: "oxshmem",
        targets: &["--test", "threads"],
        names: &["statics", "all_kinds", "deadlock", "one_failure", "futures"],
        // Loopback stores words of several sizes at one place, which the emulation of weak memory ends on ("cannot have empty store
        // buffer"); loom looks at memory orders.
        flag: "-Zmiri-disable-weak-memory-emulation",
    },
    MiriTests {
        package: "oxshmem-reduce",
        targets: &["--test", "kernels"],
        names: &["red_2_i32", "red_2_complex_f64", "without_sources"],
        flag: "",
    },
    MiriTests { package: "oxshmem-runtime", targets: &["--lib"], names: &["transfers::element::"], flag: "" },
];

pub(super) fn miri() -> Outcome<CheckCounts> {
    // Not the cargo that runs this, which belongs to one toolchain, but the one that chooses.
    let miri = || {
        let mut cargo = Command::new("cargo");
        cargo.env_remove("RUSTUP_TOOLCHAIN").args(["+nightly", "miri"]).current_dir(top());
        cargo
    };
    let is_here = || miri().arg("--version").output().is_ok_and(|output| output.status.success());
    if !is_here() {
        packages::add_miri();
    }
    if !is_here() {
        return Ok(skipped!("Miri (rustup toolchain install nightly --component miri --component rust-src)"));
    }
    // Once: the programs that run at a time would each build the standard library.
    command::run(miri().args(["setup", "--quiet"]))?;
    // Miri runs the tests of a program one after the other.
    let run = |tests: &MiriTests| {
        let mut command = miri();
        command
            .env("MIRIFLAGS", format!("-Zmiri-disable-isolation {}", tests.flag))
            .env("RUST_BACKTRACE", "0")
            .args(["test", "--package", tests.package])
            .args(tests.targets);
        command::output(command.arg("--target-dir").arg(target().join("miri")).arg("--").args(tests.names))
    };
    let mut counts = CheckCounts::default();
    for (MiriTests { package, names, .. }, output) in MIRI.iter().zip(in_parallel(AT_ONCE, MIRI, run)) {
        print!("{package}: ");
        let output = output?;
        counts += count_output(&output, |_| false)?;
        let text = String::from_utf8_lossy(&output.stdout);
        let has_run = |name: &str| text.lines().any(|line| line.starts_with("test ") && line.contains(name));
        // Where a test got another name the others would pass without it. One that does not compile is counted above.
        if let Some(gone) = names.iter().find(|name| output.status.success() && !has_run(name)) {
            return Err(format!("{package} has no test whose name has `{gone}`"));
        }
    }
    Ok(counts)
}
