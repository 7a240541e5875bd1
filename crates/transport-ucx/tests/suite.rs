//! The suite of all providers over UCX, with threads as PEs.

use oxshmem_base::knobs::Settings;
use oxshmem_test_folder::not_run;
use oxshmem_transport::{Agreed, Participant, suite, suites};
use oxshmem_transport_ucx::PROVIDER;

/// Runs the suite over these transports of UCX, or says why not.
fn over(tls: &str, pes: u32) {
    with(tls, pes, false);
}

/// Also with UCX's own atomics.
fn with(tls: &str, pes: u32, atomics: bool) {
    let (settings, choice) = (Settings::default(), Agreed { detail: tls, atomics, one_host: true });
    if let Err(error) = (PROVIDER.open)(&Participant::new(0, 1, &settings, &[0; 48]), &choice) {
        return not_run(error);
    }
    suite::threads(pes, suite::over(&PROVIDER, &settings, &choice));
}

suites! {
    two_pes: over("tcp", 2);
    four_pes: over("tcp", 4);
    atomics_of_ucx: with("tcp", 3, true);
    atomics_of_ucx_alone: with("tcp", 1, true);
    alone: over("tcp", 1);
}

#[test]
fn eight_pes() {
    match std::env::var_os("CHECK_LONG") {
        Some(_) => over("tcp", 8),
        None => not_run("two and four PEs show the same (CHECK_LONG=1 runs it)"),
    }
}
