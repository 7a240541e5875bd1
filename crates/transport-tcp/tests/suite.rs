//! The suite of all providers over TCP, with threads as PEs.

use oxshmem_transport::{Fabric, suite};
use oxshmem_transport_tcp::{Options, open};

fn tcp(change: impl Fn(&mut Options)) -> impl Fn(u32) -> Vec<Box<dyn Fabric>> {
    move |pes| {
        let open_one = |me| {
            let mut options = Options::new(me, pes, *b"the suite's job.", [7; 32]);
            change(&mut options);
            open(options).expect("TCP opens")
        };
        (0..pes).map(open_one).collect()
    }
}

#[test]
fn two_pes() {
    suite::threads(2, tcp(|_| {}));
}

#[test]
fn four_pes() {
    suite::threads(4, tcp(|_| {}));
}

#[test]
fn eight_pes() {
    suite::threads(8, tcp(|_| {}));
}

#[test]
fn three_rails() {
    suite::threads(2, tcp(|options| options.rails = 3));
}

#[test]
fn encrypted() {
    suite::threads(3, tcp(|options| options.encrypt = true));
}

#[test]
fn alone() {
    suite::threads(1, tcp(|_| {}));
}

/// In every job all PEs meet at once, so that every pair connects from both sides at the same time.
#[test]
fn both_sides_connect_at_once() {
    for _ in 0..20 {
        suite::threads_of(4, tcp(|_| {}), &[]);
    }
}
