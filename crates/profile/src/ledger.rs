//! Reading one ledger.

mod words;

use std::collections::BTreeMap;
use std::path::Path;

use oxshmem_base::{Error, file};

use crate::layout::{self, MEETINGS, MODULES, RoutineKind, SERIES, SITES, SIZES, TEAMS, Table, UPDATES, WAITS};
use crate::layout::{head, module, site, team};
use words::{LONGEST, LedgerWords, text};

/// The record of one thread of a PE. Times are nanoseconds of its machine, unless a field says ticks.
#[derive(Clone, Debug, Default)]
pub struct CallLedger {
    /// The PE.
    pub pe: u32,
    /// How many PEs the job has.
    pub pes: u32,
    /// The thread.
    pub thread: u32,
    /// The process.
    pub pid: u64,
    /// The name of the host.
    pub host: String,
    /// Which start of which machine times count from.
    pub boot: [u64; 2],
    /// World number of the first PE of the node.
    pub node: u32,
    /// When it begins, and when the last timed call ended.
    pub span: (u64, u64),
    /// Whether the PE has finalized.
    pub ended: bool,
    /// The site of the call that the thread had not come back from, if it was ended in one.
    pub open: Option<u32>,
    /// Nanoseconds of a tick.
    pub tick: f64,
    /// Files with code: begin, end, bias, path.
    pub modules: Vec<(u64, u64, u64, String)>,
    /// Teams by number.
    pub teams: BTreeMap<u32, TeamRecord>,
    /// The length of an interval, and the intervals.
    pub series: (f64, Vec<Interval>),
    /// Puts and gets by the number of binary digits of their bytes.
    pub sizes: [Vec<u64>; 2],
    /// Variables that were waited for: object, calls, nanoseconds.
    pub waits: Vec<(SymmetricObject, u64, f64)>,
    /// Variables of other PEs that were updated: object, PE, updates.
    pub updates: Vec<(SymmetricObject, u32, u64)>,
    /// Routines at places of the program, by number.
    pub sites: BTreeMap<u32, SiteRecord>,
    /// Of this many meetings one is kept.
    pub stride: u64,
    /// The meetings.
    pub meetings: Vec<MeetingRecord>,
    /// Peers with which there was anything: world number; puts, gets and atomics.
    pub peers: Vec<(u32, [PeerTraffic; 3])>,
    /// The last events, in their order.
    pub events: Vec<EventRecord>,
    /// How many events there have been.
    pub happened: u64,
    /// Calls that found no room in a table.
    pub uncounted: u64,
    /// How far the symmetric heap was used, in bytes from its beginning, after the thread's last allocation.
    pub heap: u64,
    /// The address of the first block that the thread has allocated, from which distances of variables count; 0 without any.
    pub heap_base: u64,
}

/// An object that has the same name on all PEs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SymmetricObject {
    /// The distance from the first block of the heap: of one thread as it is read, and of all threads of the PE in a job.
    Heap(i64),
    /// The distance from the executable's first variable.
    Static(u64),
}

/// A team or an active set.
#[derive(Clone, Debug, PartialEq)]
pub struct TeamRecord {
    /// The same on all members.
    pub key: TeamKey,
    /// Calls.
    pub calls: u64,
    /// Bytes.
    pub bytes: u64,
    /// Nanoseconds, estimated.
    pub time: f64,
}

/// A name of a team that is the same on all members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TeamKey {
    /// World number of the first member.
    pub first: u32,
    /// The distance of members, negative if their numbers fall; 0 if they have none.
    pub stride: i32,
    /// How many members.
    pub size: u32,
    /// A sum over the members.
    pub sum: u64,
    /// The number among teams of the same members; nothing for an active set.
    pub number: Option<u32>,
}

/// A part of the job's time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    /// Nanoseconds in transfers, ordering, waiting and collectives.
    pub time: [f64; 4],
    /// Bytes.
    pub bytes: u64,
    /// Calls.
    pub calls: u64,
}

/// A routine at a place of the program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SiteRecord {
    /// The routine.
    pub routine: String,
    /// Its kind.
    pub category: RoutineKind,
    /// The address to which the call returns.
    pub caller: u64,
    /// The line of an interpreted program, as it told it; empty for any other one.
    pub line: String,
    /// Calls.
    pub calls: u64,
    /// Bytes.
    pub bytes: u64,
    /// Nanoseconds, estimated.
    pub time: f64,
    /// Calls that were timed.
    pub timed: u64,
    /// The longest of them.
    pub longest: f64,
}

#[cfg(test)]
impl SiteRecord {
    /// One call that was timed.
    pub(crate) fn timed_once(routine: &str, category: RoutineKind, time: f64) -> Self {
        Self { routine: routine.into(), category, calls: 1, time, timed: 1, longest: time, ..Self::default() }
    }
}

/// One call of a collective.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeetingRecord {
    /// The team's number in the ledger.
    pub team: u32,
    /// The site's number.
    pub site: u32,
    /// The number among the team's collectives.
    pub number: u64,
    /// When the PE came and when it left.
    pub span: (u64, u64),
}

/// Operations of one PE on another one's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PeerTraffic {
    /// Calls.
    pub calls: u64,
    /// Bytes.
    pub bytes: u64,
    /// Calls that were timed.
    pub timed: u64,
    /// Their nanoseconds.
    pub time: f64,
}

/// One call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EventRecord {
    /// When it began.
    pub begin: u64,
    /// How long it took, in nanoseconds.
    pub time: u64,
    /// The site's number.
    pub site: u32,
    /// The PE that it names.
    pub peer: Option<u32>,
    /// Bytes.
    pub bytes: u64,
}

/// Reads a ledger; nothing if its PE was ended while it made the file.
pub fn read(path: &Path) -> Result<Option<CallLedger>, Error> {
    let wrong = |why: String| {
        Error::new(format!("{} is no record of a PE", path.display())).because(why).fix("run the job again")
    };
    let bytes = file::found(path, LONGEST).map_err(|error| wrong(error.to_string()))?;
    let words = LedgerWords::of(&bytes);
    // The first word is written when all else of the head is there.
    if bytes.iter().take(size_of::<u64>()).all(|byte| *byte == 0) {
        return Ok(None);
    }
    match words.shortfall() {
        Some(needed) => Err(Error::new(format!("{} is cut off", path.display()))
            .because(format!("it has {} of {needed} bytes: a copy of it broke off, or a disk was full", bytes.len()))
            .fix("copy it again from the directory of the job, or run the job again")),
        None => {
            let other = || wrong("it does not begin as the records of this version do".into());
            parse(words).map(Some).ok_or_else(other)
        }
    }
}

/// The ticks of a ledger as nanoseconds.
struct TickRate {
    begin: (u64, u64),
    tick: f64,
}

impl TickRate {
    fn of(words: &LedgerWords) -> TickRate {
        let pair = |place| (words.at(place), words.at(place + 1));
        let (begin, latest) = (pair(head::BEGIN), pair(head::LATEST));
        let (ticks, time) = (latest.0.saturating_sub(begin.0), latest.1.saturating_sub(begin.1));
        TickRate { begin, tick: if ticks > 0 { time as f64 / ticks as f64 } else { 1.0 } }
    }

    fn moment(&self, ticks: u64) -> u64 {
        let since = (ticks as i64).wrapping_sub(self.begin.0 as i64) as f64 * self.tick;
        self.begin.1.saturating_add_signed(since as i64)
    }

    fn time(&self, ticks: u64) -> f64 {
        ticks as f64 * self.tick
    }
}

fn parse(words: LedgerWords) -> Option<CallLedger> {
    if words.at(head::MAGIC) != layout::MAGIC {
        return None;
    }
    let clock = TickRate::of(&words);
    let pes = u32::try_from(words.at(head::PES)).ok()?;
    let statics = words.at(head::STATICS)..words.at(head::STATICS + 1);
    let heap = words.at(head::HEAP);
    let object = |address: u64| {
        if statics.contains(&address) {
            SymmetricObject::Static(address - statics.start)
        } else {
            SymmetricObject::Heap(address.wrapping_sub(heap) as i64)
        }
    };
    let peers = layout::peers(pes as usize);
    let peers = Table { records: peers.records.min(words.count().saturating_sub(peers.start) / peers.width), ..peers };
    let traffic =
        |words: &[u64]| PeerTraffic { calls: words[0], bytes: words[1], timed: words[2], time: clock.time(words[3]) };
    let begin = words.at(head::BEGIN + 1);
    Some(CallLedger {
        pe: words.at(head::PE) as u32,
        pes,
        thread: words.at(head::THREAD) as u32,
        pid: words.at(head::PID),
        host: text(words.range(head::HOST, head::HOST_WORDS)),
        boot: [words.at(head::BOOT), words.at(head::BOOT + 1)],
        node: words.at(head::NODE) as u32,
        span: (begin, clock.moment(words.at(head::LAST)).max(begin)),
        ended: words.at(head::ENDED) != 0,
        open: words.at(head::OPEN).checked_sub(1).map(|site| site as u32),
        tick: clock.tick,
        modules: words
            .records(MODULES, 1)
            .map(|(_, record)| (record[0], record[1], record[2], text(&record[module::PATH..])))
            .collect(),
        teams: words
            .records(TEAMS, team::SIZE)
            .map(|(number, record)| (number as u32, team_of(record, &clock)))
            .collect(),
        series: series(&words, &clock),
        sizes: [0, 1].map(|way| words.record(SIZES, way).to_vec()),
        waits: words.records(WAITS, 1).map(|(_, word)| (object(word[0]), word[1], clock.time(word[2]))).collect(),
        updates: words
            .records(UPDATES, 1)
            .map(|(_, word)| (object(word[0]), (word[1] as u32).wrapping_sub(1), word[2]))
            .collect(),
        sites: words
            .records(SITES, site::CATEGORY)
            .filter_map(|(number, record)| Some((number as u32, site_of(record, &clock)?)))
            .collect(),
        stride: words.at(head::STRIDE).max(1),
        meetings: (0..(words.at(head::MEETINGS) as usize).min(MEETINGS.records))
            .map(|number| words.record(MEETINGS, number))
            .filter(|record| record.len() == MEETINGS.width)
            .map(|word| MeetingRecord {
                team: word[0] as u32,
                site: (word[0] >> 32) as u32,
                number: word[1],
                span: (clock.moment(word[2]), clock.moment(word[3])),
            })
            .collect(),
        peers: (0..peers.records)
            .map(|peer| (peer as u32, words.record(peers, peer)))
            .filter(|(_, record)| record.iter().any(|word| *word != 0))
            .map(|(peer, record)| (peer, [0, 4, 8].map(|way| traffic(&record[way..way + 4]))))
            .collect(),
        events: events(&words, pes as usize, &clock),
        happened: words.at(head::EVENTS),
        uncounted: words.at(head::UNCOUNTED),
        heap: words.at(head::HEAP_HIGH_WATER),
        heap_base: heap,
    })
}

fn team_of(record: &[u64], clock: &TickRate) -> TeamRecord {
    let number = record[team::NUMBER];
    TeamRecord {
        key: TeamKey {
            first: record[team::FIRST] as u32,
            stride: record[team::STRIDE] as i32,
            size: record[team::SIZE] as u32,
            sum: record[team::SUM],
            number: (number != team::ACTIVE_SET).then_some(number as u32),
        },
        calls: record[team::CALLS],
        bytes: record[team::BYTES],
        time: clock.time(record[team::TICKS]),
    }
}

fn site_of(record: &[u64], clock: &TickRate) -> Option<SiteRecord> {
    Some(SiteRecord {
        routine: text(&record[site::NAME..][..site::NAME_WORDS]),
        category: RoutineKind::of(record[site::CATEGORY] - 1)?,
        caller: record[site::CALLER],
        line: text(&record[site::LINE..][..site::LINE_WORDS]),
        calls: record[site::CALLS],
        bytes: record[site::BYTES],
        time: clock.time(record[site::TICKS]),
        timed: record[site::TIMED],
        longest: clock.time(record[site::LONGEST]),
    })
}

fn series(words: &LedgerWords, clock: &TickRate) -> (f64, Vec<Interval>) {
    let length = clock.time(1 << words.at(head::INTERVAL).min(62));
    let intervals = (0..SERIES.records).map(|number| words.record(SERIES, number)).filter(|record| !record.is_empty());
    let mut intervals: Vec<Interval> = intervals
        .map(|record| Interval {
            time: [0, 1, 2, 3].map(|group| clock.time(record[group])),
            bytes: record[layout::interval::BYTES],
            calls: record[layout::interval::CALLS],
        })
        .collect();
    while intervals.last().is_some_and(|last| *last == Interval::default()) {
        intervals.pop();
    }
    (length, intervals)
}

fn events(words: &LedgerWords, pes: usize, clock: &TickRate) -> Vec<EventRecord> {
    let (happened, room) = (words.at(head::EVENTS), words.at(head::RING));
    let table = layout::events(pes, room as usize);
    (happened.saturating_sub(room)..happened)
        .map(|number| words.record(table, (number % room.max(1)) as usize))
        .filter(|record| record.len() == table.width)
        .map(|word| EventRecord {
            begin: clock.moment(word[0]),
            time: clock.time(word[1]) as u64,
            site: word[2] as u32,
            peer: ((word[2] >> 32) as u32).checked_sub(1),
            bytes: word[3],
        })
        .collect()
}
