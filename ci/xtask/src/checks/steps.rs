//! The checks of the whole project, as a list of steps.

use crate::checks::rust_tests::cargo_test;
use crate::checks::{
    aarch64, abi, book, conformance, dependencies, dependent, examples, fuzz, house, instructions, launchers, manual,
    namespaces, packages, packaging, personas, planted, public_api, python, random, rdma, sim, small_buffers, spelling,
    tuning, workspace_tests,
};
use crate::counts::{CheckCounts, skipped};
use crate::product::{bindgen, build, generate};
use crate::{Outcome, command, default_prefix};

/// One step of `cargo xtask test`.
pub(crate) struct CheckStep {
    /// Name on the command line.
    pub(crate) name: &'static str,
    /// Its subject.
    pub(crate) what: &'static str,
    /// Runs the checks.
    pub(crate) run: fn() -> Outcome<CheckCounts>,
}

/// All steps, in the order in which they run. A new kind of check is a new line here.
pub(crate) const STEPS: &[CheckStep] = &[
    CheckStep { name: "packages", what: "what the checks need", run: || Ok(packages::install()) },
    CheckStep {
        name: "format",
        what: "cargo fmt --check",
        run: || one(command::run_cargo(&["fmt", "--all", "--check"])),
    },
    CheckStep {
        name: "house",
        what: "rules that the compiler does not know: imports, lengths, names, comments",
        run: house::run,
    },
    CheckStep { name: "spelling", what: "words that no dictionary has", run: spelling::check },
    CheckStep {
        name: "dependencies",
        what: "crates that nothing uses, licences, advisories",
        run: dependencies::check,
    },
    CheckStep { name: "generated", what: "generated files are up to date", run: || one(generate::check()) },
    CheckStep { name: "build", what: "build and link", run: || one(build::build("release", &default_prefix())) },
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
    CheckStep { name: "lint", what: "cargo clippy on everything", run: || one(command::run_cargo(LINT)) },
    CheckStep {
        name: "unit",
        what: "cargo test on every crate; faults and proofs are steps of their own",
        run: workspace_tests::unit,
    },
    CheckStep {
        name: "features",
        what: "the features of the Rust API: Rust and C in one process, messages, active messages, arrays by rayon, data races",
        run: workspace_tests::features,
    },
    CheckStep {
        name: "proofs",
        what: "schedules up to 64 PEs and the vector kernels, as released",
        run: || cargo_test(&["--release", "--package", "oxshmem-schedule", "--package", "oxshmem-reduce"]),
    },
    CheckStep { name: "loom", what: "the protocols between PEs under the model checker", run: workspace_tests::loom },
    CheckStep {
        name: "miri",
        what: "tests that need no system calls, under Miri: kernels, words that threads share, the Rust API over loopback",
        run: workspace_tests::miri,
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
    CheckStep { name: "abi", what: "symbols, prototypes, macros, headers", run: || abi::check(&default_prefix()) },
    CheckStep {
        name: "faults",
        what: "faults that were found from outside, each reproduced with the installed library",
        run: workspace_tests::faults,
    },
    CheckStep {
        name: "dependent",
        what: "a Rust package with a part in C links the installed library, or builds its own",
        run: || dependent::check(&default_prefix()),
    },
    CheckStep {
        name: "manual",
        what: "every program of the manual runs on 1, 4 and 65 PEs; every page is set without a warning",
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
        what: "every behaviour of the standard, at 1, 2, 3 and 8 PEs, with CHECK_LONG=1 at 4 too; kill tests",
        run: || Ok(conformance::run(&conformance::CaseSelection::everything())),
    },
    CheckStep {
        name: "shapes",
        what: "splits of teams at the sizes where grids are uneven",
        run: || Ok(conformance::run(&conformance::CaseSelection::shapes())),
    },
    CheckStep {
        name: "algorithms",
        what: "collectives on a node under every schedule that can be named",
        run: || Ok(conformance::run(&conformance::CaseSelection::algorithms_on_a_node())),
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
        what: "instructions of each operation above a libfabric and a UCX that complete at once, beside their budgets",
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
        name: "launchers",
        what: "one program under oshrun, Hydra, Open MPI's mpirun and a Slurm of two nodes; how each ends a job",
        run: || launchers::run(&[]),
    },
    CheckStep { name: "ucx", what: "what moves data, over UCX between two nodes", run: ucx },
    CheckStep {
        name: "rdma",
        what: "an emulated machine: places of PEs on two NUMA nodes, some behaviours over InfiniBand, a bad cable",
        run: || rdma::brief(&default_prefix()),
    },
    CheckStep {
        name: "namespaces",
        what: "the same on two hosts that are network namespaces",
        run: || Ok(namespaces::across()),
    },
    CheckStep {
        name: "cable",
        what: "the cable between two hosts is pulled",
        run: || Ok(namespaces::pulled(&default_prefix())),
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
        return Ok(skipped!("UCX: it is not here (package libucx0)"));
    }
    let mut counts = conformance::run(&conformance::CaseSelection::over("ucx:tcp"));
    counts += conformance::run(&conformance::CaseSelection::with_atomics_of("ucx:tcp"));
    Ok(counts)
}

const LINT: &[&str] = &["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"];

/// A step that is one check.
fn one(outcome: Outcome) -> Outcome<CheckCounts> {
    outcome.map(|()| CheckCounts { passed: 1, ..CheckCounts::default() })
}
