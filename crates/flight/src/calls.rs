//! The last calls of a PE: rings that its threads write and any process may read.
//!
//! A record costs some stores and no clock. The time is that of the last reading of the clock, which happens in every
//! [`BATCH`]th call and wherever a wait got long, so it lags by at most that many short calls. A record holds the address of
//! the call's name; a reader outside the PE reads the name from the same process.
//!
//! Where PEs share a processor, a call finds nothing in the caches and in the table of pages that the PEs before it have used. So
//! what a call writes is small: a head of one line and [`RECENT`] records, which fit into the page of the slots where the PE
//! synchronises anyhow. Before records are used again, a batch at a time, they are copied to a longer ring.
//!
//! Threads that make calls at once have rings of their own, so that no call writes a line that other threads use. The PE's first ring
//! leads to them; they lie in the memory of its process. Each of their calls reads the clock, because a reader puts the calls of all
//! rings in order by their times.

use core::sync::atomic::{AtomicU64 as Word, Ordering::Acquire, Ordering::Relaxed, Ordering::Release, fence};

use serde::{Deserialize, Serialize};

mod reading;

pub use reading::{CallEntry, Calls, decode, decode_all};

/// How many rings the first one of a PE leads to; more threads than that share them.
pub const MOST_RINGS: usize = 64;
/// How many calls a ring keeps.
pub const KEPT: usize = 256;
/// How many of them have not been copied.
const RECENT: usize = 64;
/// One call in this many reads the clock, and copies as many records.
const BATCH: u64 = 32;
/// The longest name that a reader believes.
const LONGEST_NAME: usize = 64;

/// One ring. It has one writer, unless [`CallRing::begin_recording`] says otherwise.
#[repr(C, align(128))]
pub struct CallRing {
    /// Copies of records, each at its number modulo [`KEPT`].
    older: [CallRecord; KEPT],
    /// How many calls have begun.
    made: Word,
    /// How many bytes they have moved.
    bytes: Word,
    /// Monotonic nanoseconds, when the clock was last read.
    time: Word,
    /// A [`RingWriters`].
    writers: Word,
    /// Calls below this number are noted in the fewest instructions: there is one writer, and none of them begins a batch.
    straight: Word,
    /// The [`turn`] of these calls, and [`AT_ONCE`].
    turn: Word,
    /// The time in ticks.
    ticks: Word,
    /// The address of the next ring of the PE in the memory of its process; 0: there is none.
    next: Word,
    recent: [CallRecord; RECENT],
}

/// The threads that write.
#[repr(u64)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RingWriters {
    /// One at a time.
    One = 0,
    /// Any number.
    Many = 1,
    /// None: nothing is recorded.
    Nobody = 2,
}

const ONE: u64 = RingWriters::One as u64;
const MANY: u64 = RingWriters::Many as u64;

/// One call. The writer counts it in `made`, writes the record, and `name` last. A reader looks at `made` and at the records
/// twice. So a record whose turn is that of its call, and which is the same both times, was not being written.
///
/// A batch is copied by the call that uses the first of its records again, in the same order: `name` is empty while the rest of a copy
/// is written, and comes last. Another thread may have used a record by then; the copy has its turn, which is not that of the call
/// for whose number it is read.
///
/// Each word that a call writes delays what it publishes next to its peers, so a record is as few words as can be.
#[repr(C, align(32))]
struct CallRecord {
    /// Address of the name, its length from bit 48 on, [`AT_ONCE`], and from bit 56 on how many times the ring has been filled before.
    name: Word,
    /// World number of the peer, or the team: see [`CallSubject::place`].
    place: Word,
    /// When it began, and how many bytes it moves: see [`stamp`].
    begin: Word,
    /// When it ended, and its number and one: see [`stamp`]. With another number it has not ended, unless it was over at once.
    end: Word,
}

impl CallRecord {
    /// Of no call.
    const fn none() -> Self {
        Self { name: Word::new(0), place: Word::new(0), begin: Word::new(0), end: Word::new(0) }
    }

    /// Takes over what `other` says.
    fn copy(&self, other: &Self) {
        let name = other.name.load(Acquire);
        self.name.store(0, Relaxed);
        fence(Release);
        self.place.store(other.place.load(Relaxed), Relaxed);
        self.begin.store(other.begin.load(Relaxed), Relaxed);
        self.end.store(other.end.load(Relaxed), Relaxed);
        self.name.store(name, Release);
    }

    /// The words as a reader copies them.
    fn words(&self) -> [u64; WORDS] {
        let Self { name, place, begin, end } = self;
        [name.load(Acquire), place.load(Relaxed), begin.load(Relaxed), end.load(Relaxed)]
    }
}

/// Times are kept in units of this power of two nanoseconds, four milliseconds, which is as fine as the clock.
const TICK: u32 = 22;
/// Bits of a time; they last for three days, counted from a call to the last one of its ring.
const TIME_BITS: u32 = 26;

/// A time in ticks, and a number above it, of which 38 bits are kept.
const fn stamp(number: u64, ticks: u64) -> u64 {
    number << TIME_BITS | ticks
}

/// The greatest number of a [`stamp`].
const MOST: u64 = u64::MAX >> TIME_BITS;

/// The time in ticks that a number of nanoseconds, or a [`stamp`], holds.
const fn ticks(time: u64) -> u64 {
    time & ((1 << TIME_BITS) - 1)
}

/// A time that is up to this many ticks before another one counts as equally late: a reader of a ring has read the
/// clock before, and the clock of a batch lags behind that of a long wait.
const AHEAD: u64 = 1 << 16;

/// Nanoseconds from one time in ticks to another one.
const fn since(from: u64, to: u64) -> u64 {
    let passed = ticks(to.wrapping_sub(from));
    if passed >= (1 << TIME_BITS) - AHEAD { 0 } else { passed << TICK }
}

/// Words of a record.
const WORDS: usize = size_of::<CallRecord>() / 8;
/// Words before the head and before the records behind it.
const HEAD: usize = OLDER_BYTES / 8;
const TAIL: usize = core::mem::offset_of!(CallRing, recent) / 8;
/// The word that leads on.
const NEXT: usize = core::mem::offset_of!(CallRing, next) / 8;
/// Bytes of a ring.
pub const BYTES: usize = size_of::<CallRing>();
/// Bytes of its part that few calls write.
pub const OLDER_BYTES: usize = core::mem::offset_of!(CallRing, made);

/// The bits of a record's `name` that tell how many times the ring has been filled before.
const TURNS: u64 = 0xff << 56;

/// The bit of a record's `name` that says that the call ended when it began: its `end` is not written.
const AT_ONCE: u64 = 1 << 55;

/// See [`TURNS`].
const fn turn(number: u64) -> u64 {
    (number / RECENT as u64) << 56
}

/// The number of a call that is not recorded.
const UNRECORDED: u64 = u64::MAX;

/// No peer, no team.
const NOBODY: u64 = u64::MAX;
/// The bit that tells a team from a peer, of which a record is made more often.
const TEAM: u64 = 1 << 63;
/// Bits of a team's number of meetings.
const MEETING_BITS: u32 = 40;
const MOST_MEETINGS: u64 = (1 << MEETING_BITS) - 1;

/// The object of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CallSubject {
    /// World number of the peer.
    pub peer: Option<u32>,
    /// Slot of the team, and how many meetings the team has begun.
    pub team: Option<(u32, u64)>,
    /// Bytes that it moves.
    pub bytes: u64,
}

impl CallSubject {
    /// The peer, or the slot of the team and how many meetings it has begun. No call has both.
    #[inline(always)]
    fn place(self) -> u64 {
        match (self.team, self.peer) {
            (Some((slot, meeting)), _) => TEAM | u64::from(slot) << MEETING_BITS | meeting & MOST_MEETINGS,
            (None, Some(peer)) => u64::from(peer),
            (None, None) => NOBODY,
        }
    }

    fn of(place: u64, bytes: u64) -> Self {
        let is_team = place & TEAM != 0 && place != NOBODY;
        Self {
            peer: (place & TEAM == 0).then_some(place as u32),
            team: is_team.then_some((((place & !TEAM) >> MEETING_BITS) as u32, place & MOST_MEETINGS)),
            bytes,
        }
    }
}

impl Default for CallRing {
    fn default() -> Self {
        Self::new()
    }
}

impl CallRing {
    /// Without calls, as zeroed memory is.
    pub const fn new() -> Self {
        Self {
            older: [const { CallRecord::none() }; KEPT],
            made: Word::new(0),
            bytes: Word::new(0),
            time: Word::new(0),
            writers: Word::new(ONE),
            straight: Word::new(0),
            turn: Word::new(0),
            ticks: Word::new(0),
            next: Word::new(0),
            recent: [const { CallRecord::none() }; RECENT],
        }
    }

    /// These threads write from now on.
    pub fn begin_recording(&self, writers: RingWriters) {
        self.writers.store(writers as u64, Relaxed);
        // Until the next batch begins, which looks at the writers.
        self.straight.store(0, Relaxed);
    }

    /// Notes the time of the clock, in nanoseconds.
    pub fn set_time(&self, now: u64) {
        let now = now.max(1);
        self.time.store(now, Relaxed);
        self.ticks.store(ticks(now >> TICK), Relaxed);
    }

    /// Whether several threads may write.
    pub fn has_many_writers(&self) -> bool {
        self.writers.load(Relaxed) == MANY
    }

    /// Leads readers on to another ring of the PE.
    pub fn lead_to(&self, next: &'static Self) {
        // A reader that finds the ring finds it whole.
        self.next.store(core::ptr::from_ref(next).addr() as u64, Release);
    }

    /// Whether it leads to another ring.
    pub fn leads_on(&self) -> bool {
        self.next.load(Relaxed) != 0
    }

    /// A call begins in a ring that has one writer; returns its number. `None`: the ring has several or none.
    #[inline(always)]
    pub fn begin_alone(&self, name: &'static str, subject: CallSubject) -> Option<u64> {
        if self.writers.load(Relaxed) != ONE {
            return None;
        }
        let number = self.made.load(Relaxed);
        self.made.store(number + 1, Relaxed);
        self.write(number, name, subject);
        Some(number)
    }

    /// A call begins; returns its number.
    #[inline]
    pub fn begin(&self, name: &'static str, subject: CallSubject) -> u64 {
        if let Some(number) = self.begin_alone(name, subject) {
            return number;
        }
        if !self.has_many_writers() {
            return UNRECORDED;
        }
        self.set_time(oxshmem_os::time::coarse());
        let number = self.made.fetch_add(1, Relaxed);
        self.write(number, name, subject);
        number
    }

    /// Writes the record of a call that has just been counted.
    #[inline(always)]
    fn write(&self, number: u64, name: &'static str, subject: CallSubject) {
        if number.is_multiple_of(BATCH) {
            self.begin_batch(number);
        }
        if subject.bytes > 0 {
            self.count_bytes(subject.bytes);
        }
        let record = &self.recent[number as usize % RECENT];
        // The count is seen before the record.
        fence(Release);
        record.place.store(subject.place(), Relaxed);
        record.begin.store(stamp(subject.bytes.min(MOST), self.ticks.load(Relaxed)), Relaxed);
        record.name.store(name.as_ptr() as u64 | (name.len() as u64) << 48 | turn(number), Release);
    }

    /// Copies the records that this call and the next ones use again, and reads the clock.
    #[cold]
    fn begin_batch(&self, number: u64) {
        if let Some(first) = number.checked_sub(RECENT as u64) {
            for old in first..first + BATCH {
                self.older[old as usize % KEPT].copy(&self.recent[old as usize % RECENT]);
            }
        }
        self.set_time(oxshmem_os::time::coarse());
        if self.writers.load(Relaxed) == ONE {
            self.turn.store(turn(number) | AT_ONCE, Relaxed);
            self.straight.store(number + BATCH, Relaxed);
        }
    }

    /// Call number `number` ends.
    #[inline(always)]
    pub fn end(&self, number: u64) {
        if number == UNRECORDED {
            return;
        }
        let record = &self.recent[number as usize % RECENT];
        // Other threads, and calls inside this one, may have taken the place.
        if record.name.load(Relaxed) & TURNS == turn(number) {
            record.end.store(stamp(number + 1, self.ticks.load(Relaxed)), Relaxed);
        } else {
            self.end_copy(number);
        }
    }

    /// [`CallRing::end`] where the record has been copied, and its place is another call's.
    #[cold]
    #[inline(never)]
    fn end_copy(&self, number: u64) {
        let copy = &self.older[number as usize % KEPT];
        // A call behind which many others have begun has no copy any more.
        if copy.name.load(Relaxed) & TURNS == turn(number) {
            copy.end.store(stamp(number + 1, self.ticks.load(Relaxed)), Relaxed);
        }
    }

    /// A call begins and ends: what [`CallRing::begin`] and [`CallRing::end`] tell, in one word less. Returns whether it is noted: it is
    /// not where it would begin a batch, nor in a ring that has several writers or none.
    #[inline(always)]
    pub fn note(&self, name: &'static str, subject: CallSubject) -> bool {
        let number = self.made.load(Relaxed);
        if number >= self.straight.load(Relaxed) {
            return false;
        }
        self.made.store(number + 1, Relaxed);
        self.count_bytes(subject.bytes);
        let record = &self.recent[number as usize % RECENT];
        // The count is seen before the record.
        fence(Release);
        record.place.store(subject.place(), Relaxed);
        record.begin.store(stamp(subject.bytes.min(MOST), self.ticks.load(Relaxed)), Relaxed);
        record.name.store(name.as_ptr() as u64 | (name.len() as u64) << 48 | self.turn.load(Relaxed), Release);
        true
    }

    /// Adds the bytes of a call to the count, which wraps: a call that will be refused may ask for any number.
    #[inline(always)]
    fn count_bytes(&self, bytes: u64) {
        self.bytes.store(self.bytes.load(Relaxed).wrapping_add(bytes), Relaxed);
    }

    /// The ring's words as a reader copies them.
    pub fn words(&self) -> Vec<u64> {
        let Self { older, made, bytes, time, writers, straight, turn, ticks, next, recent } = self;
        let head = [made, bytes, time, writers, straight, turn, ticks, next].map(|word| word.load(Relaxed));
        older.iter().flat_map(CallRecord::words).chain(head).chain(recent.iter().flat_map(CallRecord::words)).collect()
    }
}

#[cfg(test)]
mod tests;
