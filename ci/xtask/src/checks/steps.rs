//! The checks of the whole project, as a list of steps.

use crate::checks::conformance::CaseSelection;
use crate::checks::personas::{self, PersonaArguments};
use crate::checks::rust_tests::cargo_test;
use crate::checks::{
    aarch64, abi, book, conformance, dependencies, dependent, examples, fuzz, house, instructions, launchers, manual,
    namespaces, packages, packaging, planted, public_api, python, random, rdma, sim, small_buffers, spelling, tuning,
    workspace_tests,
};
use crate::counts::{CheckCounts, skipped};
use crate::product::{bindgen, build, generate};
use crate::{Outcome, command, default_prefix};

pub(crate) struct CheckStep {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) run: fn() -> Outcome<CheckCounts>,
}

const fn step(name: &'static str, what: &'static str, run: fn() -> Outcome<CheckCounts>) -> CheckStep {
    CheckStep { name, what, run }
}

/// All steps, in the order in which they run. A new kind of check is a new line here.
pub(crate) const STEPS: &[CheckStep] = &[
    step("packages", "what the checks need", || Ok(packages::install())),
    step("format", "cargo fmt --check", || one(command::run_cargo(&["fmt", "--all", "--check"]))),
    step("house", "rules that the compiler does not know: imports, lengths, names, comments", house::run),
    step("spelling", "words that no dictionary has", spelling::check),
    step("dependencies", "crates that nothing uses, licences, advisories", dependencies::check),
    step("generated", "generated files are up to date", || one(generate::check())),
    step("build", "build and link", || one(build::build("release", &default_prefix()))),
    step("bindings", "bindings to libraries against the installed headers", || bindgen::check(&[])),
    step("interface", "the public items of the Rust API are those listed, and each has an example", public_api::check),
    step("lint", "cargo clippy on everything", || one(command::run_cargo(LINT))),
    step("unit", "cargo test on every crate; faults and proofs are steps of their own", workspace_tests::unit),
    step(
        "features",
        "the features of the Rust API: Rust and C in one process, messages, active messages, arrays by rayon, data races",
        workspace_tests::features,
    ),
    step("proofs", "schedules up to 64 PEs and the vector kernels, as released", || {
        cargo_test(&["--release", "--package", "oxshmem-schedule", "--package", "oxshmem-reduce"])
    }),
    step("loom", "the protocols between PEs under the model checker", workspace_tests::loom),
    step(
        "miri",
        "tests that need no system calls, under Miri: kernels, words that threads share, the Rust API over loopback",
        workspace_tests::miri,
    ),
    step("fuzz", "parsers and connections under libFuzzer, briefly", || fuzz::run(&fuzz::FuzzArguments::brief())),
    step(
        "crates",
        "every crate that is published can be packed without a network; with CHECK_LONG=1 it builds from what was packed",
        packaging::crates,
    ),
    step("oldest", "everything compiles with the oldest compiler that Cargo.toml names", packaging::oldest_compiler),
    step("abi", "symbols, prototypes, macros, headers", || abi::check(&default_prefix())),
    step(
        "faults",
        "faults that were found from outside, each reproduced with the installed library",
        workspace_tests::faults,
    ),
    step("dependent", "a Rust package with a part in C links the installed library, or builds its own", || {
        dependent::check(&default_prefix())
    }),
    step("manual", "every program of the manual runs on 1, 4 and 65 PEs; every page is set without a warning", || {
        manual::check(&default_prefix())
    }),
    step(
        "book",
        "the book and the README: links lead somewhere, every command that can be run is run and prints what is shown",
        || book::check(&default_prefix()),
    ),
    step("examples", "the installed examples, built by make and CMake, at 1, 3 and 4 PEs", || {
        examples::check(&default_prefix())
    }),
    step(
        "python",
        "the Python module from a wheel, with numpy 2: its tests (with CHECK_LONG=1 by every Python here), the examples, types, and shmem4py's tests by its names",
        || python::check(&default_prefix()),
    ),
    step("packaging", "what lintian and rpmlint say about the packages that were made last", packaging::check),
    step(
        "conformance",
        "every behaviour of the standard, at 1, 2, 3 and 8 PEs, with CHECK_LONG=1 at 4 too; kill tests",
        || Ok(conformance::run(&CaseSelection::everything())),
    ),
    step("shapes", "splits of teams at the sizes where grids are uneven", || {
        let pes = vec![5, 6, 7, 10, 12, 13, 16];
        Ok(conformance::run(&CaseSelection { pes, ..CaseSelection::of("strided/,grid/") }))
    }),
    step("algorithms", "collectives on a node under every schedule that can be named", || {
        Ok(conformance::run(&CaseSelection::algorithms_on_a_node()))
    }),
    step("nodes", "every behaviour with the PEs spread over two nodes, by TCP; every schedule between four", || {
        let selections = [
            // One PE on each node is what the steps of the other transports and of the namespaces have as well.
            CaseSelection { pes: vec![4], nodes: 2, ..CaseSelection::usual() },
            CaseSelection { pes: vec![5], nodes: 4, ..CaseSelection::algorithms() },
            // More PEs than any machine of ours has processors. What else the programs do is written for at most 64.
            CaseSelection { pes: vec![200], nodes: 8, ..CaseSelection::of("collectives/COL_1") },
        ];
        Ok(selections.iter().map(conformance::run).sum())
    }),
    step("sim", "a part of the behaviours over the simulated network, which does its worst in five ways", sim::run),
    step("planted", "faults that are planted in the protocols between nodes are found", || planted::run(&[])),
    step("tuning", "every schedule measured between two nodes, and collectives by the table that comes of it", || {
        tuning::check(&default_prefix())
    }),
    step("libfabric", "a part of the behaviours with the PEs spread over two nodes, by libfabric's sockets", || {
        Ok(over("ofi:tcp", "ofi:tcp;ofi_rxm"))
    }),
    step("personas", "a part over a simulated libfabric that imitates network cards", || {
        personas::run(&PersonaArguments::default())
    }),
    step(
        "instructions",
        "instructions of each operation above a libfabric and a UCX that complete at once, beside their budgets",
        || instructions::check(&default_prefix()),
    ),
    step(
        "random",
        "operations at random beside a model, one seed a job, at 2 to 8 PEs on 1 to 8 nodes over every network",
        random::brief,
    ),
    step(
        "small-buffers",
        "collectives, signals, ordering and transfers over connections that hold some KiB",
        small_buffers::check,
    ),
    step(
        "launchers",
        "one program under oshrun, Hydra, Open MPI's mpirun and a Slurm of two nodes; how each ends a job",
        || launchers::run(&[]),
    ),
    step("ucx", "what moves data, over UCX between two nodes", ucx),
    step(
        "rdma",
        "an emulated machine: places of PEs on two NUMA nodes, some behaviours over InfiniBand, a bad cable",
        || rdma::brief(&default_prefix()),
    ),
    step("namespaces", "the same on two hosts that are network namespaces", || Ok(namespaces::across())),
    step("cable", "the cable between two hosts is pulled", || Ok(namespaces::pulled(&default_prefix()))),
    step(
        "aarch64",
        "everything is built for aarch64, and programs run there under qemu-user, with CHECK_LONG=1",
        aarch64::check,
    ),
    step("sanitize", "the conformance programs under the address and undefined-behaviour sanitizers", || {
        Ok(conformance::run(&CaseSelection::sanitized()))
    }),
];

fn ucx() -> Outcome<CheckCounts> {
    if !packages::has_ucx() {
        return Ok(skipped!("UCX: it is not here (package libucx0)"));
    }
    Ok(over("ucx:tcp", "ucx:tcp"))
}

/// A part of the behaviours over a transport, and those of words with the atomics of another one.
fn over(transport: &str, with_atomics: &str) -> CheckCounts {
    let selections = [CaseSelection::over(transport), CaseSelection::with_atomics_of(with_atomics)];
    selections.iter().map(conformance::run).sum()
}

const LINT: &[&str] = &["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"];

/// A step that is one check.
fn one(outcome: Outcome) -> Outcome<CheckCounts> {
    outcome.map(|()| CheckCounts::one(true))
}
