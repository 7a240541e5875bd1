//! The suite over the loopback provider: as it is, with an adversary, and with everything filled in by software.
//!
//! Under Miri: `MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-disable-weak-memory-emulation"`. Its emulation of weak memory
//! cannot follow atomics of several sizes in one place, which torn puts are.

use oxshmem_transport::loopback::{Options, fabrics};
use oxshmem_transport::trace::Traced;
use oxshmem_transport::{Fabric, Region, Remote, Segment, software, suite};

fn plain(options: Options) -> impl Fn(u32) -> Vec<Box<dyn Fabric>> {
    move |pes| fabrics(pes, options).into_iter().map(|fabric| Box::new(fabric) as Box<dyn Fabric>).collect()
}

fn filled(options: Options) -> impl Fn(u32) -> Vec<Box<dyn Fabric>> {
    move |pes| {
        let fill = |fabric: oxshmem_transport::loopback::Loopback| {
            let messages = fabric.messages();
            software::fill(Box::new(fabric), Some(messages)).expect("messages are there")
        };
        fabrics(pes, options).into_iter().map(fill).collect()
    }
}

#[test]
fn in_order() {
    for pes in if cfg!(miri) { vec![2] } else { vec![1, 2, 3, 8] } {
        suite::threads(pes, plain(Options::default()));
    }
}

#[test]
fn against_an_adversary() {
    for seed in 1..if cfg!(miri) { 2 } else { 6 } {
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
        suite::threads(3, filled(Options { adversary, atomics: false, longest: 1000 }));
    }
}

#[test]
fn watched() {
    suite::threads(2, |pes| {
        plain(Options::default())(pes)
            .into_iter()
            .map(|fabric| Box::new(Traced::over(fabric)) as Box<dyn Fabric>)
            .collect()
    });
}

#[test]
fn the_watch_counts() {
    let traced = Traced::over(plain(Options::default())(1).remove(0));
    let mut memory = [0u64; 4];
    traced.register(Region::Heap, Segment { base: memory.as_mut_ptr().cast(), len: 32 }).expect("it registers");
    let mut lane = traced.lane(Default::default()).expect("there are lanes");
    let to = Remote { pe: 0, region: Region::Heap, offset: 8 };
    // SAFETY: the source is as long as it is said to be.
    unsafe { lane.put(to, [7u8; 8].as_ptr(), 8) };
    lane.fence();
    assert_eq!(traced.counts().put.now(), (1, 8));
    assert_eq!(traced.counts().fence.now(), (1, 0));
    assert_eq!(traced.counts().amo.now(), (0, 0));
    assert_eq!(memory[1], 0x0707_0707_0707_0707);
}
