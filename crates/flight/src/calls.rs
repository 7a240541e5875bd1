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

/// One call. The writer counts it in `made`, writes the record, and then its number. A reader looks at `made` and at the records
/// twice. So a record that has the number of its place, and is the same both times, was not being written.
#[repr(C, align(64))]
struct CallRecord {
    /// The number of the call and one; zero: none yet.
    turn: Word,
    /// Address of the name, and its length from bit 48 on.
    name: Word,
    /// World number of the peer, and the team's slot from bit 32 on.
    place: Word,
    /// How many meetings the team has begun.
    number: Word,
    bytes: Word,
    /// When it began, in [`TICK`]s, and from bit 32 on when it ended; zero there: it has not ended.
    times: Word,
}

/// Times are kept in units of this power of two nanoseconds, some milliseconds, which is as fine as the clock.
const TICK: u32 = 20;

/// Words of a record, and of the head.
const WORDS: usize = size_of::<CallRecord>() / 8;
const HEAD: usize = core::mem::offset_of!(CallRing, records) / 8;
/// Bytes of a ring.
pub const BYTES: usize = size_of::<CallRing>();

/// No peer, no team.
const NOBODY: u32 = u32::MAX;

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
        let records = [const {
            CallRecord {
                turn: Word::new(0),
                name: Word::new(0),
                place: Word::new(0),
                number: Word::new(0),
                bytes: Word::new(0),
                times: Word::new(0),
            }
        }; KEPT];
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
        record.name.store(name.as_ptr() as u64 | (name.len() as u64) << 48, Relaxed);
        let (slot, meeting) = subject.team.unwrap_or((NOBODY, 0));
        record.place.store(u64::from(subject.peer.unwrap_or(NOBODY)) | u64::from(slot) << 32, Relaxed);
        record.number.store(meeting, Relaxed);
        record.bytes.store(subject.bytes, Relaxed);
        record.times.store(self.ticks(), Relaxed);
        record.turn.store(number + 1, Release);
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
        if self.shared.load(Relaxed) == 0 || record.turn.load(Relaxed) == number + 1 {
            let begin = record.times.load(Relaxed) & u64::from(u32::MAX);
            record.times.store(begin | self.ticks() << 32, Relaxed);
        }
    }

    /// The time in ticks, never zero.
    #[inline(always)]
    fn ticks(&self) -> u64 {
        (self.time.load(Relaxed) >> TICK) & u64::from(u32::MAX) | 1
    }

    /// The ring's words as a reader copies them.
    pub fn words(&self) -> Vec<u64> {
        let records = self.records.iter().flat_map(|record| {
            let CallRecord { turn, name, place, number, bytes, times } = record;
            [
                turn.load(Acquire),
                name.load(Relaxed),
                place.load(Relaxed),
                number.load(Relaxed),
                bytes.load(Relaxed),
                times.load(Relaxed),
                0,
                0,
            ]
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
        if record[0] != number + 1 || record[..5] != later[..5] {
            return None;
        }
        let (address, length) = (record[1] & ((1 << 48) - 1), (record[1] >> 48) as usize);
        let (peer, slot) = (record[2] as u32, (record[2] >> 32) as u32);
        let (begin, end) = (later[5] as u32, (later[5] >> 32) as u32);
        let since = |from: u32, to: u32| u64::from(to.wrapping_sub(from)) << TICK;
        Some(CallEntry {
            number,
            name: name(address, length.min(LONGEST_NAME))?,
            subject: CallSubject {
                peer: (peer != NOBODY).then_some(peer),
                team: (slot != NOBODY).then_some((slot, record[3])),
                bytes: record[4],
            },
            age: since(begin, (now >> TICK) as u32 | 1),
            took: (end != 0).then(|| since(begin, end)),
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
        let subject = CallSubject { peer: Some(3), team: Some((7, 1 << 40)), bytes: 80 };
        // Call 0 reads the clock.
        ring.begin("shmem_fence", NOTHING);
        ring.set_time(1000 << TICK);
        let number = ring.begin("shmem_long_put", subject);
        let told = |ring: &CallRing| decode(&ring.words(), &ring.words(), 1, 5001 << TICK, |_, _| Some("put".into()));
        let calls = told(&ring);
        assert_eq!((calls.made, calls.bytes, calls.last[0].subject), (2, 80, subject));
        assert_eq!((calls.last[0].age, calls.last[0].took), (4000 << TICK, None));
        ring.set_time(3501 << TICK);
        ring.end(number);
        assert_eq!(told(&ring).last[0].took, Some(2500 << TICK));
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
