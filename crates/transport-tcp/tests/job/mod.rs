//! PEs with memory, and something for them to do while a test does something to their network.
#![allow(dead_code, reason = "every test program uses its part")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use oxshmem_base::Error;
use oxshmem_base::knobs::Settings;
use oxshmem_transport::suite::{AllAddresses, issue};
use oxshmem_transport::{Agreed, Amo, Fabric, Issuer, Lane, LaneOptions, Participant, Region, Remote, Segment, Width};
use oxshmem_transport_tcp::PROVIDER;

/// The secret of the job: its identity, then its key.
pub(crate) const SECRET: [u8; 48] = *b"a job of a test.and a key that nobody else has..";
/// Words in each heap.
pub(crate) const WORDS: usize = 1 << 20;

/// A PE. The lane goes first, the memory last.
pub(crate) struct Pe {
    pub(crate) lane: Option<Box<dyn Lane>>,
    pub(crate) fabric: Box<dyn Fabric>,
    pub(crate) words: Vec<AtomicU64>,
}

impl Pe {
    /// PE `me` of the job of two that knows this secret.
    pub(crate) fn open(me: u32, settings: &Settings, secret: &[u8; 48]) -> Self {
        let fabric = open(me, 2, settings, secret);
        let words: Vec<_> = (0..WORDS).map(|_| AtomicU64::new(0)).collect();
        let segment = Segment { base: words.as_ptr().cast_mut().cast(), len: WORDS * 8 };
        fabric.register(Region::Heap, segment).expect("it registers");
        Self { lane: None, fabric, words }
    }

    pub(crate) fn connect(&mut self, addresses: Vec<Vec<u8>>) {
        self.fabric.connect(Box::new(AllAddresses(addresses))).expect("it connects");
        self.lane = Some(self.fabric.lane(LaneOptions::default()).expect("there are lanes"));
    }

    pub(crate) fn lane(&self) -> &dyn Lane {
        &**self.lane.as_ref().expect("it is connected")
    }

    /// Issues on its lane, and moves everything on where that is busy.
    pub(crate) fn issue(&self, act: impl FnOnce(&Issuer<'_>)) {
        issue(&*self.fabric, self.lane(), act);
    }

    /// The port on which it listens.
    pub(crate) fn port(&self) -> u16 {
        let address = String::from_utf8(self.fabric.address()).expect("an address is text");
        address
            .split_whitespace()
            .nth(1)
            .and_then(|port| port.parse().ok())
            .expect("an address begins with name and port")
    }

    /// Its address, with another port.
    pub(crate) fn address_at(&self, port: u16) -> Vec<u8> {
        let address = String::from_utf8(self.fabric.address()).expect("an address is text");
        address.replacen(&self.port().to_string(), &port.to_string(), 1).into_bytes()
    }

    /// Waits until everything is complete.
    pub(crate) fn quiet(&mut self) -> Result<(), Error> {
        let start = Instant::now();
        while self.lane().outstanding() > 0 {
            self.lane().progress()?;
            assert!(start.elapsed() < Duration::from_secs(60), "quiet hangs");
            std::thread::yield_now();
        }
        self.lane().progress().map(drop)
    }

    /// A long put, a long get of the same, and an atomic; checks what comes back.
    pub(crate) fn work(&mut self, peer: u32, round: u64) -> Result<(), Error> {
        let place = |offset| Remote { pe: peer, region: Region::Heap, offset };
        let source: Vec<u64> = (0..100_000).map(|i| i * round).collect();
        let (mut back, mut old) = (vec![0u64; source.len()], 0u64);
        // SAFETY: the buffers live until `quiet` returns; after an error nothing of the lost peer is touched any more.
        unsafe {
            self.issue(|lane| lane.put_nbi(place(8), source.as_ptr().cast(), source.len() * 8));
            self.quiet()?;
            self.issue(|lane| lane.get_nbi(back.as_mut_ptr().cast(), place(8), back.len() * 8));
            self.issue(|lane| lane.amo(place(0), Width::Eight, Amo::Add(1), (&raw mut old).cast()));
            self.quiet()?;
        }
        assert!(back == source, "round {round}: what came back is damaged");
        assert_eq!(old, round - 1, "an atomic was lost or repeated");
        Ok(())
    }

    pub(crate) fn count(&self) -> u64 {
        self.words[0].load(Ordering::Acquire)
    }
}

/// PEs 0 and 1, connected, and their addresses.
pub(crate) fn connected() -> ([Pe; 2], Vec<Vec<u8>>) {
    let mut pair = pair(|_| {});
    let addresses: Vec<_> = pair.iter().map(|pe| pe.fabric.address()).collect();
    pair.iter_mut().for_each(|pe| pe.connect(addresses.clone()));
    (pair, addresses)
}

/// PEs 0 and 1, not connected yet.
pub(crate) fn pair(change: impl Fn(&mut Settings)) -> [Pe; 2] {
    let mut settings = Settings::default();
    change(&mut settings);
    [0, 1].map(|me| Pe::open(me, &settings, &SECRET))
}

pub(crate) fn open(me: u32, pes: u32, settings: &Settings, secret: &[u8; 48]) -> Box<dyn Fabric> {
    (PROVIDER.open)(&Participant::new(me, pes, settings, secret), &Agreed::default()).expect("TCP opens")
}
