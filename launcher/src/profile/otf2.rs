//! A timeline as an archive of the Open Trace Format 2, which Vampir, Scalasca and the tools of Score-P read: an anchor, the
//! definitions of all locations, and a file of events for each thread.

mod records;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::event::TraceEvent;
use crate::results;
use records::{Body, Chunks, UNDEFINED};

/// Kinds of definitions.
mod define {
    pub(super) const CLOCK: u8 = 0x05;
    pub(super) const STRING: u8 = 0x0a;
    pub(super) const TREE_NODE: u8 = 0x0c;
    pub(super) const LOCATION_GROUP: u8 = 0x0d;
    pub(super) const LOCATION: u8 = 0x0e;
    pub(super) const REGION: u8 = 0x0f;
    pub(super) const GROUP: u8 = 0x12;
    pub(super) const COMM: u8 = 0x16;
    pub(super) const WINDOW: u8 = 0x18;
}

/// Kinds of events.
mod event {
    pub(super) const ENTER: u8 = 0x0c;
    pub(super) const LEAVE: u8 = 0x0d;
    pub(super) const PUT: u8 = 0x2e;
    pub(super) const GET: u8 = 0x2f;
    pub(super) const ATOMIC: u8 = 0x30;
    pub(super) const COMPLETE: u8 = 0x31;
    pub(super) const COMPLETE_NONBLOCKING: u8 = 0x32;
}

/// The number of the paradigm SHMEM.
const SHMEM: u8 = 0x0d;

/// Writes the archive into a folder: `traces.otf2` is the file to open. `titles`: names of tracks, whose number is a thousand times
/// the PE and the thread.
pub(super) fn write(calls: &[TraceEvent], titles: &BTreeMap<u64, &str>, folder: &Path) -> std::io::Result<()> {
    let archive = Archive::of(calls, titles);
    results::folder(folder)?;
    let inner = folder.join("traces");
    fs::create_dir_all(&inner)?;
    for (location, file) in archive.events.iter().enumerate() {
        results::write(&inner.join(format!("{location}.evt")), file)?;
        results::write(&inner.join(format!("{location}.def")), Chunks::definitions().finish().0)?;
    }
    results::write(&folder.join("traces.def"), &archive.definitions)?;
    results::write(&folder.join("traces.otf2"), &archive.anchor)
}

struct Archive {
    anchor: Vec<u8>,
    definitions: Vec<u8>,
    events: Vec<Vec<u8>>,
}

impl Archive {
    fn of(calls: &[TraceEvent], titles: &BTreeMap<u64, &str>) -> Self {
        let mut tracks: BTreeMap<u64, Vec<&TraceEvent>> = titles.keys().map(|track| (*track, Vec::new())).collect();
        calls.iter().for_each(|call| tracks.entry(call.tid).or_default().push(call));
        let mut definitions = Definitions::begin();
        let end = calls.iter().map(|call| nanoseconds(call.ts + call.dur)).max().unwrap_or(0);
        definitions.clock(end);
        let host = definitions.string("job");
        let empty = definitions.string("");
        definitions.record(define::TREE_NODE, Body::default().number(0).number(host).number(empty).number(UNDEFINED));
        let mut pes: BTreeMap<u64, u64> = BTreeMap::new();
        let mut ranks = Vec::new();
        for track in tracks.keys() {
            let (pe, next) = (track / 1000, pes.len() as u64);
            pes.entry(pe).or_insert_with(|| {
                let name = definitions.string(&format!("PE {pe}"));
                let group = Body::default().number(next).number(name).byte(1).number(0).number(UNDEFINED);
                definitions.record(define::LOCATION_GROUP, group);
                next
            });
        }
        let mut files = Vec::new();
        for (location, (track, calls)) in tracks.iter_mut().enumerate() {
            calls.sort_by(|a, b| a.ts.total_cmp(&b.ts).then(b.dur.total_cmp(&a.dur)));
            let (file, count) = events(calls, &mut definitions, &pes);
            let name = titles.get(track).copied().unwrap_or("thread");
            let name = definitions.string(name);
            let group = pes[&(track / 1000)];
            if ranks.len() as u64 == group {
                ranks.push(location as u64);
            }
            let body = Body::default().number(location as u64).number(name).byte(1).number(count).number(group);
            definitions.record(define::LOCATION, body);
            files.push(file);
        }
        definitions.window(&ranks);
        let (definitions, count, size) = definitions.finish();
        Archive { anchor: records::anchor(files.len() as u64, count, size), definitions, events: files }
    }
}

fn nanoseconds(microseconds: f64) -> u64 {
    (microseconds * 1e3).round().max(0.0) as u64
}

/// The events of one thread: its calls, inside of them what they move, and calls that a handler of signals has made meanwhile. `calls`:
/// one that lies inside of another one stands behind it. Returns the file and how many events it has.
fn events(calls: &[&TraceEvent], definitions: &mut Definitions, ranks: &BTreeMap<u64, u64>) -> (Vec<u8>, u64) {
    let mut file = Chunks::events();
    let mut open: Vec<OpenRegion> = Vec::new();
    let mut now = 0;
    for (number, call) in calls.iter().enumerate() {
        let region = definitions.region(call);
        now = nanoseconds(call.ts).max(now);
        let end = nanoseconds(call.ts + call.dur).max(now);
        // A call that ends behind another one is not inside of it.
        while let Some(before) = open.pop_if(|outer| outer.end <= now || outer.end < end) {
            now = now.max(before.end);
            before.leave(&mut file);
        }
        file.event(now, Body::default().byte(event::ENTER).number(region));
        let rank = call.args.peer.and_then(|peer| ranks.get(&u64::from(peer)));
        let mut operation_ends = None;
        if let (Some(rank), Some(operation)) = (rank, RmaOperation::of(call)) {
            let (number, bytes) = (number as u64, call.args.bytes);
            let body = Body::default().number(0).number(*rank);
            let body = match operation {
                RmaOperation::Put | RmaOperation::Get => body.number(bytes).number(number),
                RmaOperation::Atomic(kind) => {
                    let fetched = if atomic::FETCHING.contains(&kind) { bytes } else { 0 };
                    body.byte(kind).number(bytes).number(fetched).number(number)
                }
            };
            file.event(now, body.record(operation.kind()));
            let name = call.name.to_lowercase();
            let is_late = name.contains("_nbi") || name.ends_with("_nb");
            let complete = if is_late { event::COMPLETE_NONBLOCKING } else { event::COMPLETE };
            operation_ends = Some((complete, number));
        }
        open.push(OpenRegion { region, end, operation_ends });
    }
    while let Some(last) = open.pop() {
        last.leave(&mut file);
    }
    file.finish()
}

/// A call that a thread has entered.
struct OpenRegion {
    region: u64,
    /// When it leaves it.
    end: u64,
    /// The kind of the record that ends the call's operation, and the operation's number.
    operation_ends: Option<(u8, u64)>,
}

impl OpenRegion {
    fn leave(self, file: &mut Chunks) {
        if let Some((kind, number)) = self.operation_ends {
            file.event(self.end, Body::default().number(0).number(number).record(kind));
        }
        file.event(self.end, Body::default().byte(event::LEAVE).number(self.region));
    }
}

/// The effect of a call on another PE's memory.
#[derive(Clone, Copy, Debug, PartialEq)]
enum RmaOperation {
    Put,
    Get,
    /// Its kind as the format numbers it.
    Atomic(u8),
}

/// Kinds of atomics, as the format numbers them.
mod atomic {
    pub(super) const ACCUMULATE: u8 = 0;
    pub(super) const INCREMENT: u8 = 1;
    pub(super) const COMPARE_AND_SWAP: u8 = 3;
    pub(super) const SWAP: u8 = 4;
    pub(super) const FETCH_AND_ADD: u8 = 5;
    pub(super) const FETCH_AND_INCREMENT: u8 = 6;
    pub(super) const FETCH_AND_ACCUMULATE: u8 = 7;
    /// Those that bring a value back.
    pub(super) const FETCHING: std::ops::RangeInclusive<u8> = COMPARE_AND_SWAP..=FETCH_AND_ACCUMULATE;
}

impl RmaOperation {
    fn of(call: &TraceEvent) -> Option<Self> {
        let name = call.name.to_lowercase();
        let has = |part: &str| name.contains(part);
        match call.cat.as_str() {
            "transfer" if has("get") || name.ends_with("_g") => Some(Self::Get),
            "transfer" => Some(Self::Put),
            "atomic" if has("signal") => Some(Self::Put),
            "atomic" if has("compare_swap") || has("cswap") => Some(Self::Atomic(atomic::COMPARE_AND_SWAP)),
            "atomic" if has("swap") => Some(Self::Atomic(atomic::SWAP)),
            "atomic" if has("fetch_add") || has("fadd") => Some(Self::Atomic(atomic::FETCH_AND_ADD)),
            "atomic" if has("fetch_inc") || has("finc") => Some(Self::Atomic(atomic::FETCH_AND_INCREMENT)),
            "atomic" if has("fetch") => Some(Self::Atomic(atomic::FETCH_AND_ACCUMULATE)),
            "atomic" if has("_inc") => Some(Self::Atomic(atomic::INCREMENT)),
            "atomic" => Some(Self::Atomic(atomic::ACCUMULATE)),
            _ => None,
        }
    }

    fn kind(self) -> u8 {
        match self {
            Self::Put => event::PUT,
            Self::Get => event::GET,
            Self::Atomic(..) => event::ATOMIC,
        }
    }
}

/// The definitions: those that several records name are written once.
struct Definitions {
    file: Chunks,
    count: u64,
    strings: BTreeMap<String, u64>,
    regions: BTreeMap<(String, String), u64>,
}

impl Definitions {
    fn begin() -> Self {
        Self { file: Chunks::definitions(), count: 0, strings: BTreeMap::new(), regions: BTreeMap::new() }
    }

    fn record(&mut self, kind: u8, body: Body) {
        self.count += 1;
        self.file.definition(&body.record(kind));
    }

    /// Ticks are nanoseconds from the beginning of the job; the date is not known.
    fn clock(&mut self, length: u64) {
        self.record(define::CLOCK, Body::default().number(1_000_000_000).number(0).number(length).number(UNDEFINED));
    }

    fn string(&mut self, text: &str) -> u64 {
        if let Some(known) = self.strings.get(text) {
            return *known;
        }
        let number = self.strings.len() as u64;
        self.strings.insert(text.to_owned(), number);
        self.record(define::STRING, Body::default().number(number).text(text));
        number
    }

    /// A routine at a place of the program, whose file and line are those of the call.
    fn region(&mut self, call: &TraceEvent) -> u64 {
        let key = (call.name.clone(), call.args.at.clone());
        if let Some(known) = self.regions.get(&key) {
            return *known;
        }
        let number = self.regions.len() as u64;
        self.regions.insert(key, number);
        let place = call.args.at.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse::<u64>().ok()?)));
        let name = self.string(&call.name);
        let empty = self.string("");
        let (file, line) = place.map_or((UNDEFINED, 0), |(file, line)| (self.string(file), line));
        let body = Body::default().number(number).number(name).number(empty).byte(0).number(file).number(line);
        let body = body.number(line).number(name).byte(role_of(call)).byte(SHMEM).number(0);
        self.record(define::REGION, body);
        number
    }

    /// The PEs as a communicator, and the symmetric memory as its window. `ranks`: the first location of each PE.
    fn window(&mut self, ranks: &[u64]) {
        let (all, world, memory) = (self.string("PEs"), self.string("world"), self.string("symmetric memory"));
        let members = |kind: u8, number: u64, name: u64, of: &mut dyn Iterator<Item = u64>| {
            let body = Body::default().number(number).number(name).byte(0).number(ranks.len() as u64);
            of.fold(body, Body::number).byte(kind).byte(SHMEM).number(0)
        };
        let locations = members(4, 0, all, &mut ranks.iter().copied());
        let group = members(5, 1, world, &mut (0..ranks.len() as u64));
        self.record(define::GROUP, locations);
        self.record(define::GROUP, group);
        self.record(define::COMM, Body::default().number(0).number(world).number(1).number(UNDEFINED).number(0));
        self.record(define::WINDOW, Body::default().number(0).number(memory).number(0).number(0));
    }

    /// The file, how many records it has, and the size of its chunk.
    fn finish(self) -> (Vec<u8>, u64, u64) {
        let (file, _) = self.file.finish();
        let size = (file.len() as u64).max(records::DEFINITIONS_CHUNK);
        (file, self.count, size)
    }
}

/// Roles of routines, as the format numbers them.
mod role {
    pub(super) const FUNCTION: u8 = 1;
    pub(super) const ATOMIC: u8 = 14;
    pub(super) const BARRIER: u8 = 15;
    pub(super) const FLUSH: u8 = 17;
    pub(super) const ONE_TO_ALL: u8 = 23;
    pub(super) const ALL_TO_ALL: u8 = 25;
    pub(super) const OTHER_COLLECTIVE: u8 = 26;
    pub(super) const POINT_TO_POINT: u8 = 28;
    pub(super) const RMA: u8 = 29;
    pub(super) const ALLOCATE: u8 = 35;
    pub(super) const FREE: u8 = 36;
}

fn role_of(call: &TraceEvent) -> u8 {
    // Names of Fortran's routines are in upper case.
    let name = call.name.to_lowercase();
    let has = |part: &str| name.contains(part);
    match call.cat.as_str() {
        "transfer" => role::RMA,
        "atomic" => role::ATOMIC,
        "ordering" => role::FLUSH,
        "waiting" => role::POINT_TO_POINT,
        "collective" if has("barrier") || has("sync") => role::BARRIER,
        "collective" if has("broadcast") => role::ONE_TO_ALL,
        "collective" if has("malloc") || has("calloc") || has("align") => role::ALLOCATE,
        "collective" if has("free") => role::FREE,
        "collective" if has("reduce") || has("_to_all") || has("collect") || has("alltoall") => role::ALL_TO_ALL,
        "collective" => role::OTHER_COLLECTIVE,
        _ => role::FUNCTION,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(text: &str) -> TraceEvent {
        serde_json::from_str(text).expect("an event")
    }

    #[test]
    fn the_files_of_two_pes_are_those_that_the_library_of_the_format_writes() {
        let calls = [
            call(
                r#"{"ph":"X","tid":1000,"ts":1,"dur":0.7,"name":"shmem_putmem","cat":"transfer",
                     "args":{"at":"heat.c:28","bytes":4096,"peer":0}}"#,
            ),
            call(r#"{"ph":"X","tid":0,"ts":1,"dur":1,"name":"shmem_barrier_all","cat":"collective","args":{}}"#),
        ];
        let archive = Archive::of(&calls, &BTreeMap::from([(0, "PE 0"), (1000, "PE 1")]));
        let header = |last: u8| [&[3, 0x42, 1][..], &[0; 7], &[last], &[0; 7]].concat();
        let barrier = [&[5, 0xe8, 3][..], &[0; 6], &[0x0c, 0], &[5, 0xd0, 7], &[0; 6], &[0x0d, 0, 2, 1]].concat();
        assert_eq!(archive.events[0], [header(2), barrier].concat());
        let put = [0x2e, 6, 0, 0, 2, 0, 0x10, 0, 5, 0xa4, 6, 0, 0, 0, 0, 0, 0, 0x31, 2, 0, 0];
        let put = [&[5, 0xe8, 3][..], &[0; 6], &[0x0c, 1, 1], &put, &[0x0d, 1, 1, 2, 1]].concat();
        assert_eq!(archive.events[1], [header(4), put].concat());
        assert!(archive.definitions.starts_with(&header(0)) && archive.definitions.ends_with(&[2, 1]));
        // Of the second region: its number, name, no description, the file with its line twice, the name again; RMA of SHMEM.
        let region = [0x0f, 0x12, 1, 1, 1, 5, 1, 1, 0, 1, 6, 1, 28, 1, 28, 1, 5, 29, 13, 0];
        assert!(archive.definitions.windows(region.len()).any(|part| part == region), "{:x?}", archive.definitions);
    }

    #[test]
    fn a_call_inside_of_another_one_is_left_before_it() {
        let call = |ts: f64, dur: f64, name: &str| TraceEvent { ts, dur, name: name.into(), ..TraceEvent::default() };
        let calls = [call(2.0, 0.3, "c"), call(1.0, 0.2, "b"), call(1.0, 1.0, "a"), call(1.5, 0.5, "b")];
        let archive = Archive::of(&calls, &BTreeMap::from([(0, "PE 0")]));
        let at = |time: u16| [&[5][..], &time.to_le_bytes(), &[0; 6]].concat();
        let [enter, leave] = [[0x0c], [0x0d]];
        let [a, b, c] = [&[0][..], &[1, 1], &[1, 2]];
        let first = [&at(1000)[..], &enter, a, &enter, b, &at(1200), &leave, b].concat();
        let second = [&at(1500)[..], &enter, b, &at(2000), &leave, b, &leave, a].concat();
        let third = [&enter[..], c, &at(2300), &leave, c, &[2, 1]].concat();
        assert_eq!(archive.events[0][18..], [first, second, third].concat());
    }

    #[test]
    fn operations_are_known_by_category_and_name() {
        let of = |cat: &str, name: &str| {
            RmaOperation::of(&TraceEvent { cat: cat.into(), name: name.into(), ..TraceEvent::default() })
        };
        assert_eq!(of("transfer", "shmem_long_g"), Some(RmaOperation::Get));
        assert_eq!(of("transfer", "shmem_long_put_signal"), Some(RmaOperation::Put));
        assert_eq!(of("atomic", "shmem_long_atomic_fetch_add"), Some(RmaOperation::Atomic(atomic::FETCH_AND_ADD)));
        assert_eq!(of("atomic", "shmem_long_atomic_set"), Some(RmaOperation::Atomic(atomic::ACCUMULATE)));
        assert_eq!(of("collective", "shmem_barrier_all"), None);
        for name in ["shmem_barrier_all", "SHMEM_BARRIER_ALL"] {
            let call = TraceEvent { cat: "collective".into(), name: name.into(), ..TraceEvent::default() };
            assert_eq!(role_of(&call), role::BARRIER, "{name}");
        }
    }
}
