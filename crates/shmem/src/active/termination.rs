//! When no call is under way any more, and none can begin: Mattern's method of four counters.
//!
//! Each PE counts the calls that it has made and those of them that have been answered. A *wave* collects both counts of all PEs
//! at PE 0. A PE takes part in its first wave when its program is in `finish`, and in a wave only when the one before is over.
//! The last wave is the first one that finds as many calls made as the wave before has found answered.
//!
//! **Why nothing is under way then.** Let T be a moment between the two waves. Counts only grow, so the calls answered before T
//! are at least those that the first of the two waves found, and the calls made before T at most those that the second one found.
//! A call is made before it is answered. So at T as many calls were answered as made: none was under way. A call is answered
//! when its handler has returned and its caller has the answer, so no handler ran at T. All programs were in `finish`, and
//! only handlers make calls there. So no call was made after T.
//!
//! **Why it ends.** When no call is under way, all waves find the same counts, and the second one is the last.

use core::cell::Cell;

use crate::Comparison::AtLeast;
use crate::{Atomic, Error, SymmetricBox, World};

/// Counts of calls, of one PE or of all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct CallCounts {
    pub(super) made: u64,
    pub(super) answered: u64,
}

/// The waves of one `finish`, at the PE that collects them.
#[derive(Default)]
struct Waves {
    last: Option<CallCounts>,
}

impl Waves {
    /// Notes the sums that a wave has found. Returns whether it is the last one.
    fn note_wave(&mut self, sums: CallCounts) -> bool {
        let before = self.last.replace(sums);
        before.is_some_and(|before| before.answered == sums.made)
    }
}

/// The words by which PEs agree that nothing is under way.
pub(super) struct Termination<'w> {
    /// At PE 0: the sums of what PEs have reported, and how many reports there were in all waves.
    made: SymmetricBox<'w, Atomic<u64>>,
    answered: SymmetricBox<'w, Atomic<u64>>,
    reports: SymmetricBox<'w, Atomic<u64>>,
    /// The number of the last wave that is over, and in its lowest bit whether it was the last of a `finish`.
    verdict: SymmetricBox<'w, Atomic<u64>>,
    /// The counts in the last report of this PE.
    reported: Cell<CallCounts>,
    /// The wave that is next.
    wave: Cell<u64>,
    world: &'w World,
}

impl<'w> Termination<'w> {
    /// All PEs call it.
    pub(super) fn new(world: &'w World) -> Result<Self, Error> {
        Ok(Self {
            made: world.allocate(Atomic::new(0))?,
            answered: world.allocate(Atomic::new(0))?,
            reports: world.allocate(Atomic::new(0))?,
            verdict: world.allocate(Atomic::new(0))?,
            reported: Cell::default(),
            wave: Cell::new(1),
            world,
        })
    }

    /// Returns when no call of any PE is under way; `serve` does something for that, and `counts` are this PE's. All PEs call it.
    pub(super) fn reach(&self, counts: impl Fn() -> CallCounts, serve: impl Fn()) {
        let mut waves = Waves::default();
        let mut is_last = false;
        while !is_last {
            // A wave that finds calls of this PE unanswered is never the last one.
            while counts().made != counts().answered {
                serve();
            }
            self.report(counts());
            let wave = self.wave.replace(self.wave.get() + 1);
            let n = self.world.n_pes();
            let mut collects = self.world.my_pe() == 0;
            while !self.verdict.test(AtLeast(wave << 1)) {
                if collects && self.reports.test(AtLeast(wave * n as u64)) {
                    collects = false;
                    let sums = CallCounts { made: self.made.load(), answered: self.answered.load() };
                    let verdict = wave << 1 | u64::from(waves.note_wave(sums));
                    (0..n).for_each(|pe| self.verdict.set(verdict, pe));
                    self.world.quiet();
                } else {
                    serve();
                }
            }
            is_last = self.verdict.load() & 1 == 1;
        }
    }

    /// Asks the library something: that moves the network on, and lets others have a crowded processor.
    pub(super) fn give_way(&self) {
        let _ = self.verdict.test(AtLeast(u64::MAX));
    }

    /// Adds to the sums what has happened since the last report.
    fn report(&self, counts: CallCounts) {
        let before = self.reported.replace(counts);
        self.made.add(counts.made - before.made, 0);
        self.answered.add(counts.answered - before.answered, 0);
        // PE 0 counts the report when it has the sums.
        self.world.quiet();
        self.reports.inc(0);
        self.world.quiet();
    }
}

#[cfg(test)]
#[allow(non_snake_case, reason = "tests carry the number of the fault")]
mod model;
