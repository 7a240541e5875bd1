//! The layout of a ledger: a sequence of words of 64 bits in the machine's byte order. Each table has records of a fixed number
//! of words, so the thread that owns a ledger finds a place by arithmetic, and a reader too.

use std::path::Path;

/// The first word; another layout has another one.
pub const MAGIC: u64 = u64::from_ne_bytes(*b"oxledg02");

/// The ending of a ledger's name, behind `pe.PE.THREAD`.
pub const ENDING: &str = "ledger";

/// The name of the folder of temporary files in which an agent keeps records until the job ends. `mark` is that of the host's processes.
pub fn gathering_folder(mark: &str) -> String {
    format!("{GATHERS}{mark}.{GATHERED}")
}

/// Whether a folder of records is that of an agent.
pub fn is_gathering_folder(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str());
    let rest = name.and_then(|name| name.strip_prefix(GATHERS)).and_then(|rest| rest.strip_suffix(GATHERED));
    rest.is_some_and(|mark| mark.ends_with('.'))
}

/// How the name of such a folder begins and ends.
const GATHERS: &str = "oxshmem-";
const GATHERED: &str = "records";

/// Places in the head.
pub mod head {
    /// [`super::MAGIC`].
    pub const MAGIC: usize = 0;
    /// The PE's number.
    pub const PE: usize = 1;
    /// How many PEs the job has.
    pub const PES: usize = 2;
    /// The number of the thread in its PE.
    pub const THREAD: usize = 3;
    /// The PE's process.
    pub const PID: usize = 4;
    /// Ticks and nanoseconds at the same moment, when the ledger begins.
    pub const BEGIN: usize = 5;
    /// The same at the latest moment at which both were read.
    pub const LATEST: usize = 7;
    /// Which start of which machine the nanoseconds count from: two words.
    pub const BOOT: usize = 9;
    /// 1 after finalize.
    pub const ENDED: usize = 11;
    /// The address of the first block of the symmetric heap, or 0.
    pub const HEAP: usize = 12;
    /// The addresses between which the executable's variables lie: two words.
    pub const STATICS: usize = 13;
    /// Of this many meetings of a team one is kept: a power of two.
    pub const STRIDE: usize = 15;
    /// How many meetings are kept.
    pub const MEETINGS: usize = 16;
    /// How many events there have been; the ring has the last ones.
    pub const EVENTS: usize = 17;
    /// How many events the ring has room for.
    pub const RING: usize = 18;
    /// Calls that found no room in the table of routines.
    pub const UNCOUNTED: usize = 19;
    /// The world number of the first PE of the PE's node.
    pub const NODE: usize = 20;
    /// An interval of the series is 2 to the power of this many ticks.
    pub const INTERVAL: usize = 21;
    /// The end of the last call that was timed, in ticks.
    pub const LAST: usize = 22;
    /// How far the symmetric heap has ever been used, in bytes from its beginning.
    pub const HEAP_HIGH_WATER: usize = 23;
    /// The number of the site of the call under way, and one; 0 between calls.
    pub const OPEN: usize = 24;
    /// The name of the host: 32 words.
    pub const HOST: usize = 32;
    /// Words of the name.
    pub const HOST_WORDS: usize = 32;
}

/// A table of a ledger.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// The word at which it begins.
    pub start: usize,
    /// How many words a record has.
    pub width: usize,
    /// How many records there is room for.
    pub records: usize,
}

impl Table {
    const fn first(width: usize, records: usize) -> Table {
        Table { start: 512, width, records }
    }

    const fn then(self, width: usize, records: usize) -> Table {
        Table { start: self.end(), width, records }
    }

    /// The word behind the last record.
    pub const fn end(self) -> usize {
        self.start + self.width * self.records
    }

    /// The word at which a record begins.
    pub const fn at(self, record: usize) -> usize {
        self.start + self.width * record
    }
}

/// Files with code: begin, end, bias, path. The addresses of calls lie in them.
pub const MODULES: Table = Table::first(40, 64);
/// Places in a module's record.
pub mod module {
    /// The path: 37 words.
    pub const PATH: usize = 3;
}

/// Teams and active sets; the first one is the world.
pub const TEAMS: Table = MODULES.then(8, 256);
/// Places in a team's record.
pub mod team {
    /// World number of the first member.
    pub const FIRST: usize = 0;
    /// The distance of members as a number of 32 bits, or 0 if they have no common one.
    pub const STRIDE: usize = 1;
    /// How many members; 0 in an unused record.
    pub const SIZE: usize = 2;
    /// A sum that tells teams without a common distance apart.
    pub const SUM: usize = 3;
    /// The number among teams of the same members that live at the same time; [`ACTIVE_SET`] for an active set.
    pub const NUMBER: usize = 4;
    /// Calls.
    pub const CALLS: usize = 5;
    /// Bytes.
    pub const BYTES: usize = 6;
    /// Ticks, estimated.
    pub const TICKS: usize = 7;
    /// See [`NUMBER`].
    pub const ACTIVE_SET: u64 = u64::MAX;
}

/// Equal intervals of time.
pub const SERIES: Table = TEAMS.then(8, 256);
/// Places in an interval: ticks in transfers, ordering, waiting, collectives; then bytes and calls.
pub mod interval {
    /// The bytes.
    pub const BYTES: usize = 4;
    /// The calls.
    pub const CALLS: usize = 5;
}

/// Calls by size: a record for puts and one for gets, a word for each number of binary digits.
pub const SIZES: Table = SERIES.then(65, 2);

/// Addresses that the PE has waited for: address, calls, ticks.
pub const WAITS: Table = SIZES.then(4, 1024);

/// Words of other PEs that the PE has updated: address (its own copy's), PE + 1, updates.
pub const UPDATES: Table = WAITS.then(4, 4096);

/// Routines at places of the program.
pub const SITES: Table = UPDATES.then(24, 4096);
/// Places in a site's record.
pub mod site {
    /// The category + 1; 0 in an unused record.
    pub const CATEGORY: usize = 0;
    /// The address to which the call returns; of an interpreted program that of the text of its line.
    pub const CALLER: usize = 1;
    /// Calls.
    pub const CALLS: usize = 2;
    /// Bytes.
    pub const BYTES: usize = 3;
    /// Ticks, estimated for all calls.
    pub const TICKS: usize = 4;
    /// Calls that were timed.
    pub const TIMED: usize = 5;
    /// The longest call that was timed, in ticks.
    pub const LONGEST: usize = 6;
    /// How many calls pass untimed before the next one is timed.
    pub const LEFT: usize = 7;
    /// How many there were before.
    pub const PASSED: usize = 8;
    /// The name: 7 words.
    pub const NAME: usize = 9;
    /// Words of the name.
    pub const NAME_WORDS: usize = 7;
    /// The line of an interpreted program: 8 words, all zero for any other one.
    pub const LINE: usize = 16;
    /// Words of the line.
    pub const LINE_WORDS: usize = 8;
}

/// Meetings of teams that are kept: team and site (32 bits each), number, entry, leave.
pub const MEETINGS: Table = SITES.then(4, 16384);

/// Peers by number: for puts, gets and atomics calls, bytes, timed calls and their ticks.
pub const fn peers(pes: usize) -> Table {
    MEETINGS.then(12, pes)
}

/// The ring of events: begin, ticks, site and PE + 1 (32 bits each), bytes.
pub const fn events(pes: usize, room: usize) -> Table {
    peers(pes).then(4, room)
}

/// The kinds of routines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum RoutineKind {
    /// Queries and everything that is nothing else.
    #[default]
    Other,
    /// Puts and gets.
    Transfer,
    /// Atomics and signals.
    Atomic,
    /// Fence and quiet.
    Ordering,
    /// Waits for variables, and locks.
    Waiting,
    /// Barriers, reductions and everything else that the members of a team do together.
    Collective,
}

impl RoutineKind {
    /// All, in the order of their numbers.
    pub const ALL: [RoutineKind; 6] = [
        RoutineKind::Other,
        RoutineKind::Transfer,
        RoutineKind::Atomic,
        RoutineKind::Ordering,
        RoutineKind::Waiting,
        RoutineKind::Collective,
    ];

    /// The category of that number.
    pub fn of(number: u64) -> Option<RoutineKind> {
        RoutineKind::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// One word.
    pub fn name(self) -> &'static str {
        match self {
            RoutineKind::Other => "other",
            RoutineKind::Transfer => "transfer",
            RoutineKind::Atomic => "atomic",
            RoutineKind::Ordering => "ordering",
            RoutineKind::Waiting => "waiting",
            RoutineKind::Collective => "collective",
        }
    }
}

/// The ending of an empty file `pe.PE.THREAD.ERROR.unrecorded`, which stands for a ledger that a PE could not make. `ERROR` is the
/// system's number of the error: a disk without room for a byte still has room for a name.
pub const UNRECORDED: &str = "unrecorded";
/// The variable that names the folder in which PEs keep ledgers. A PE that has begun to do so writes the number of its process and a blank in
/// front, for the processes that it starts: these are no PEs of the job.
pub const FOLDER: &str = "OXSHMEM_PROFILE";
/// The variable that says how many events each thread keeps.
pub const ROOM: &str = "OXSHMEM_TRACE_EVENTS";
