//! The suite of all providers over TCP, with threads as PEs.

use oxshmem_base::knobs::Settings;
use oxshmem_transport::{Agreed, suite, suites};
use oxshmem_transport_tcp::PROVIDER;

/// Runs the suite with these variables.
fn with(pes: u32, change: impl Fn(&mut Settings)) {
    let mut settings = Settings::default();
    change(&mut settings);
    suite::threads(pes, suite::over(&PROVIDER, &settings, &Agreed::default()));
}

suites! {
    two_pes: with(2, |_| {});
    four_pes: with(4, |_| {});
    eight_pes: with(8, |_| {});
    three_rails: with(2, |settings| settings.rails = Some(3));
    encrypted: with(3, |settings| settings.tcp_encrypt = true);
    alone: with(1, |_| {});
}

/// In every job all PEs meet at once, so that every pair connects from both sides at the same time.
#[test]
fn both_sides_connect_at_once() {
    for _ in 0..20 {
        suite::threads_of(4, suite::over(&PROVIDER, &Settings::default(), &Agreed::default()), &[]);
    }
}
