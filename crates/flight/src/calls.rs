//! The last calls of a PE: a ring that its threads write and any process may read.
//!
//! A record costs some stores and no clock. The time is that of the last reading of the clock, which happens in every
//! [`BATCH`]th call and wherever a wait got long, so it lags by at most that many short calls. A record holds the address of
//! the call's name; a reader outside the PE reads the name from the same process.
//!
//! Where PEs share a processor, a call finds nothing in the caches and in the table of pages that the PEs before it have used. So
//! what a call writes is small: a head of one line and [`RECENT`] records, which fit into the page of the slots where the PE
//! synchronises anyhow. Before records are used again, a batch at a time, they are copied to a longer ring.

use core::sync::atomic::{AtomicU64 as Word, Ordering::Acquire, Ordering::Relaxed, Ordering::Release, fence};

use serde::{Deserialize, Serialize};

/// How many calls are kept.
pub const KEPT: usize = 256;
/// How many of them have not been copied.
const RECENT: usize = 64;
/// One call in this many reads the clock, and copies as many records.
const BATCH: u64 = 32;
/// The longest name that a reader believes.
const LONGEST_NAME: usize = 64;

/// The ring. It has one writer, unless [`CallRing::begin_recording`] says otherwise.
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
    _apart: u64,
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
/// Bits of a time; they last for three days.
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

/// A call, as its record tells it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CallEntry {
    /// Its number among the calls of the PE.
    pub number: u64,
    /// The name of the C call.
    pub name: String,
    /// Its peer, team and bytes.
    pub subject: CallSubject,
    /// Nanoseconds since it began.
    #[serde(rename = "age_ns")]
    pub age: u64,
    /// Nanoseconds that it took; `None`: it has not ended.
    #[serde(rename = "took_ns")]
    pub took: Option<u64>,
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
            _apart: 0,
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

    /// A call begins; returns its number.
    #[inline(always)]
    pub fn begin(&self, name: &'static str, subject: CallSubject) -> u64 {
        let number = match self.writers.load(Relaxed) {
            ONE => {
                let number = self.made.load(Relaxed);
                self.made.store(number + 1, Relaxed);
                number
            }
            MANY => self.made.fetch_add(1, Relaxed),
            _ => return UNRECORDED,
        };
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
        number
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
        }
    }

    /// A call begins and ends: what [`CallRing::begin`] and [`CallRing::end`] tell, in one word less.
    #[inline(always)]
    pub fn note(&self, name: &'static str, subject: CallSubject) {
        let (place, bytes) = (subject.place(), subject.bytes);
        let number = self.made.load(Relaxed);
        if number >= self.straight.load(Relaxed) {
            return self.note_seldom(name, place, bytes);
        }
        self.made.store(number + 1, Relaxed);
        self.count_bytes(bytes);
        let record = &self.recent[number as usize % RECENT];
        // The count is seen before the record.
        fence(Release);
        record.place.store(place, Relaxed);
        record.begin.store(stamp(bytes.min(MOST), self.ticks.load(Relaxed)), Relaxed);
        record.name.store(name.as_ptr() as u64 | (name.len() as u64) << 48 | self.turn.load(Relaxed), Release);
    }

    /// Adds the bytes of a call to the count, which wraps: a call that will be refused may ask for any number.
    #[inline(always)]
    fn count_bytes(&self, bytes: u64) {
        self.bytes.store(self.bytes.load(Relaxed).wrapping_add(bytes), Relaxed);
    }

    /// [`CallRing::note`] where there are several writers or none, or a batch begins.
    #[cold]
    #[inline(never)]
    fn note_seldom(&self, name: &'static str, place: u64, bytes: u64) {
        self.end(self.begin(name, CallSubject::of(place, bytes)));
    }

    /// The ring's words as a reader copies them.
    pub fn words(&self) -> Vec<u64> {
        let Self { made, bytes, time, writers, straight, turn, ticks, .. } = self;
        let head = [made, bytes, time, writers, straight, turn, ticks].map(|word| word.load(Relaxed));
        let older = self.older.iter().flat_map(CallRecord::words);
        older.chain(head).chain([self._apart]).chain(self.recent.iter().flat_map(CallRecord::words)).collect()
    }
}

/// A ring as it was read.
#[derive(Debug, Default)]
pub struct Calls {
    /// How many calls have begun.
    pub made: u64,
    /// How many bytes they have moved.
    pub bytes: u64,
    /// The last ones, the latest first.
    pub last: Vec<CallEntry>,
}

/// The calls in the words of a ring, read twice: records that changed meanwhile, or that are half written, are left out. `name`
/// reads a name of this many bytes at an address of the PE's process; `now` is the time of the same machine.
pub fn decode(
    first: &[u64],
    again: &[u64],
    most: usize,
    now: u64,
    name: impl Fn(u64, usize) -> Option<String>,
) -> Calls {
    let whole = TAIL + RECENT * WORDS;
    if first.len() < whole || again.len() < whole {
        return Calls::default();
    }
    let (made, bytes) = (again[HEAD], again[HEAD + 1]);
    let record = |number: u64| {
        let at = if made - number <= RECENT as u64 {
            TAIL + (number as usize % RECENT) * WORDS
        } else {
            (number as usize % KEPT) * WORDS
        };
        let (record, later) = (&first[at..at + WORDS], &again[at..at + WORDS]);
        if record[0] & TURNS != turn(number) || record[0] == 0 || record[..3] != later[..3] {
            return None;
        }
        let (address, length) = (record[0] & ((1 << 48) - 1), (record[0] >> 48) as usize & 0x7f);
        let begin = ticks(record[2]);
        let end = if record[0] & AT_ONCE != 0 { stamp(number + 1, begin) } else { later[3] };
        let has_ended = end >> TIME_BITS == (number + 1) & MOST;
        Some(CallEntry {
            number,
            name: name(address, length.min(LONGEST_NAME))?,
            subject: CallSubject::of(record[1], record[2] >> TIME_BITS),
            age: since(begin, now >> TICK),
            took: has_ended.then(|| since(begin, end)),
        })
    };
    let last = (made.saturating_sub(KEPT as u64)..made).rev().filter_map(record).take(most).collect();
    Calls { made, bytes, last }
}

#[cfg(test)]
mod tests;
