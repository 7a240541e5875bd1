//! The checks of the whole project, as a list of steps.

use std::process::Command;
use std::time::Instant;

use crate::checks::rust_tests::{cargo_test, count, count_output};
use crate::checks::{
    aarch64, abi, book, conformance, dependencies, dependent, examples, fuzz, house, instructions, launchers, manual,
    namespaces, packages, packaging, personas, placement, planted, public_api, python, random, rdma, sim,
    small_buffers, spelling, tuning,
};
use crate::counts::{CheckCounts, StepResult, failed, finish, table, take_failures};
use crate::parallel::{AT_ONCE, in_parallel};
use crate::product::{bindgen, build, generate};
use crate::{Outcome, command, default_prefix, target, top};

/// One step of `cargo xtask test`.
pub(crate) struct CheckStep {
    /// Name on the command line.
    pub(crate) name: &'static str,
    /// Its subject.
    pub(crate) what: &'static str,
    run: fn() -> Outcome<CheckCounts>,
}

/// All steps, in the order in which they run. A new kind of check is a new line here.
pub(crate) const STEPS: &[CheckStep] = &[
    CheckStep { name: "packages", what: "what the checks need", run: || Ok(packages::install()) },
    CheckStep { name: "format", what: "cargo fmt --check", run: || one(cargo(&["fmt", "--all", "--check"])) },
    CheckStep {
        name: "house",
        what: "rules that the compiler does not know: imports, lengths, names, comments",
        run: || house::run(false, false),
    },
    CheckStep { name: "spelling", what: "words that no dictionary has", run: spelling::check },
    CheckStep {
        name: "dependencies",
        what: "crates that nothing uses, licences, advisories",
        run: dependencies::check,
    },
    CheckStep { name: "generated", what: "generated files are up to date", run: || one(generate::check()) },
    CheckStep {
        name: "bindings",
        what: "bindings to libraries against the installed headers",
        run: || bindgen::check(&[]),
    },
    CheckStep {
        name: "interface",
        what: "the public items of the Rust API are those listed, and each has an example",
        run: public_api::check,
    },
    CheckStep { name: "lint", what: "cargo clippy on everything", run: || one(cargo(LINT)) },
    CheckStep { name: "unit", what: "cargo test on every crate; faults and proofs are steps of their own", run: unit },
    CheckStep {
        name: "features",
        what: "the features of the Rust API: Rust and C in one process, messages, active messages, arrays by rayon",
        run: features,
    },
    CheckStep {
        name: "proofs",
        what: "schedules up to 64 PEs and the vector kernels, as released",
        run: || cargo_test(&["--release", "--package", "oxshmem-schedule", "--package", "oxshmem-reduce"]),
    },
    CheckStep { name: "loom", what: "the protocols between PEs under the model checker", run: loom },
    CheckStep {
        name: "miri",
        what: "tests that need no system calls, under Miri: kernels, words that threads share, the Rust API over loopback",
        run: miri,
    },
    CheckStep {
        name: "fuzz",
        what: "parsers and connections under libFuzzer, briefly",
        run: || fuzz::run(&fuzz::FuzzArguments::brief()),
    },
    CheckStep {
        name: "crates",
        what: "every crate that is published can be packed without a network; with CHECK_LONG=1 it builds from what was packed",
        run: packaging::crates,
    },
    CheckStep {
        name: "oldest",
        what: "everything compiles with the oldest compiler that Cargo.toml names",
        run: packaging::oldest_compiler,
    },
    CheckStep { name: "build", what: "build and link", run: || one(build::build("release", &default_prefix())) },
    CheckStep { name: "abi", what: "symbols, prototypes, macros, headers", run: || abi::check(&default_prefix()) },
    CheckStep {
        name: "faults",
        what: "faults that were found from outside, each reproduced with the installed library",
        run: faults,
    },
    CheckStep {
        name: "dependent",
        what: "a Rust package with a part in C links the installed library, or builds its own",
        run: || dependent::check(&default_prefix()),
    },
    CheckStep {
        name: "manual",
        what: "every program of the manual runs on 4 PEs; every page is set without a warning",
        run: || manual::check(&default_prefix()),
    },
    CheckStep {
        name: "book",
        what: "the book and the README: links lead somewhere, every command that can be run is run and prints what is shown",
        run: || book::check(&default_prefix()),
    },
    CheckStep {
        name: "examples",
        what: "the installed examples, built by make and CMake, at 1, 3 and 4 PEs",
        run: || examples::check(&default_prefix()),
    },
    CheckStep {
        name: "python",
        what: "the Python module from a wheel, with numpy 2: its tests (with CHECK_LONG=1 by every Python here), the examples, types, and shmem4py's tests by its names",
        run: || python::check(&default_prefix()),
    },
    CheckStep {
        name: "packaging",
        what: "what lintian and rpmlint say about the packages that were made last",
        run: packaging::check,
    },
    CheckStep {
        name: "conformance",
        what: "every behaviour of the standard, at 1, 2, 3, 4 and 8 PEs; kill tests",
        run: || Ok(conformance::run(&conformance::CaseSelection::everything())),
    },
    CheckStep {
        name: "shapes",
        what: "splits of teams at the sizes where grids are uneven",
        run: || Ok(conformance::run(&conformance::CaseSelection::shapes())),
    },
    CheckStep {
        name: "algorithms",
        what: "the collectives under every schedule that can be named",
        run: || Ok(conformance::run(&conformance::CaseSelection::algorithms())),
    },
    CheckStep {
        name: "nodes",
        what: "every behaviour with the PEs spread over two nodes, by TCP; every schedule between four",
        run: || {
            let mut counts = conformance::run(&conformance::CaseSelection::across_nodes());
            counts += conformance::run(&conformance::CaseSelection::algorithms_across_nodes());
            counts += conformance::run(&conformance::CaseSelection::many_across_nodes());
            Ok(counts)
        },
    },
    CheckStep {
        name: "sim",
        what: "a part of the behaviours over the simulated network, which does its worst in five ways",
        run: sim::run,
    },
    CheckStep {
        name: "planted",
        what: "faults that are planted in the protocols between nodes are found",
        run: || planted::run(&[]),
    },
    CheckStep {
        name: "tuning",
        what: "every schedule measured between two nodes, and collectives by the table that comes of it",
        run: || tuning::check(&default_prefix()),
    },
    CheckStep {
        name: "libfabric",
        what: "a part of the behaviours with the PEs spread over two nodes, by libfabric's sockets",
        run: || {
            let mut counts = conformance::run(&conformance::CaseSelection::over("ofi:tcp"));
            counts += conformance::run(&conformance::CaseSelection::with_atomics_of("ofi:tcp;ofi_rxm"));
            Ok(counts)
        },
    },
    CheckStep { name: "personas", what: "a part over a libfabric that plays cards", run: personas::brief },
    CheckStep {
        name: "instructions",
        what: "instructions of each operation above a libfabric that completes at once, beside their budgets",
        run: || instructions::check(&default_prefix()),
    },
    CheckStep {
        name: "random",
        what: "operations at random beside a model, one seed a job, at 2 to 8 PEs on 1 to 8 nodes over every network",
        run: random::brief,
    },
    CheckStep {
        name: "small-buffers",
        what: "collectives, signals, ordering and transfers over connections that hold some KiB",
        run: small_buffers::check,
    },
    CheckStep {
        name: "placement",
        what: "PEs, their heaps and cards on a machine of two NUMA nodes",
        run: || placement::check(&default_prefix()),
    },
    CheckStep {
        name: "launchers",
        what: "one program under oshrun, Hydra, Open MPI's mpirun and a Slurm of two nodes; how each ends a job",
        run: || launchers::run(&[]),
    },
    CheckStep { name: "ucx", what: "what moves data, over UCX between two nodes", run: ucx },
    CheckStep { name: "rdma", what: "some of it over emulated InfiniBand, by UCX and by libfabric", run: rdma::brief },
    CheckStep {
        name: "namespaces",
        what: "the same on two hosts that are network namespaces",
        run: || Ok(namespaces::across()),
    },
    CheckStep {
        name: "cable",
        what: "the cable between two hosts is pulled, and is bad",
        run: || namespaces::cable(&default_prefix()),
    },
    CheckStep {
        name: "aarch64",
        what: "everything is built for aarch64, and programs run there under qemu-user, with CHECK_LONG=1",
        run: aarch64::check,
    },
    CheckStep {
        name: "sanitize",
        what: "the conformance programs under the address and undefined-behaviour sanitizers",
        run: || Ok(conformance::run(&conformance::CaseSelection::sanitized())),
    },
];

fn ucx() -> Outcome<CheckCounts> {
    if !packages::has_ucx() {
        println!("SKIPPED: there is no UCX here (package libucx0)");
        return Ok(CheckCounts { skipped: 1, ..CheckCounts::default() });
    }
    let mut counts = conformance::run(&conformance::CaseSelection::over("ucx:tcp"));
    counts += conformance::run(&conformance::CaseSelection::with_atomics_of("ucx:tcp"));
    Ok(counts)
}

const LINT: &[&str] = &["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"];

/// Runs the named steps, or all. The last line counts.
pub(crate) fn run(names: &[String]) -> Outcome {
    if let Some(unknown) = names.iter().find(|name| STEPS.iter().all(|step| step.name != name.as_str())) {
        return Err(format!("`{unknown}` is not a step; `test --list` names them"));
    }
    let mut total = CheckCounts::default();
    let mut results = Vec::new();
    for step in STEPS.iter().filter(|step| names.is_empty() || names.iter().any(|name| name == step.name)) {
        println!("== {}: {}", step.name, step.what);
        let begun = Instant::now();
        let counts = (step.run)().unwrap_or_else(|message| {
            failed!("{}: {message}", step.name);
            CheckCounts { failed: 1, ..CheckCounts::default() }
        });
        let took = begun.elapsed();
        println!("-- {} took {} s", step.name, took.as_secs());
        results.push(StepResult { name: step.name, took, counts, failures: take_failures() });
        total += counts;
    }
    print!("{}", table(&results));
    finish(total)
}

/// A step that is one check.
fn one(outcome: Outcome) -> Outcome<CheckCounts> {
    outcome.map(|()| CheckCounts { passed: 1, ..CheckCounts::default() })
}

fn cargo(arguments: &[&str]) -> Outcome {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    command::run(Command::new(cargo).args(arguments).current_dir(top()))
}

/// The tests beside the code and in `tests`, then those in the documentation.
fn unit() -> Outcome<CheckCounts> {
    let elsewhere = ["oxshmem-faults", "oxshmem-schedule", "oxshmem-reduce"];
    let but = |more: &'static [&str]| elsewhere.iter().chain(more).flat_map(|package| ["--exclude", package]);
    // Tests run examples as PEs; `cargo test` builds them as programs only when no kind of target is named.
    cargo(&["build", "--quiet", "--workspace", "--examples"].into_iter().chain(but(&[])).collect::<Vec<_>>())?;
    // Every target with tests: libraries that say `test = false`, which `--lib` would build for nothing, are left out.
    let beside_the_code = ["--workspace", "--tests"];
    let mut counts = cargo_test(&beside_the_code.into_iter().chain(but(&[])).collect::<Vec<_>>())?;
    // Beside the whole workspace rustdoc compiles hundreds of examples one by one; alone they are one program, for one processor.
    let examples = [
        vec!["--doc", "--package", "oxshmem", "--package", "oxshmem-transport-tcp"],
        ["--workspace", "--doc"].into_iter().chain(but(&["oxshmem"])).collect(),
    ];
    for counted in in_parallel(AT_ONCE, &examples, |selection| cargo_test(selection)) {
        counts += counted?;
    }
    Ok(counts)
}

/// The tests that need features of `oxshmem`. A test that is named does not make cargo build the examples which it runs.
fn features() -> Outcome<CheckCounts> {
    // The provider asks for the suite of the transports, as the whole workspace does: so nothing below is compiled anew.
    let selection = ["--package", "oxshmem", "--package", "oxshmem-transport-tcp", "--features"];
    let selection =
        [&selection[..], &["oxshmem/c,oxshmem/bytemuck,oxshmem/zerocopy,oxshmem/rayon,oxshmem/serde"]].concat();
    cargo(&[&["build", "--quiet", "--examples"], &selection[..]].concat())?;
    let mut counts = cargo_test(&[&selection[..], &["--test", "examples", "languages"]].concat())?;
    let tests = ["--test", "messages", "--test", "active", "--test", "array"];
    counts += cargo_test(&[&selection[..], &tests].concat())?;
    Ok(counts)
}

/// Tests of faults whose programs wait for silence, limits and full queues most of the time, so they leave the processors to
/// the others.
const WAITING: [&str; 6] = ["deadlock", "deadlocks", "full_queue", "handles", "launcher", "requests"];

/// The tests of faults: those that wait beside those that compute.
fn faults() -> Outcome<CheckCounts> {
    let folder = top().join("ci/faults/tests");
    let listed = std::fs::read_dir(&folder).map_err(|error| format!("{} cannot be read: {error}", folder.display()))?;
    let paths = listed.flatten().map(|entry| entry.path());
    let mut names: Vec<String> = paths.filter_map(|path| Some(path.file_stem()?.to_str()?.to_string())).collect();
    names.sort();
    if let Some(unknown) = WAITING.iter().find(|name| !names.iter().any(|known| known == *name)) {
        return Err(format!("{} has no test `{unknown}`, which WAITING names", folder.display()));
    }
    let (waiting, computing): (Vec<_>, Vec<_>) = names.iter().partition(|name| WAITING.contains(&name.as_str()));
    let selections = [(vec![], waiting), (vec!["--lib"], computing)].map(|(more, names)| {
        let tests = names.into_iter().flat_map(|name| ["--test", name.as_str()]);
        ["--package", "oxshmem-faults"].into_iter().chain(more).chain(tests).collect::<Vec<_>>()
    });
    let mut counts = CheckCounts::default();
    for counted in in_parallel(AT_ONCE, &selections, |selection| cargo_test(selection)) {
        counts += counted?;
    }
    Ok(counts)
}

/// The models of `oxshmem-runtime` and `oxshmem-transport`, in a folder of their own because they are built with other atomics.
fn loom() -> Outcome<CheckCounts> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let fetched = command::output(Command::new(&cargo).args(["fetch", "--locked"]).current_dir(top()))?;
    if !fetched.status.success() {
        println!("skipped: the model checker is not on this machine and cannot be fetched");
        return Ok(CheckCounts { skipped: 1, ..CheckCounts::default() });
    }
    let mut command = Command::new(cargo);
    command.env("RUSTFLAGS", "--cfg loom").env("RUST_BACKTRACE", "0");
    // Nobody keeps these programs: built in parts and without lines they are there sooner.
    command.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16").env("CARGO_PROFILE_RELEASE_DEBUG", "0");
    command.args([
        "test",
        "--release",
        "--package",
        "oxshmem-runtime",
        "--package",
        "oxshmem-transport",
        "--lib",
        "loom_",
        "--target-dir",
    ]);
    count(command.arg(target().join("loom")))
}

/// The tests that Miri runs: a package, its targets, the names, a flag. Others call C or the system, or take hours there; crates
/// that forbid unsafe code have nothing for it to find. The longest comes first, because two run at a time.
///
/// Loopback stores words of several sizes at one place, which Miri's emulation of weak memory ends on ("cannot have empty store
/// buffer"); loom looks at memory orders.
const MIRI: &[(&str, &[&str], &[&str], &str)] = &[
    (
        "oxshmem",
        &["--test", "threads"],
        &["statics", "all_kinds", "deadlock", "one_failure", "futures"],
        "-Zmiri-disable-weak-memory-emulation",
    ),
    ("oxshmem-reduce", &["--test", "kernels"], &["red_2_i32", "red_2_complex_f64", "without_sources"], ""),
    ("oxshmem-runtime", &["--lib"], &["transfers::element::"], ""),
];

fn miri() -> Outcome<CheckCounts> {
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
        println!("skipped: no Miri here (rustup toolchain install nightly --component miri --component rust-src)");
        return Ok(CheckCounts { skipped: 1, ..CheckCounts::default() });
    }
    // Once: the programs that run at a time would each build the standard library.
    command::run(miri().args(["setup", "--quiet"]))?;
    // Miri runs the tests of a program one after the other.
    let run = |(package, targets, names, flag): &(&str, &[&str], &[&str], &str)| {
        let mut command = miri();
        command
            .env("MIRIFLAGS", format!("-Zmiri-disable-isolation {flag}"))
            .env("RUST_BACKTRACE", "0")
            .args(["test", "--package", package])
            .args(*targets);
        command::output(command.arg("--target-dir").arg(target().join("miri")).arg("--").args(*names))
    };
    let mut counts = CheckCounts::default();
    for ((package, ..), output) in MIRI.iter().zip(in_parallel(AT_ONCE, MIRI, run)) {
        print!("{package}: ");
        counts += count_output(&output?, |_| false)?;
    }
    Ok(counts)
}
