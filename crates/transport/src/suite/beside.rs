//! A provider beside what is below it: two processes of one program have a PE each, and measure both in turn, so that what else runs on
//! the machine disturbs both.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use oxshmem_base::knobs::Settings;

use super::processes::OtherProcess;
use super::{AllAddresses, issue};
use crate::{Agreed, Fabric, Issuer, Lane, LaneOptions, Participant, Provider, Region, Remote, SECRET, Segment};

/// The word of each PE that says how often the other one has met.
const MET: usize = 0;
/// The word with the other PE's turn.
pub const TURN: usize = 8;
/// The first byte of a PE's memory that programs have for themselves.
pub const OWN: usize = 16;

/// The PE of this process: 0 in the one that has started the other.
pub struct MeasuringPe {
    /// Its number.
    pub me: u32,
    lane: Box<dyn Lane>,
    fabric: Box<dyn Fabric>,
    /// Its memory, which stays as long as the fabric.
    pub words: Vec<AtomicU64>,
    meetings: u64,
    turns: u64,
}

impl MeasuringPe {
    /// Opens the provider, with `bytes` bytes of memory that the other PE reaches.
    pub fn open(provider: &Provider, detail: &str, bytes: usize, other: &mut OtherProcess) -> Self {
        let me = u32::from(other.is_starter());
        let words: Vec<_> = (0..bytes / 8).map(|_| AtomicU64::new(0)).collect();
        let settings = Settings::default();
        let choice = Agreed { detail, ..Agreed::default() };
        let fabric = (provider.open)(&Participant::new(me, 2, &settings, &[1; SECRET]), &choice);
        let fabric = fabric.unwrap_or_else(|error| panic!("{error}"));
        let segment = Segment { base: words.as_ptr().cast_mut().cast(), len: words.len() * 8 };
        fabric.register(Region::Heap, segment).expect("memory is registered");
        let mut addresses = vec![other.swap(&fabric.address())];
        addresses.insert(me as usize, fabric.address());
        fabric.connect(Box::new(AllAddresses(addresses))).expect("the provider connects");
        let lane = fabric.lane(LaneOptions::default()).expect("there are lanes");
        Self { me, lane, fabric, words, meetings: 0, turns: 0 }
    }

    /// The word at this offset, which the other PE may write.
    pub fn word(&self, offset: usize) -> u64 {
        self.words[offset / 8].load(Ordering::Acquire)
    }

    /// This offset on the other PE.
    pub fn there(&self, offset: usize) -> Remote {
        Remote { pe: 1 - self.me, region: Region::Heap, offset: offset as u64 }
    }

    /// Issues on the lane.
    pub fn issue(&self, act: impl FnOnce(&Issuer<'_>)) {
        issue(&*self.fabric, &*self.lane, act);
    }

    /// Puts a word.
    pub fn put(&self, offset: usize, value: u64) {
        // SAFETY: the source is a number of this frame, which `put` copies.
        self.issue(|lane| unsafe { lane.put(self.there(offset), (&raw const value).cast(), 8) });
    }

    /// Serves the other PE.
    pub fn progress(&self) {
        self.fabric.progress();
    }

    /// Waits until all is complete.
    pub fn quiet(&self) {
        while self.lane.outstanding() > 0 {
            self.lane.progress().expect("nothing fails");
        }
    }

    /// Waits until both are here. The PE that waits serves the other one, and runs `beside`.
    pub fn meet(&mut self, beside: impl Fn()) {
        self.quiet();
        self.meetings += 1;
        self.put(MET, self.meetings);
        self.quiet();
        while self.word(MET) < self.meetings {
            self.progress();
            beside();
        }
    }

    /// The time of one way when PE 0 puts a number, PE 1 waits for it and answers, `times` times. `turn` is the number
    /// that has come, and `progress` brings the next one; before the first one they [meet](Self::meet).
    pub fn one_way(
        &mut self,
        times: u32,
        put: impl Fn(&Self, u64),
        turn: impl Fn(&Self) -> u64,
        progress: impl Fn(&Self),
        beside: impl Fn(),
    ) -> Duration {
        self.meet(beside);
        let start = Instant::now();
        for _ in 0..times {
            self.turns += 1;
            if self.me == 0 {
                put(self, self.turns);
            }
            while turn(self) < self.turns {
                progress(self);
            }
            if self.me == 1 {
                put(self, self.turns);
            }
        }
        start.elapsed() / (2 * times)
    }

    /// [`MeasuringPe::one_way`] of the provider.
    pub fn one_way_provided(&mut self, times: u32, beside: impl Fn()) -> Duration {
        self.one_way(times, |pe, turn| pe.put(TURN, turn), |pe| pe.word(TURN), Self::progress, beside)
    }

    /// The time for which PE 0 does `act`, `times` times, while PE 1 waits in a [meeting](Self::meet).
    pub fn repeat(&mut self, times: u32, act: impl Fn(&Self), beside: impl Fn()) -> Duration {
        self.meet(&beside);
        let start = Instant::now();
        if self.me == 0 {
            (0..times).for_each(|_| act(self));
        }
        let elapsed = start.elapsed() / times;
        self.meet(beside);
        elapsed
    }

    /// Ends with the other PE.
    pub fn close(mut self) {
        self.meet(|| {});
        drop(self.lane);
        self.fabric.close();
    }
}
