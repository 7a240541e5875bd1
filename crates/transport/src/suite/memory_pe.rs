//! PEs with memory, and something for them to do while a test does something to their network.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use oxshmem_base::Error;

use super::{AllAddresses, PATIENCE, base, heap, issue, rest};
use crate::{Amo, Fabric, Issuer, Lane, LaneOptions, Region, Segment, Width};

/// Words in each heap. Miri gets less.
const WORDS: usize = if cfg!(miri) { 1 << 10 } else { 1 << 18 };

/// A PE. The lane goes first, the memory last.
pub struct MemoryPe {
    /// Its lane, once it is connected.
    pub lane: Option<Box<dyn Lane>>,
    /// Its network.
    pub fabric: Box<dyn Fabric>,
    /// Its heap.
    pub words: Vec<AtomicU64>,
}

impl MemoryPe {
    /// The PE of this fabric.
    pub fn over(fabric: Box<dyn Fabric>) -> Self {
        let words: Vec<_> = (0..WORDS).map(|_| AtomicU64::new(0)).collect();
        fabric.register(Region::Heap, Segment { base: base(&words), len: WORDS * 8 }).expect("it registers");
        Self { lane: None, fabric, words }
    }

    /// Connects it with the PEs at these addresses.
    pub fn connect(&mut self, addresses: Vec<Vec<u8>>) {
        self.fabric.connect(Box::new(AllAddresses(addresses))).expect("it connects");
        self.lane = Some(self.fabric.lane(LaneOptions::default()).expect("there are lanes"));
    }

    /// Its lane.
    pub fn lane(&self) -> &dyn Lane {
        &**self.lane.as_ref().expect("it is connected")
    }

    /// Issues on its lane, and moves everything on where that is busy.
    pub fn issue(&self, act: impl FnOnce(&Issuer<'_>)) {
        issue(&*self.fabric, self.lane(), act);
    }

    /// Waits until everything is complete.
    pub fn quiet(&mut self) -> Result<(), Error> {
        let start = Instant::now();
        while self.lane().outstanding() > 0 {
            self.lane().progress()?;
            let waited = start.elapsed();
            assert!(waited < PATIENCE, "quiet hangs");
            rest(waited);
        }
        self.lane().progress().map(drop)
    }

    /// A long put, a long get of the same, and an atomic; checks what comes back. The first round is number 1.
    pub fn work(&mut self, peer: u32, round: u64) -> Result<(), Error> {
        let source: Vec<u64> = (0..100_000).map(|i| i * round).collect();
        let (mut back, mut old) = (vec![0u64; source.len()], 0u64);
        // SAFETY: the buffers live until `quiet` returns; after an error nothing of the lost peer is touched any more.
        unsafe {
            self.issue(|lane| lane.put_nbi(heap(peer, 8), source.as_ptr().cast(), source.len() * 8));
            self.quiet()?;
            self.issue(|lane| lane.get_nbi(back.as_mut_ptr().cast(), heap(peer, 8), back.len() * 8));
            self.issue(|lane| lane.amo(heap(peer, 0), Width::Eight, Amo::Add(1), (&raw mut old).cast()));
            self.quiet()?;
        }
        assert!(back == source, "round {round}: what came back is damaged");
        assert_eq!(old, round - 1, "an atomic was lost or repeated");
        Ok(())
    }

    /// How many rounds of [work](Self::work) a peer has done here.
    pub fn count(&self) -> u64 {
        self.words[0].load(Ordering::Acquire)
    }
}
