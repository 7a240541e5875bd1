//! The suite of all providers over the simulated network, with threads as PEs, under every strategy.

use oxshmem_base::knobs::Settings;
use oxshmem_transport::{Agreed, suite, suites};
use oxshmem_transport_sim::PROVIDER;

/// Tests of tens of thousands of operations, each of which is several turns here.
const LONG: [&str; 6] = [
    "hammered_totals_are_exact",
    "processor_and_provider_update_one_word",
    "a_signal_never_overtakes_its_data",
    "a_fence_separates_puts_and_atomics",
    "lanes_do_not_disturb_each_other",
    "who_never_waits_is_held_back",
];

/// Whether the long tests run, and further seeds and numbers of PEs.
fn is_long() -> bool {
    std::env::var_os("CHECK_LONG").is_some()
}

/// Runs these tests of the suite.
fn tests(pes: u32, detail: &str, tests: &[suite::Test]) {
    println!("sim:{detail}");
    let choice = Agreed { detail, ..Agreed::default() };
    suite::threads_of(pes, suite::over(&PROVIDER, &Settings::default(), &choice), tests);
}

/// Runs the suite with each of these numbers of PEs and details, without the long tests; with `CHECK_LONG` with them, and further.
fn with(jobs: &[(u32, &str)], further: &[(u32, &str)]) {
    let is_run = |test: &&suite::Test| is_long() || !LONG.contains(&test.0);
    let chosen: Vec<suite::Test> = suite::TESTS.iter().filter(is_run).copied().collect();
    let further = further.iter().filter(|_| is_long());
    jobs.iter().chain(further).for_each(|&(pes, detail)| tests(pes, detail, &chosen));
}

suites! {
    // Every test, over the kindest network.
    all_tests: tests(2, "eager", suite::TESTS);
    lazy: with(&[(3, "lazy:2")], &[(2, "lazy:1")]);
    random: with(&[(2, "random:4"), (4, "random:12")], &[(2, "random:5"), (2, "random:7")]);
    priority: with(&[(3, "priority:1")], &[(2, "priority:9")]);
    somebody_starves: with(&[(3, "starved-pe:2"), (3, "starved-pair:3")], &[]);
    alone: with(&[(1, "5")], &[]);
}
