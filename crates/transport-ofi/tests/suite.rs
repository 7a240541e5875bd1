//! The suite of all providers over each provider of libfabric that works on any machine, with threads as PEs; the one for
//! cards runs where there is a card.

use oxshmem_base::Error;
use oxshmem_base::knobs::{Atomics, Settings};
use oxshmem_test_folder::not_run;
use oxshmem_transport::{Agreed, Fabric, NetworkAtomics, Offers, Participant, WantedTransport, suite, suites};
use oxshmem_transport_ofi::PROVIDER;
use parking_lot::Mutex;

/// One job at a time: a hundred threads on a small machine would show nothing more.
static TURN: Mutex<()> = Mutex::new(());

/// The suite on `pes` PEs over the provider, if it is here.
fn over(provider: &str, pes: u32) {
    with(provider, &Settings::default(), pes);
}

/// The same with atomics of the provider's own.
fn atomics_of(provider: &str, pes: u32) {
    with(provider, &Settings { atomics: Atomics::Network, ..Settings::default() }, pes);
}

/// The same over two rails, of which one is the interface of this host alone.
fn over_two_rails(provider: &str, pes: u32) {
    let Ok(fabric) = alone_over(provider, &Settings::default()) else { return over(provider, pes) };
    let words = fabric.describe();
    let interface = words.split_once(" on ").and_then(|(_, rest)| rest.split(',').next()).expect("it names a domain");
    if interface == "lo" {
        return not_run("libfabric sees no interface but lo");
    }
    let settings = Settings { ofi_domain: Some(format!("{interface},lo")), rails: Some(2), ..Settings::default() };
    let words = alone_over(provider, &settings).expect("the endpoints open").describe();
    assert!(words.contains(&format!(" on {interface} and lo")), "{words}");
    with(provider, &settings, pes);
}

/// The offers to a user who names `ofi:provider`.
fn offers(provider: Option<&str>, settings: &Settings) -> Offers {
    let wanted = WantedTransport { named: true, detail: provider };
    (PROVIDER.offers)(&Participant::new(0, 1, settings, &[0; 48]), &wanted)
}

fn choice<'c>(provider: &'c str, settings: &Settings) -> Agreed<'c> {
    Agreed { detail: provider, atomics: settings.atomics == Atomics::Network, one_host: true }
}

/// The only PE of a job.
fn alone_over(provider: &str, settings: &Settings) -> Result<Box<dyn Fabric>, Error> {
    (PROVIDER.open)(&Participant::new(0, 1, settings, &[0; 48]), &choice(provider, settings))
}

fn with(provider: &str, settings: &Settings, pes: u32) {
    let _turn = TURN.lock();
    let Offers { ways, rejected } = offers(Some(provider), settings);
    let why = match &ways[..] {
        [way, ..] => match &way.atomics {
            NetworkAtomics::None(why) if settings.atomics == Atomics::Network => why.clone(),
            _ => String::new(),
        },
        [] => rejected.iter().map(ToString::to_string).collect(),
    };
    if !why.is_empty() {
        return not_run(why);
    }
    suite::threads(pes, suite::over(&PROVIDER, settings, &choice(provider, settings)));
}

#[test]
fn a_domain_that_is_not_here_is_answered_with_those_that_are() {
    let _turn = TURN.lock();
    if offers(Some("tcp"), &Settings::default()).ways.is_empty() {
        return not_run("libfabric has no provider tcp here");
    }
    let settings = Settings { ofi_domain: Some("nowhere0".into()), ..Settings::default() };
    let told: String = offers(Some("tcp"), &settings).rejected.iter().map(ToString::to_string).collect();
    assert!(told.contains("domain nowhere0") && told.contains("the domains of its list are "), "{told}");
}

/// [`over`], only if the user asks for it, for this reason.
fn over_if_asked(why_not: &str, provider: &str, pes: u32) {
    match std::env::var_os("CHECK_LONG") {
        Some(_) => over(provider, pes),
        None => not_run(format_args!("{why_not} (CHECK_LONG=1 runs it)")),
    }
}

suites! {
    // The endpoints that this version calls `tcp`: its own or those of the layer above.
    tcp_two: over("tcp", 2);
    tcp_by_rxm_four: over("tcp;ofi_rxm", 4);
    two_rails_of_tcp: over_two_rails("tcp", 2);
    shm_four: over("shm", 4);
    atomics_of_tcp_by_rxm: atomics_of("tcp;ofi_rxm", 2);
    atomics_of_tcp_by_rxm_alone: atomics_of("tcp;ofi_rxm", 1);
    atomics_of_shm: atomics_of("shm", 3);
    verbs_by_rxm: over("verbs;ofi_rxm", 2);
    alone: over("tcp", 1);
    // The endpoints of sockets that libfabric 1.17 calls `net` and later versions `tcp`.
    net_two: over_if_asked("it takes minutes", "net", 2);
    net_four: over_if_asked("it takes minutes", "net", 4);
    datagrams_two: over_if_asked("no user takes it for its speed", "udp;ofi_rxd", 2);
    tcp_by_rxm_two: over_if_asked("four PEs show the same and more", "tcp;ofi_rxm", 2);
    shm_two: over_if_asked("four PEs show the same and more", "shm", 2);
}

#[test]
fn what_is_not_there_is_said() {
    let Offers { ways, rejected } = offers(Some("carrier_pigeon"), &Settings::default());
    assert!(ways.is_empty(), "libfabric offers {ways:?}");
    let [why] = &rejected[..] else { panic!("one reason, not {rejected:?}") };
    assert!(why.why.contains("carrier_pigeon") || why.why.contains("libfabric.so.1"), "{why}");
}

#[test]
fn the_deprecated_provider_is_never_offered() {
    let Offers { ways, rejected } = offers(Some("sockets"), &Settings::default());
    let told: String = rejected.iter().map(ToString::to_string).collect();
    assert!(ways.is_empty(), "{ways:?}");
    assert!(told.contains("never used because it hangs") || told.contains("libfabric.so.1"), "{told}");
    let Offers { ways, rejected } = offers(None, &Settings::default());
    if ways.is_empty() {
        return not_run(format_args!("{rejected:?}"));
    }
    assert!(!ways.iter().any(|offer| offer.detail.starts_with("sockets")), "{ways:?}");
}
