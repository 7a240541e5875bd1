//! The waits of a PE's threads, and how they are going. The reports of the node's PEs read them, and over the network PE 0's.
//!
//! A record has `looks`: how often its thread has found, while nothing but waiters was left of its process, that its wait is
//! not over. `changes` grows after a record has been opened and before one is closed. Both ways a full fence stands between
//! the change and what the thread does next. So who reads the same number twice knows that in between all these waits went on
//! and no other began.

use core::sync::atomic::{
    AtomicU64 as Word, Ordering::Acquire, Ordering::Relaxed, Ordering::Release, Ordering::SeqCst,
};

use serde::{Deserialize, Serialize};

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
/// Bytes of all records, for who reads them over the network.
pub const RECORDS_BYTES: usize = RECORDS * size_of::<Record>();

#[repr(C)]
struct Record {
    /// Monotonic nanoseconds since when; [`FREE`] or [`OPENING`] if there is no wait to be read. Stored with release when all else
    /// has been written, and loaded with acquire before the rest is read.
    since: Word,
    /// The same, of the last look; zero: none yet.
    looked: Word,
    looks: Word,
    /// Number of the thread.
    thread: Word,
    /// Address looked at.
    address: Word,
    /// Name of the call, zero padded.
    call: [Word; 4],
    /// A [`Subject`] in words.
    subject: [Word; SUBJECT],
    /// Return addresses in the program, the innermost first; zero: no more.
    frames: [Word; FRAMES],
}

/// Nobody has the record.
const FREE: u64 = 0;
/// A thread has taken the record and is writing it.
const OPENING: u64 = u64::MAX;

/// Words of a subject: its kind and what that has.
const SUBJECT: usize = 10;
/// How many return addresses a record keeps: of the function that made the call and of those that called it. In a Rust program they
/// come behind those of the library, which is a part of it.
pub const FRAMES: usize = 32;

/// The subject of a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Subject {
    /// An operation of the network, or anything else whose looks may change something. They prove nothing.
    Operation {
        /// World number of the PE that must act, if it is one.
        peer: Option<u32>,
    },
    /// Room to send to a PE: the queues of the network are full, or the PE has not answered yet.
    Room {
        /// World number of that PE.
        peer: u32,
    },
    /// A lock that another PE has or gets before.
    Lock {
        /// World number of the PE that must act.
        after: u32,
    },
    /// The members of a team.
    Meeting(TeamMeeting),
    /// The caller's variables.
    Variables {
        /// How many.
        count: u64,
        /// The value that ends the wait, if there is one variable.
        wanted: Comparand,
        /// The first of them, in its low bytes, when the thread last looked.
        seen: u64,
    },
}

/// One meeting of one team.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TeamMeeting {
    /// The team's slot.
    pub slot: u64,
    /// How many meetings the team has begun.
    pub number: u64,
    /// How many members it has.
    pub size: u32,
    /// The members' numbers.
    pub members: Named,
}

/// The members of a team as far as a record can name them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Named {
    /// Member i is `start + i * stride`.
    Triplet {
        /// World number of member 0.
        start: u32,
        /// From one member to the next.
        stride: i32,
    },
    /// One bit for each PE of the world.
    Set([u64; 4]),
    /// A list with larger numbers.
    Unknown,
}

/// The comparison that a variable is to satisfy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Comparand {
    /// The comparison, as the header numbers it.
    pub comparison: u8,
    /// Bytes of the variable.
    pub bytes: u8,
    /// Whether its type has negative numbers.
    pub signed: bool,
    /// The other operand, in the low bytes.
    pub value: u64,
}

impl Comparand {
    /// Of variables that are compared each in its own way: they have no size in common that a report could show.
    pub const EACH_ITS_OWN: Self = Self { comparison: 0, bytes: 0, signed: false, value: 0 };
}

impl Subject {
    fn to_words(self) -> [u64; SUBJECT] {
        let mut words = [0; SUBJECT];
        match self {
            Self::Operation { peer } => words[..2].copy_from_slice(&[0, peer.map_or(u64::MAX, u64::from)]),
            Self::Lock { after } => words[..2].copy_from_slice(&[1, after.into()]),
            Self::Room { peer } => words[..2].copy_from_slice(&[6, peer.into()]),
            Self::Variables { count, wanted: Comparand { comparison, bytes, signed, value }, seen } => {
                let [comparison, bytes, signed] = [comparison, bytes, signed.into()].map(u64::from);
                words[..7].copy_from_slice(&[2, count, comparison, bytes, signed, value, seen]);
            }
            Self::Meeting(TeamMeeting { slot, number, size, members }) => {
                let kind = match members {
                    Named::Triplet { start, stride } => {
                        words[4..6].copy_from_slice(&[start.into(), stride as u32 as u64]);
                        3
                    }
                    Named::Set(bits) => {
                        words[4..8].copy_from_slice(&bits);
                        4
                    }
                    Named::Unknown => 5,
                };
                words[..4].copy_from_slice(&[kind, slot, number, size.into()]);
            }
        }
        words
    }

    fn of_words(words: [u64; SUBJECT]) -> Self {
        let [kind, a, b, c, d, e, f, g, ..] = words;
        let meeting = |members| Self::Meeting(TeamMeeting { slot: a, number: b, size: c as u32, members });
        match kind {
            1 => Self::Lock { after: a as u32 },
            2 => {
                let wanted = Comparand { comparison: b as u8, bytes: c as u8, signed: d != 0, value: e };
                Self::Variables { count: a, wanted, seen: f }
            }
            3 => meeting(Named::Triplet { start: d as u32, stride: e as u32 as i32 }),
            4 => meeting(Named::Set([d, e, f, g])),
            5 => meeting(Named::Unknown),
            6 => Self::Room { peer: a as u32 },
            _ => Self::Operation { peer: u32::try_from(a).ok() },
        }
    }
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
    /// Number of the thread.
    pub thread: u32,
    /// How often the thread has looked in vain while nothing but waiters was left of its process.
    pub looks: u64,
    /// The object of the wait.
    pub subject: Subject,
    /// Return addresses in the program, the innermost first.
    pub frames: Vec<u64>,
    /// The same in words, if somebody has looked them up.
    pub sites: Vec<String>,
    /// The variable's name, if somebody has looked it up.
    pub object: Option<String>,
}

impl Records {
    /// Writes a record of a wait that has taken `waited` nanoseconds; `None` if more threads wait than there are records.
    pub fn open(&self, call: &str, address: usize, subject: Subject, waited: u64, frames: &[usize]) -> Option<usize> {
        let since = monotonic_nanoseconds().saturating_sub(waited).max(1);
        // Acquire: what is written from here on comes after what the last owner has written.
        let take = |record: &Record| record.since.compare_exchange(FREE, OPENING, Acquire, Relaxed).is_ok();
        let index = self.records.iter().position(take)?;
        let record = &self.records[index];
        record.looked.store(0, Relaxed);
        record.looks.store(0, Relaxed);
        record.thread.store(oxshmem_os::bystanders::thread_number().into(), Relaxed);
        record.address.store(address as u64, Relaxed);
        store(&record.subject, subject.to_words());
        store(&record.frames, core::array::from_fn(|i| frames.get(i).map_or(0, |frame| *frame as u64)));
        let mut name = [0_u8; 32];
        let n = call.len().min(31);
        name[..n].copy_from_slice(&call.as_bytes()[..n]);
        for (word, bytes) in record.call.iter().zip(name.chunks_exact(8)) {
            word.store(u64::from_ne_bytes(bytes.try_into().expect("chunks of eight")), Relaxed);
        }
        record.since.store(since, Release);
        self.change();
        Some(index)
    }

    /// Frees a record.
    pub fn close(&self, index: usize) {
        self.change();
        self.records[index].since.store(FREE, Release);
    }

    fn change(&self) {
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

    /// All waits, oldest first.
    pub fn all(&self) -> Vec<WaitEntry> {
        decode(&self.records.each_ref().map(Record::read).concat(), Some(monotonic_nanoseconds()))
    }
}

impl Record {
    fn read(&self) -> [u64; WORDS] {
        let since = self.since.load(Acquire);
        // Acquire: who sees a look sees what was seen.
        let looks = self.looks.load(Acquire);
        let head = [since, self.looked.load(Relaxed), looks, self.thread.load(Relaxed)];
        let mut words = [0; WORDS];
        words[..4].copy_from_slice(&head);
        words[4] = self.address.load(Relaxed);
        let rest = self.call.iter().chain(&self.subject).chain(&self.frames);
        words[5..].iter_mut().zip(rest).for_each(|(word, there)| *word = there.load(Relaxed));
        words
    }
}

fn store<const N: usize>(words: &[Word; N], values: [u64; N]) {
    words.iter().zip(values).for_each(|(word, value)| word.store(value, Relaxed));
}

/// The waits in the words of a PE's records, oldest first. Without `now`, which another host's clock cannot tell, a wait is
/// as old as it was at its last look.
pub fn decode(words: &[u64], now: Option<u64>) -> Vec<WaitEntry> {
    let mut open: Vec<&[u64]> =
        words.chunks_exact(WORDS).filter(|record| ![FREE, OPENING].contains(&record[0])).collect();
    open.sort_by_key(|record| record[0]);
    let waiting = |record: &&[u64]| {
        let (since, looked) = (record[0], record[1]);
        let name: Vec<u8> =
            record[5..9].iter().flat_map(|word| word.to_ne_bytes()).take_while(|byte| *byte != 0).collect();
        WaitEntry {
            call: String::from_utf8_lossy(&name).into_owned(),
            address: record[4],
            // To the nearest second: the clock of records may lag behind that of the wait.
            seconds: (now.unwrap_or(looked).saturating_sub(since) + 500_000_000) / 1_000_000_000,
            thread: record[3] as u32,
            looks: record[2],
            subject: Subject::of_words(record[9..9 + SUBJECT].try_into().expect("a record has a subject")),
            frames: record[9 + SUBJECT..].iter().copied().take_while(|frame| *frame != 0).collect(),
            sites: Vec::new(),
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
