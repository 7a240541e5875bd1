//! The strands of a PE: how they begin and end, and what they tell each other.
//!
//! A strand is a thread, or a task or section that another thread might have run. It begins with the knowledge of its maker.

use std::sync::atomic::Ordering::Relaxed;

use crate::access::Site;
use crate::clock::{Clock, Column, Milestone, StrandKind, StrandName};
use crate::detector::{Detector, Strand};

impl<'m> Detector<'m> {
    /// Begins a strand that knows what this clock knows. Returns its number.
    fn begin_strand(&self, maker: &Clock<'_>, kind: StrandKind) -> usize {
        let mut table = self.strands.lock();
        let now = |strand: usize| {
            let name = StrandName { pe: self.me, strand };
            self.state.clock(name).time(name, Column::Program, self.me)
        };
        let known =
            |strand: usize| maker.time(StrandName { pe: self.me, strand }, Column::Program, self.me) >= now(strand);
        let strand = table.choose(self.state.strands(), known);
        let name = StrandName { pe: self.me, strand };
        self.state.set_kind(name, kind);
        self.state.used.fetch_max(strand as u32 + 1, Relaxed);
        let clock = self.state.clock(name);
        if table.is_shared(strand) {
            // There are more strands than numbers: strands with the same number count as one.
            clock.join(maker);
            return strand;
        }
        let (time, issued) = (now(strand), clock.passed(name, Milestone::Issued));
        if known(strand) {
            clock.become_like(maker)
        } else {
            // Another strand may join the thread that had the number only now. It learns from this clock what that thread
            // knew.
            clock.join(maker)
        }
        clock.raise(name, Column::Program, self.me, time.saturating_add(1));
        clock.pass(name, Milestone::Issued, issued);
        strand
    }

    /// A strand about which nothing is known: it may know everything that the first one knows.
    pub fn adopt(&self) -> usize {
        let strand = self.begin_strand(&self.state.clock(StrandName { pe: self.me, strand: 0 }), StrandKind::Thread);
        // The new strand does not know of later accesses of the first one.
        self.strand(0).tick();
        strand
    }

    /// A task begins with what has been published under this number.
    pub fn begin_from(&self, number: u64) -> usize {
        // A copy, because the table's lock is not taken under the lock of a clock.
        let words = self.state.empty_clock();
        let copy = Clock::of(self.state.shape, &words, self.state.used);
        self.state.published.at_number(number, |published| copy.join(&published));
        self.begin_strand(&copy, StrandKind::Task)
    }

    /// The work of a strand is over, and its number may be given to another one.
    pub fn end_strand(&self, strand: usize) {
        self.strands.lock().give_back(strand);
    }
}

/// A call of a program whose threads call one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastCall {
    /// The strand that has called.
    pub by: StrandName,
    /// Where it has.
    pub site: Site,
    time: u32,
}

impl Strand<'_, '_> {
    /// Its name.
    pub fn name(&self) -> StrandName {
        self.name
    }

    /// The strand calls. Returns the last call of another strand, if nothing orders both.
    pub fn call_alone(&self, last: &mut Option<LastCall>, site: Site) -> Option<LastCall> {
        let earlier = last.replace(LastCall { by: self.name, site, time: self.now() });
        let time = |by| self.clock().time(by, Column::Program, self.name.pe);
        earlier.filter(|earlier| earlier.by != self.name && earlier.time > time(earlier.by))
    }

    /// Makes a strand that begins with what this one knows. Returns its number.
    pub fn fork(&self, kind: StrandKind) -> usize {
        let strand = self.pe.begin_strand(&self.clock(), kind);
        self.tick();
        strand
    }

    /// Another strand of the PE is over, and this one knows of it.
    pub fn join(&self, strand: usize) {
        self.clock().join(&self.pe.state.clock(StrandName { pe: self.name.pe, strand }));
    }

    /// Publishes the knowledge of this strand under a number.
    pub fn release(&self, number: u64) {
        self.publish(number);
        self.tick();
    }

    /// This strand learns what is published there.
    pub fn acquire(&self, number: u64) {
        self.learn(number);
    }
}
