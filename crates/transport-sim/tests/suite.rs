//! The suite of all providers over the simulated network, with threads as PEs, under every strategy.

use oxshmem_base::knobs::Settings;
use oxshmem_transport::{Agreed, suite};
use oxshmem_transport_sim::PROVIDER;

fn with(pes: u32, detail: &str) {
    let settings = Settings::default();
    let choice = Agreed { detail, ..Agreed::default() };
    println!("sim:{detail}");
    suite::threads(pes, suite::over(&PROVIDER, &settings, &choice));
}

#[test]
fn lazy() {
    with(2, "lazy:1");
    with(3, "lazy:2");
}

#[test]
fn eager() {
    with(3, "eager");
}

#[test]
fn random() {
    for seed in 4..8 {
        with(2, &format!("random:{seed}"));
    }
    with(5, "random:12");
}

#[test]
fn priority() {
    with(3, "priority:1");
    with(2, "priority:9");
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
