//! The suite of all providers over UCX, with threads as PEs.

use oxshmem_transport::{Fabric, suite};
use oxshmem_transport_ucx::{Options, open};

/// Runs the suite over these transports of UCX, or says why not.
fn over(tls: &str, pes: u32) {
    with(tls, pes, false);
}

/// Also with UCX's own atomics.
fn with(tls: &str, pes: u32, atomics: bool) {
    let open_one = |me, pes| open(Options { me, pes, tls: Some(tls.into()), cards: Vec::new(), atomics });
    if let Err(error) = open_one(0, 1) {
        return println!("not run: {error}");
    }
    suite::threads(pes, |pes| {
        (0..pes).map(|me| open_one(me, pes).expect("UCX opens")).collect::<Vec<Box<dyn Fabric>>>()
    });
}

#[test]
fn two_pes() {
    over("tcp", 2);
}

#[test]
fn four_pes() {
    over("tcp", 4);
}

#[test]
fn eight_pes() {
    over("tcp", 8);
}

#[test]
fn atomics_of_ucx() {
    with("tcp", 3, true);
}

#[test]
fn atomics_of_ucx_alone() {
    with("tcp", 1, true);
}

#[test]
fn alone() {
    over("tcp", 1);
}
