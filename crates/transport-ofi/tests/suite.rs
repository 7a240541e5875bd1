//! The suite of all providers over each provider of libfabric that works on any machine, with threads as PEs; the one for
//! cards runs where there is a card.

use std::sync::{Mutex, PoisonError};

use oxshmem_transport::{Fabric, suite};
use oxshmem_transport_ofi::{Options, Selection, atomics, offers, open};

/// One job at a time: a hundred threads on a small machine would show nothing more.
static TURN: Mutex<()> = Mutex::new(());

/// The suite on `pes` PEs over the provider, if it is here.
fn over(provider: &str, pes: u32) {
    with(&Selection { provider: Some(provider.into()), ..Selection::default() }, pes);
}

/// The same with atomics of the provider's own.
fn atomics_of(provider: &str, pes: u32) {
    let selection = Selection { provider: Some(provider.into()), atomics: true, ..Selection::default() };
    match atomics(&selection) {
        Ok(()) => with(&selection, pes),
        Err(error) => println!("not run: {}", error.to_string().replace('\n', " ")),
    }
}

/// The same over two rails, of which one is the interface of this host alone.
fn over_two_rails(provider: &str, pes: u32) {
    let selection = Selection { provider: Some(provider.into()), ..Selection::default() };
    let interface = match offers(&selection).map(|mut offers| offers.remove(0).domain) {
        Ok(interface) if interface != "lo" => interface,
        Ok(_) => return println!("not run: libfabric sees no interface but lo"),
        Err(error) => return println!("not run: {}", error.to_string().replace('\n', " ")),
    };
    let selection = Selection { domain: Some(format!("{interface},lo")), rails: Some(2), ..selection };
    let words = open(&Options { me: 0, pes: 1, selection: selection.clone() }).expect("the endpoints open").describe();
    assert!(words.contains(&format!(" on {interface} and lo")), "{words}");
    with(&selection, pes);
}

fn with(selection: &Selection, pes: u32) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Err(error) = offers(selection) {
        return println!("not run: {}", error.to_string().replace('\n', " "));
    }
    let fabric = |me| open(&Options { me, pes, selection: selection.clone() }).expect("the endpoint opens");
    suite::threads(pes, |pes| (0..pes).map(fabric).collect::<Vec<Box<dyn Fabric>>>());
}

/// The endpoints of sockets that libfabric 1.17 calls `net` and later versions `tcp`. There a test of the suite can take
/// a minute, so only who asks gets them.
#[test]
fn net_two() {
    if asked("it takes minutes") {
        over("net", 2);
    }
}

#[test]
fn net_four() {
    if asked("it takes minutes") {
        over("net", 4);
    }
}

/// Whether somebody wants what is not run by itself, for this reason.
fn asked(why_not: &str) -> bool {
    let asked = std::env::var_os("CHECK_LONG").is_some();
    if !asked {
        println!("not run: {why_not} (CHECK_LONG=1 runs it)");
    }
    asked
}

/// Whatever this version makes of `tcp`: endpoints of its own or those of the layer above.
#[test]
fn tcp_two() {
    over("tcp", 2);
}

#[test]
fn tcp_by_rxm_two() {
    over("tcp;ofi_rxm", 2);
}

#[test]
fn tcp_by_rxm_four() {
    over("tcp;ofi_rxm", 4);
}

#[test]
fn two_rails_of_tcp() {
    over_two_rails("tcp", 2);
}

#[test]
fn shm_two() {
    over("shm", 2);
}

#[test]
fn shm_four() {
    over("shm", 4);
}

#[test]
fn atomics_of_tcp_by_rxm() {
    atomics_of("tcp;ofi_rxm", 2);
}

#[test]
fn atomics_of_tcp_by_rxm_alone() {
    atomics_of("tcp;ofi_rxm", 1);
}

#[test]
fn atomics_of_shm() {
    atomics_of("shm", 3);
}

#[test]
fn verbs_by_rxm() {
    over("verbs;ofi_rxm", 2);
}

#[test]
fn alone() {
    over("tcp", 1);
}

#[test]
fn what_is_not_there_is_said() {
    let selection = Selection { provider: Some("carrier_pigeon".into()), ..Selection::default() };
    match offers(&selection) {
        Ok(offers) => panic!("libfabric offers {offers:?}"),
        Err(error) => {
            assert!(error.to_string().contains("carrier_pigeon") || error.to_string().contains("libfabric.so.1"))
        }
    }
}

#[test]
fn the_deprecated_provider_is_never_offered() {
    match offers(&Selection::default()) {
        Ok(offers) => assert!(!offers.iter().any(|offer| offer.provider.starts_with("sockets")), "{offers:?}"),
        Err(error) => println!("not run: {}", error.to_string().replace('\n', " ")),
    }
}
