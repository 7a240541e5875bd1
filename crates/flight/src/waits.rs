//! The waits of a PE's threads, and how they are going. The reports of the node's PEs read them, and over the network PE 0's.
//!
//! A record has `looks`: how often its thread has found, while nothing but waiters was left of its process, that its wait is
//! not over. `changes` grows after a record has been opened and before one is closed. Both ways a full fence stands between
//! the change and what the thread does next. So a reader that finds the same number twice knows that in between all
//! these waits went on and no other began.

use core::sync::atomic::{
    AtomicU64 as Word, Ordering::Acquire, Ordering::Relaxed, Ordering::Release, Ordering::SeqCst,
};

use serde::{Deserialize, Serialize};

mod subject;

use subject::SUBJECT;
pub use subject::{AwaitedCollectives, CallName, Comparand, Named, Subject, TeamMeeting};

/// How many threads of a PE can say what they wait for.
const RECORDS: usize = 8;

/// The waits of one PE's threads that are not short.
#[repr(C)]
pub struct Records {
    records: [Record; RECORDS],
    /// Counts what has been opened and closed.
    changes: Word,
}

/// Words of one record.
const WORDS: usize = size_of::<Record>() / 8;
/// Bytes of all records, for readers over the network.
pub const RECORDS_BYTES: usize = RECORDS * size_of::<Record>();

#[repr(C)]
struct Record {
    /// Monotonic nanoseconds since when; [`FREE`] or [`OPENING`] if there is no wait to be read. Stored with release when all else
    /// has been written, and loaded with acquire before the rest is read.
    since: Word,
    /// The same, of the last look; zero: none yet.
    looked: Word,
    looks: Word,
    /// Number of the thread, or [`NO_THREAD`].
    thread: Word,
    /// Address looked at.
    address: Word,
    /// A [`CallName`].
    call: [Word; CallName::WORDS],
    /// A [`Subject`] in words.
    subject: [Word; SUBJECT],
    /// Return addresses in the program, the innermost first; zero: no more.
    frames: [Word; FRAMES],
    /// The line of an interpreted program in words, padded with zeros; empty if it has none.
    line: [Word; LINE],
}

/// Words of a line.
const LINE: usize = 8;

/// The record is free.
const FREE: u64 = 0;
/// A thread has taken the record and is writing it.
const OPENING: u64 = u64::MAX;

/// The thread of a wait that no thread is in: a collective has returned at once, and waits while the program goes on.
pub const NO_THREAD: u32 = 0;
/// How many return addresses a record keeps: of the function that made the call and of those that called it. In a Rust program they
/// come behind those of the library, which is a part of it.
pub const FRAMES: usize = 32;

/// The place in the program from which a call was made.
#[derive(Clone, Copy, Default, Debug)]
pub struct CallOrigin<'a> {
    /// Return addresses, the innermost first.
    pub frames: &'a [usize],
    /// The line of an interpreted program; empty: it is none.
    pub line: &'a str,
}

/// A wait of a thread, as its record tells it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WaitEntry {
    /// Name of the C call.
    pub call: String,
    /// Address that it looks at.
    pub address: u64,
    /// How long it has taken.
    pub seconds: u64,
    /// Number of the thread, or [`NO_THREAD`].
    pub thread: u32,
    /// How often the thread has looked in vain while nothing but waiters was left of its process.
    pub looks: u64,
    /// The object of the wait.
    pub subject: Subject,
    /// Return addresses in the program, the innermost first.
    pub frames: Vec<u64>,
    /// The same in words, if they have been looked up, or the line of an interpreted program.
    pub sites: Vec<String>,
    /// The variable's name, if it has been looked up.
    pub object: Option<String>,
}

impl WaitEntry {
    /// Whether a thread is in it.
    pub fn has_thread(&self) -> bool {
        self.thread != NO_THREAD
    }
}

impl Records {
    /// Writes a record of a wait of the calling thread that has taken `waited` nanoseconds; `None` if more threads wait than there
    /// are records.
    pub fn open(&self, call: &str, address: usize, subject: Subject, waited: u64, caller: CallOrigin) -> Option<usize> {
        self.open_of(oxshmem_os::bystanders::thread_number(), call, address, subject, waited, caller)
    }

    /// [`Records::open`] for another thread, or for [`NO_THREAD`], which leaves the last free record to a thread: without one a PE that
    /// waits would look as if it did not.
    pub fn open_of(
        &self,
        thread: u32,
        call: &str,
        address: usize,
        subject: Subject,
        waited: u64,
        caller: CallOrigin,
    ) -> Option<usize> {
        if thread == NO_THREAD && self.free() < 2 {
            return None;
        }
        let since = monotonic_nanoseconds().saturating_sub(waited).max(1);
        // Acquire: what is written from here on comes after what the last owner has written.
        let take = |record: &Record| record.since.compare_exchange(FREE, OPENING, Acquire, Relaxed).is_ok();
        let index = self.records.iter().position(take)?;
        let record = &self.records[index];
        record.looked.store(0, Relaxed);
        record.looks.store(0, Relaxed);
        record.thread.store(thread.into(), Relaxed);
        record.address.store(address as u64, Relaxed);
        store(&record.subject, subject.to_words());
        store(&record.frames, core::array::from_fn(|i| caller.frames.get(i).map_or(0, |frame| *frame as u64)));
        store(&record.line, line_words(caller.line));
        store(&record.call, CallName::of(call).0);
        record.since.store(since, Release);
        self.change();
        Some(index)
    }

    /// Whether a record seems to be free.
    pub fn has_room(&self) -> bool {
        self.free() > 0
    }

    /// How many records seem to be free.
    fn free(&self) -> usize {
        self.records.iter().filter(|record| record.since.load(Relaxed) == FREE).count()
    }

    /// Frees a record.
    pub fn close(&self, index: usize) {
        self.change();
        self.records[index].since.store(FREE, Release);
    }

    /// Says that a wait begins or ends that may have no record.
    pub fn change(&self) {
        self.changes.fetch_add(1, SeqCst);
        core::sync::atomic::fence(SeqCst);
    }

    /// The thread of a record has looked in vain; its variable holds `seen`.
    pub fn has_looked(&self, index: usize, seen: Option<u64>) {
        let record = &self.records[index];
        record.looked.store(monotonic_nanoseconds(), Relaxed);
        if let Some(seen) = seen {
            // Of variables, which is the only subject that has it.
            record.subject[6].store(seen, Relaxed);
        }
        record.looks.fetch_add(1, SeqCst);
    }

    /// The count of what has been opened and closed.
    pub fn changes(&self) -> u64 {
        self.changes.load(SeqCst)
    }

    /// All waits, the oldest first, those of no thread last.
    pub fn all(&self) -> Vec<WaitEntry> {
        decode(&self.records.each_ref().map(Record::read).concat(), Some(monotonic_nanoseconds()))
    }
}

impl Record {
    fn read(&self) -> [u64; WORDS] {
        let since = self.since.load(Acquire);
        // Acquire: a reader that sees a look sees the value that it found.
        let looks = self.looks.load(Acquire);
        let head = [since, self.looked.load(Relaxed), looks, self.thread.load(Relaxed)];
        let mut words = [0; WORDS];
        words[..4].copy_from_slice(&head);
        words[4] = self.address.load(Relaxed);
        let rest = self.call.iter().chain(&self.subject).chain(&self.frames).chain(&self.line);
        words[CALL..].iter_mut().zip(rest).for_each(|(word, there)| *word = there.load(Relaxed));
        words
    }
}

/// The places of the call, of the subject and of the first return address in the words of a record.
const CALL: usize = 5;
const FIRST_OF_SUBJECT: usize = CALL + CallName::WORDS;
const FIRST_FRAME: usize = FIRST_OF_SUBJECT + SUBJECT;

/// A line in words, cut where it is too long.
fn line_words(line: &str) -> [u64; LINE] {
    let mut words = [0; LINE];
    for (word, part) in words.iter_mut().zip(line.as_bytes().chunks(8)) {
        let mut bytes = [0; 8];
        bytes[..part.len()].copy_from_slice(part);
        *word = u64::from_le_bytes(bytes);
    }
    words
}

/// The line in these words, if there is one.
fn line_of(words: &[u64]) -> Option<String> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).take_while(|byte| *byte != 0).collect();
    (!bytes.is_empty()).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

fn store<const N: usize>(words: &[Word; N], values: [u64; N]) {
    words.iter().zip(values).for_each(|(word, value)| word.store(value, Relaxed));
}

/// The waits in the words of a PE's records, the oldest first, those of no thread last. Without `now`, which another host's clock cannot tell, a wait is
/// as old as it was at its last look.
pub fn decode(words: &[u64], now: Option<u64>) -> Vec<WaitEntry> {
    let mut open: Vec<&[u64]> =
        words.chunks_exact(WORDS).filter(|record| ![FREE, OPENING].contains(&record[0])).collect();
    open.sort_by_key(|record| (record[3] == u64::from(NO_THREAD), record[0]));
    let waiting = |record: &&[u64]| {
        let (since, looked) = (record[0], record[1]);
        let name = CallName(record[CALL..FIRST_OF_SUBJECT].try_into().expect("a record has a name"));
        WaitEntry {
            call: name.to_string(),
            address: record[4],
            // To the nearest second: the clock of records may lag behind that of the wait.
            seconds: (now.unwrap_or(looked).saturating_sub(since) + 500_000_000) / 1_000_000_000,
            thread: record[3] as u32,
            looks: record[2],
            subject: Subject::of_words(
                record[FIRST_OF_SUBJECT..FIRST_FRAME].try_into().expect("a record has a subject"),
            ),
            frames: record[FIRST_FRAME..][..FRAMES].iter().copied().take_while(|frame| *frame != 0).collect(),
            sites: line_of(&record[FIRST_FRAME + FRAMES..]).into_iter().collect(),
            object: None,
        }
    };
    open.iter().map(waiting).collect()
}

/// Nanoseconds of the clock that all processes of the machine share; never zero.
fn monotonic_nanoseconds() -> u64 {
    oxshmem_os::time::fine().max(1)
}

#[cfg(test)]
#[allow(non_snake_case, reason = "tests carry the number of the fault")]
mod tests;
