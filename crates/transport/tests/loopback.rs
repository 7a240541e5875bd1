//! The suite over the loopback provider: as it is, with an adversary, and with everything filled in by software.
//!
//! Under Miri: `MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-disable-weak-memory-emulation"`. Its emulation of weak memory
//! cannot follow atomics of several sizes in one place, which torn puts are.

use std::sync::atomic::Ordering;

use oxshmem_base::knobs::Settings;
use oxshmem_transport::loopback::{Loopback, Options, PROVIDER, fabrics};
use oxshmem_transport::suite::MemoryPe;
use oxshmem_transport::{Agreed, Amo, AmoDomain, Fabric, Region, Remote, Width, software, suite};

fn plain(options: Options) -> impl Fn(u32) -> Vec<Box<dyn Fabric>> {
    move |pes| fabrics(pes, options).into_iter().map(|fabric| Box::new(fabric) as Box<dyn Fabric>).collect()
}

fn filled(options: Options) -> impl Fn(u32) -> Vec<Box<dyn Fabric>> {
    move |pes| {
        let fill = |(me, fabric): (u32, Loopback)| {
            let messages = fabric.messages();
            software::fill(me, suite::PATIENCE, Box::new(fabric), Some(messages)).expect("messages are there")
        };
        (0..).zip(fabrics(pes, options)).map(fill).collect()
    }
}

#[test]
fn in_order() {
    for pes in if cfg!(miri) { vec![2] } else { vec![1, 3, 8] } {
        suite::threads(pes, plain(Options::default()));
    }
}

#[test]
fn opened_as_a_provider() {
    let settings = Settings::default();
    for (detail, atomics) in [("", false), ("6", true)] {
        let choice = Agreed { detail, atomics, one_host: true };
        suite::threads(2, suite::over(&PROVIDER, &settings, &choice));
    }
}

#[test]
fn against_an_adversary() {
    let seeds = if std::env::var_os("CHECK_LONG").is_some() { 5 } else { 2 };
    for seed in 1..=if cfg!(miri) { 1 } else { seeds } {
        suite::threads(2, plain(Options { adversary: Some(seed), ..Options::default() }));
    }
}

#[test]
fn eight_against_an_adversary() {
    suite::threads(if cfg!(miri) { 2 } else { 8 }, plain(Options { adversary: Some(99), ..Options::default() }));
}

#[test]
fn filled_by_software() {
    for adversary in [None, Some(3)] {
        suite::threads(3, filled(Options { adversary, amo: AmoDomain::None, longest: 1000, ..Options::default() }));
    }
}

#[test]
fn filled_by_software_whose_messages_beat_puts() {
    for adversary in if cfg!(miri) { vec![Some(4)] } else { vec![None, Some(4)] } {
        suite::threads(3, filled(Options { adversary, amo: AmoDomain::None, longest: 1000, message: 200 }));
    }
}

#[test]
fn with_a_card_whose_atomics_know_no_processor() {
    let most = if std::env::var_os("CHECK_LONG").is_some() { 4 } else { 2 };
    let adversaries = [None, Some(7), Some(8), Some(9)].into_iter().take(most);
    for adversary in if cfg!(miri) { vec![Some(7)] } else { adversaries.collect() } {
        let options = Options { adversary, amo: AmoDomain::Network, ..Options::default() };
        suite::threads(if cfg!(miri) { 2 } else { 4 }, plain(options));
    }
}

/// The adversarial card at work: the processor's additions to a word on which its atomics are under way get lost.
#[test]
fn a_processor_that_updates_what_the_card_has_is_found_out() {
    let lost = (1..20).any(|seed| {
        let options = Options { adversary: Some(seed), amo: AmoDomain::Network, ..Options::default() };
        let mut pe = MemoryPe::over(plain(options)(1).remove(0));
        pe.connect(Vec::new());
        let to = Remote { pe: 0, region: Region::Heap, offset: 0 };
        for _ in 0..50 {
            // SAFETY: null asks for no old value.
            pe.issue(|lane| unsafe { lane.amo(to, Width::Eight, Amo::Add(1), std::ptr::null_mut()) });
            pe.words[0].fetch_add(1, Ordering::SeqCst);
        }
        pe.quiet().expect("no operation fails");
        pe.count() < 100
    });
    assert!(lost, "an adversary that loses nothing finds nothing");
}
