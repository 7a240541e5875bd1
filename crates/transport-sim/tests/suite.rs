//! The suite of all providers over the simulated network, with threads as PEs, under every strategy.

use oxshmem_base::knobs::Settings;
use oxshmem_transport::{Agreed, suite};
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

/// Runs the suite, without the long tests unless `CHECK_LONG` is set.
fn with(pes: u32, detail: &str) {
    let tests: Vec<suite::Test> =
        suite::TESTS.iter().filter(|(name, _)| is_long() || !LONG.contains(name)).copied().collect();
    let settings = Settings::default();
    let choice = Agreed { detail, ..Agreed::default() };
    println!("sim:{detail}");
    suite::threads_of(pes, suite::over(&PROVIDER, &settings, &choice), &tests);
}

/// Every test, over the kindest network.
#[test]
fn all_tests() {
    let settings = Settings::default();
    let choice = Agreed { detail: "eager", ..Agreed::default() };
    suite::threads(2, suite::over(&PROVIDER, &settings, &choice));
}

#[test]
fn lazy() {
    if is_long() {
        with(2, "lazy:1");
    }
    with(3, "lazy:2");
}

#[test]
fn random() {
    for seed in if is_long() { vec![4, 5, 7] } else { vec![4] } {
        with(2, &format!("random:{seed}"));
    }
    with(4, "random:12");
}

#[test]
fn priority() {
    with(3, "priority:1");
    if is_long() {
        with(2, "priority:9");
    }
}

#[test]
fn somebody_starves() {
    with(3, "starved-pe:2");
    with(3, "starved-pair:3");
}

#[test]
fn alone() {
    with(1, "5");
}
