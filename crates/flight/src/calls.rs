//! The last calls of a PE: a ring that its threads write and anybody reads.
//!
//! A record costs some stores and no clock. The time is that of the last reading of the clock, which happens in every
//! [`CLOCKED`]th call and wherever a wait got long, so it lags by at most that many short calls. A record holds the address of
//! the call's name; who reads from outside reads the name from the same process.

use core::sync::atomic::{AtomicU64 as Word, Ordering::Acquire, Ordering::Relaxed, Ordering::Release, fence};

use serde::{Deserialize, Serialize};

/// How many calls are kept.
pub const KEPT: usize = 256;
/// One call in so many reads the clock.
const CLOCKED: u64 = 32;
/// The longest name that a reader believes.
const LONGEST_NAME: usize = 64;

/// The ring. It has one writer, unless [`CallRing::share`] was called.
#[repr(C, align(128))]
pub struct CallRing {
    /// How many calls have begun.
    made: Word,
    /// How many bytes they have moved.
    bytes: Word,
    /// Monotonic nanoseconds, when the clock was last read.
    time: Word,
    /// One if several threads write.
    shared: Word,
    records: [CallRecord; KEPT],
}

/// One call. The writer counts it in `made`, writes the record, and `name` last. A reader looks at `made` and at the records
/// twice. So a record whose turn is that of its call, and which is the same both times, was not being written.
///
/// Each word that a call writes delays what it publishes next to its peers, so a record is as few words as can be.
#[repr(C, align(32))]
struct CallRecord {
    /// Address of the name, its length from bit 48 on, and from bit 56 on how many times the ring has been filled before.
    name: Word,
    /// World number of the peer, or the team: see [`CallSubject::place`].
    place: Word,
    /// When it began, and how many bytes it moves: see [`stamp`].
    begin: Word,
    /// When it ended, and its number and one: see [`stamp`]. With another number it has not ended.
    end: Word,
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

/// Words of a record, and of the head.
const WORDS: usize = size_of::<CallRecord>() / 8;
const HEAD: usize = core::mem::offset_of!(CallRing, records) / 8;
/// Bytes of a ring.
pub const BYTES: usize = size_of::<CallRing>();

/// The bits of a record's `name` that tell how many times the ring has been filled before.
const TURNS: u64 = 0xff << 56;

/// See [`TURNS`].
const fn turn(number: u64) -> u64 {
    (number / KEPT as u64) << 56
}

/// No peer, no team.
const NOBODY: u64 = u64::MAX;
/// The bit that tells a peer from a team.
const PEER: u64 = 1 << 63;
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
            (Some((slot, meeting)), _) => u64::from(slot) << MEETING_BITS | meeting & MOST_MEETINGS,
            (None, Some(peer)) => PEER | u64::from(peer),
            (None, None) => NOBODY,
        }
    }

    fn of(place: u64, bytes: u64) -> Self {
        let is_peer = place & PEER != 0;
        Self {
            peer: (is_peer && place != NOBODY).then_some(place as u32),
            team: (!is_peer).then_some(((place >> MEETING_BITS) as u32, place & MOST_MEETINGS)),
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
    pub age: u64,
    /// Nanoseconds that it took; `None`: it has not ended.
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
        let records =
            [const { CallRecord { name: Word::new(0), place: Word::new(0), begin: Word::new(0), end: Word::new(0) } };
                KEPT];
        Self { made: Word::new(0), bytes: Word::new(0), time: Word::new(0), shared: Word::new(0), records }
    }

    /// Several threads write from now on, or one.
    pub fn share(&self, shared: bool) {
        self.shared.store(shared.into(), Relaxed);
    }

    /// The clock says so many nanoseconds.
    pub fn set_time(&self, now: u64) {
        self.time.store(now.max(1), Relaxed);
    }

    /// A call begins; returns its number.
    #[inline(always)]
    pub fn begin(&self, name: &'static str, subject: CallSubject) -> u64 {
        let number = match self.shared.load(Relaxed) {
            0 => {
                let number = self.made.load(Relaxed);
                self.made.store(number + 1, Relaxed);
                number
            }
            _ => self.made.fetch_add(1, Relaxed),
        };
        if number.is_multiple_of(CLOCKED) {
            self.read_clock();
        }
        if subject.bytes > 0 {
            self.bytes.store(self.bytes.load(Relaxed) + subject.bytes, Relaxed);
        }
        let record = &self.records[number as usize % KEPT];
        // The count is seen before the record.
        fence(Release);
        record.place.store(subject.place(), Relaxed);
        record.begin.store(stamp(subject.bytes.min(MOST), self.ticks()), Relaxed);
        record.name.store(name.as_ptr() as u64 | (name.len() as u64) << 48 | turn(number), Release);
        number
    }

    #[cold]
    fn read_clock(&self) {
        self.set_time(oxshmem_os::time::coarse());
    }

    /// Call number `number` ends.
    #[inline(always)]
    pub fn end(&self, number: u64) {
        let record = &self.records[number as usize % KEPT];
        // One thread has no other call in between that could have taken the place.
        if self.shared.load(Relaxed) == 0 || record.name.load(Relaxed) & TURNS == turn(number) {
            record.end.store(stamp(number + 1, self.ticks()), Relaxed);
        }
    }

    #[inline(always)]
    fn ticks(&self) -> u64 {
        ticks(self.time.load(Relaxed) >> TICK)
    }

    /// The ring's words as a reader copies them.
    pub fn words(&self) -> Vec<u64> {
        let records = self.records.iter().flat_map(|record| {
            let CallRecord { name, place, begin, end } = record;
            [name.load(Acquire), place.load(Relaxed), begin.load(Relaxed), end.load(Relaxed)]
        });
        let head = [&self.made, &self.bytes, &self.time, &self.shared].map(|word| word.load(Relaxed));
        head.into_iter().chain(core::iter::repeat_n(0, HEAD - 4)).chain(records).collect()
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
/// reads a name of so many bytes at an address of the PE's process; `now` is the time of the same machine.
pub fn decode(
    first: &[u64],
    again: &[u64],
    most: usize,
    now: u64,
    name: impl Fn(u64, usize) -> Option<String>,
) -> Calls {
    let whole = HEAD + KEPT * WORDS;
    if first.len() < whole || again.len() < whole {
        return Calls::default();
    }
    let (made, bytes) = (again[0], again[1]);
    let record = |number: u64| {
        let at = HEAD + (number as usize % KEPT) * WORDS;
        let (record, later) = (&first[at..at + WORDS], &again[at..at + WORDS]);
        if record[0] & TURNS != turn(number) || record[0] == 0 || record[..3] != later[..3] {
            return None;
        }
        let (address, length) = (record[0] & ((1 << 48) - 1), (record[0] >> 48) as usize & 0xff);
        let (begin, end) = (ticks(record[2]), later[3]);
        let since = |from: u64, to: u64| ticks(to.wrapping_sub(from)) << TICK;
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
mod tests {
    use super::*;

    fn ring() -> CallRing {
        CallRing::new()
    }

    const NOTHING: CallSubject = CallSubject { peer: None, team: None, bytes: 0 };

    /// Some more calls.
    fn fill(ring: &CallRing, calls: usize) {
        for _ in 0..calls {
            ring.begin("shmem_fence", NOTHING);
        }
    }

    fn names(ring: &CallRing, most: usize) -> Vec<(u64, usize)> {
        let words = ring.words();
        assert!(words.len() * 8 <= BYTES);
        let calls = decode(&words, &words, most, 0, |_, length| Some("x".repeat(length)));
        calls.last.iter().map(|call| (call.number, call.name.len())).collect()
    }

    #[test]
    fn the_latest_calls_come_first_and_the_oldest_are_forgotten() {
        let ring = ring();
        assert_eq!(names(&ring, 9), []);
        ring.begin("shmem_quiet", NOTHING);
        ring.begin("shmem_barrier_all", NOTHING);
        assert_eq!(names(&ring, 9), [(1, 17), (0, 11)]);
        fill(&ring, 600);
        assert_eq!(names(&ring, 2), [(601, 11), (600, 11)]);
        assert_eq!(names(&ring, 1000).len(), KEPT);
    }

    #[test]
    fn a_call_tells_its_team_its_peer_its_bytes_and_its_end() {
        let ring = ring();
        let subject = CallSubject { peer: None, team: Some((7, 1 << 39)), bytes: 80 };
        // Call 0 reads the clock.
        ring.begin("shmem_fence", NOTHING);
        ring.set_time(1000 << TICK);
        let number = ring.begin("shmem_long_put", subject);
        let told = |ring: &CallRing| decode(&ring.words(), &ring.words(), 1, 5000 << TICK, |_, _| Some("put".into()));
        let calls = told(&ring);
        assert_eq!((calls.made, calls.bytes, calls.last[0].subject), (2, 80, subject));
        assert_eq!((calls.last[0].age, calls.last[0].took), (4000 << TICK, None));
        ring.set_time(3500 << TICK);
        ring.end(number);
        assert_eq!(told(&ring).last[0].took, Some(2500 << TICK));
        let put = CallSubject { peer: Some(3), team: None, bytes: 1 << 37 };
        ring.end(ring.begin("shmem_putmem", put));
        assert_eq!((told(&ring).last[0].subject, told(&ring).last[0].took), (put, Some(0)));
        // The end of a call whose record is another thread's by now changes nothing.
        ring.share(true);
        fill(&ring, KEPT);
        ring.end(number);
        assert!(told(&ring).last[0].took.is_none());
    }

    #[test]
    fn a_record_that_changes_while_it_is_read_is_left_out() {
        let ring = ring();
        ring.begin("shmem_quiet", NOTHING);
        ring.begin("shmem_fence", NOTHING);
        let first = ring.words();
        fill(&ring, KEPT);
        let again = ring.words();
        assert!(decode(&first, &again, 9, 0, |_, _| Some(String::new())).last.is_empty());
        assert!(decode(&first[..9], &first, 9, 0, |_, _| None).last.is_empty());
        // One that is being written has the number of an older one.
        let mut half = first.clone();
        half[HEAD] = 0;
        assert_eq!(decode(&half, &half, 9, 0, |_, _| Some(String::new())).last.len(), 1);
    }

    #[test]
    fn threads_that_share_a_ring_get_numbers_of_their_own() {
        let ring = ring();
        ring.share(true);
        let of = |_| (0..1000).map(|_| ring.begin("shmem_quiet", NOTHING)).collect::<Vec<_>>();
        let all: Vec<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..2).map(|i| scope.spawn(move || of(i))).collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("it does not panic")).collect()
        });
        let distinct: std::collections::BTreeSet<u64> = all.iter().copied().collect();
        assert_eq!(distinct.len(), 2000);
    }
}
