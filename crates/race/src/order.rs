//! Fences, quiets, collective calls, locks, waits: what orders accesses.

use crate::access::AccessKind;
use crate::clock::{Column, Milestone, StrandName, Stream};
use crate::detector::{Detector, Strand};
use crate::pending::{Buffer, Completion};
use crate::place::SymmetricPlace;
use crate::published::mix;

/// A meeting's clocks are used again after so many meetings. Two would do where all members wait for all. On a node the root of short
/// broadcasts may enter the 17th one after that which a member is about to leave. Where a root is farther ahead, as between nodes, a member
/// may learn what the root does later, and a race stays unseen.
const ROUNDS: u32 = 32;

/// Bits of a meeting: C has a number, which is not 0; a scan has the number of the caller among the members in its low half.
const OF_C: u64 = 1 << 63;
const SCAN: u64 = 1 << 62;
const MEMBER: u64 = u32::MAX as u64;

/// A collective call that the PE is in.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct CollectiveMeeting(u64);

impl CollectiveMeeting {
    /// As a number that is not 0, for C.
    pub fn number(self) -> u64 {
        self.0 | OF_C
    }

    /// The meeting with this number.
    pub fn of_number(number: u64) -> CollectiveMeeting {
        CollectiveMeeting(number & !OF_C)
    }
}

impl Detector<'_> {
    /// The members with this fingerprint do not meet any more.
    pub fn forget_members(&self, members: u64) {
        self.rounds.lock().remove(&members);
    }
}

impl Strand<'_, '_> {
    /// A value from another node may carry any knowledge.
    pub fn learn_from_all(&self) {
        let (clock, state) = (self.clock(), &self.pe.state);
        for pe in (0..state.shape.pes).filter(|&pe| pe != self.name.pe) {
            (0..state.strands()).for_each(|strand| clock.join(&state.clock(StrandName { pe, strand })));
        }
    }

    /// Orders later puts to a PE after the earlier puts to it of which this strand knows.
    pub fn fence(&self, stream: Stream) {
        let clock = self.clock();
        for name in self.pe.names() {
            clock.pass(name, Milestone::Fenced(stream), clock.passed(name, Milestone::Issued));
        }
    }

    /// A quiet completes the operations of the stream that this strand knows. Returns whether buffers of the other stream are in use.
    pub fn quiet(&self, stream: Stream) -> bool {
        self.quiet_to(stream, 0..self.pe.state.shape.pes);
        self.end_results(stream)
    }

    /// The operations of the stream have fetched their values, and use no local buffer any more. Returns whether buffers of the other
    /// stream are in use.
    pub fn end_results(&self, stream: Stream) -> bool {
        self.end_pulled(stream);
        let mut fetched = Vec::new();
        self.pe.awaited.lock().retain(|fetch| {
            let is_over = fetch.stream == stream;
            fetched.extend(is_over.then_some((fetch.place, fetch.len)));
            !is_over
        });
        fetched.into_iter().for_each(|(place, len)| self.observe(place, len));
        self.pe.pending.end(|buffer| buffer.until == Completion::Quiet(stream) && self.knows_of(buffer))
    }

    /// Whether the strand knows of the operation with a buffer, or of the first of several: which of these a quiet ends is not known.
    fn knows_of(&self, buffer: &Buffer) -> bool {
        buffer.first <= self.clock().passed(buffer.by, Milestone::Issued)
    }

    fn end_pulled(&self, stream: Stream) {
        let clock = self.clock();
        for name in self.pe.names() {
            clock.raise(name, Column::Pulled(stream), name.pe, clock.passed(name, Milestone::Issued));
        }
    }

    /// The sources of nonblocking puts are not in use any more. Returns whether other buffers are.
    pub fn end_sources(&self) -> bool {
        [Stream::Default, Stream::Other].into_iter().for_each(|stream| self.end_pulled(stream));
        let is_source = |buffer: &Buffer| {
            matches!(buffer.until, Completion::Quiet(_)) && buffer.kind == AccessKind::Read && self.knows_of(buffer)
        };
        self.pe.pending.end(is_source)
    }

    /// The puts of the stream to these PEs are over.
    pub fn quiet_to(&self, stream: Stream, owners: impl IntoIterator<Item = usize> + Clone) {
        let clock = self.clock();
        for name in self.pe.names() {
            let issued = clock.passed(name, Milestone::Issued);
            owners.clone().into_iter().for_each(|owner| clock.raise(name, Column::Sent(stream), owner, issued));
        }
    }

    /// The PE enters a collective call of the members with this fingerprint, whose knowledge others get if it `tells`.
    pub fn enter(&self, members: u64, tells: bool) -> CollectiveMeeting {
        let number = (mix(members ^ 0x6d65_6574) ^ self.next_round(members)) & !(OF_C | SCAN);
        if tells {
            self.publish(number);
            self.tick();
        }
        CollectiveMeeting(number)
    }

    /// The PE enters a scan as member `me` of `size`. The members above it get its knowledge, and those below it do not.
    ///
    /// The clocks are those of a Fenwick tree: number n has what the last `n & -n` of the first n members know. So a member tells and
    /// learns by a few clocks each, however many members there are.
    pub fn enter_scan(&self, members: u64, me: u32, size: u32) -> CollectiveMeeting {
        let number = mix(members ^ 0x7363_616e) ^ self.next_round(members) << 32;
        let scan = number & !(OF_C | MEMBER) | SCAN;
        let mut clock = u64::from(me) + 1;
        while clock <= u64::from(size) {
            self.publish(scan | clock);
            clock += clock & clock.wrapping_neg();
        }
        self.tick();
        CollectiveMeeting(scan | u64::from(me))
    }

    /// The number of the next meeting of these members, as far as clocks tell meetings apart.
    fn next_round(&self, members: u64) -> u64 {
        let mut rounds = self.pe.rounds.lock();
        let round = rounds.entry(members).or_insert(0);
        *round = round.wrapping_add(1);
        u64::from(*round % ROUNDS)
    }

    /// The PE leaves it.
    pub fn leave(&self, meeting: CollectiveMeeting) {
        match meeting.0 & SCAN {
            0 => self.learn(meeting.0),
            _ => self.learn_from_below(meeting.0 & !MEMBER, meeting.0 & MEMBER),
        }
        if self.pe.scattered {
            self.learn_from_all();
        }
    }

    /// Learns all that the first `members` members of a scan knew when they entered it.
    fn learn_from_below(&self, scan: u64, members: u64) {
        let mut clock = members;
        while clock > 0 {
            self.learn(scan | clock);
            clock &= clock - 1;
        }
    }

    /// The PE has got a lock of the library.
    pub fn lock(&self, lock: u64) {
        self.learn(lock_number(lock));
        if self.pe.scattered {
            self.learn_from_all();
        }
    }

    /// The PE gives a lock of the library back, after a quiet.
    pub fn unlock(&self, lock: u64) {
        self.publish(lock_number(lock));
        self.tick();
    }

    /// Forgets all accesses to these bytes, which belong to no block any more.
    pub fn forget(&self, place: SymmetricPlace, len: usize) {
        self.pe.state.cells(place, len).for_each(|(_, cell, _)| cell.forget(|_| true));
        self.pe.state.published.forget(place, len);
    }
}

/// The number under which a lock's holders publish what they know.
fn lock_number(lock: u64) -> u64 {
    mix(lock ^ 0x6c6f_636b)
}

/// A fingerprint of the members of a team or active set, by their world numbers.
pub fn fingerprint(members: impl IntoIterator<Item = u32>) -> u64 {
    members.into_iter().fold(0x7465_616d, |print, pe| mix(print ^ u64::from(pe) ^ print << 7))
}
