//! The reports: what is said of a race, where, and what follows from it.

use std::ffi::c_int;
use std::fmt::Write as _;
use std::io::Write as _;

use oxshmem_base::Error;
use oxshmem_race::access::Access;
use oxshmem_race::clock::Column;
use oxshmem_race::{AccessKind, LastCall, Race, RaceRank, Site, StrandKind, StrandName};

use crate::node::RaceNode;
use crate::options;
use crate::standard;
use crate::symbols::{ProgramPlace, ProgramSymbols};
use crate::words::{advice, object};

/// The number of a load of the program itself, which is no call, and that of a store.
pub(crate) const LOAD: u16 = 0;
pub(crate) const STORE: u16 = 1;

fn name(call: u16) -> &'static str {
    standard::call_name(call).unwrap_or("a call")
}

/// Whether the access is a call that moves one element: `shmem_long_g`, `shmem_ctx_int_p`, in Rust `Symmetric::put`. (`Scope::put` moves many.)
fn moves_one(access: &Access) -> bool {
    ["_p", "_g", "Symmetric::put", "Symmetric::get"].iter().any(|ending| name(access.site.call).ends_with(ending))
}

/// One side of a report.
struct ReportSide {
    call: &'static str,
    /// The number of its thread, if the report has to name it, and of its PE.
    thread: String,
    pe: c_int,
    place: ProgramPlace,
    /// The call is another PE's, and a strand of `pe` has heard its signal.
    heard: bool,
}

impl ReportSide {
    fn new(
        node: &RaceNode,
        symbols: &ProgramSymbols,
        call: &'static str,
        by: StrandName,
        alone: bool,
        site: Site,
    ) -> Self {
        // The first thread is named where it is not the only one.
        let thread = match (by.strand, node.detector.shared().kind(by)) {
            (0, _) if alone => String::new(),
            (strand, StrandKind::Thread) => format!("thread {strand} of "),
            (_, StrandKind::Task) => "a task of ".into(),
            (_, StrandKind::Section) => "a section of ".into(),
        };
        ReportSide { call, thread, pe: node.pes[by.pe], place: symbols.call(site.pc), heard: false }
    }

    fn of(node: &RaceNode, symbols: &ProgramSymbols, access: &Access, other: &Access) -> Self {
        let call = match (name(access.site.call), access.kind) {
            ("a store", AccessKind::Atomic(_)) => "an atomic of the language",
            ("a load", AccessKind::AtomicRead(_)) => "an atomic load of the language",
            (name, _) => name,
        };
        let alone = access.by.strand == other.by.strand;
        ReportSide {
            heard: access.column == Column::Heard,
            ..Self::new(node, symbols, call, access.by, alone, access.site)
        }
    }

    fn told(&self) -> String {
        let ReportSide { call, thread, pe, place, heard } = self;
        if *heard {
            format!("{call} at {}, whose signal was heard by {thread}PE {pe}", place.told)
        } else {
            format!("{call} by {thread}PE {pe} at {}", place.told)
        }
    }

    fn json(&self) -> String {
        let ReportSide { call, thread, pe, place, .. } = self;
        let thread = thread.trim_end_matches(" of ");
        let path = place.path.as_deref().map_or("null".into(), quoted);
        let (call, thread, place) = (quoted(call), quoted(thread), quoted(&place.told));
        format!(r#"{{"call":{call},"pe":{pe},"thread":{thread},"place":{place},"path":{path}}}"#)
    }
}

/// Says that nothing orders two accesses, if it was not said before of these two sites.
#[cold]
pub(crate) fn race(node: &RaceNode, race: &Race) {
    let site = |access: &Access| (access.site.pc, access.site.call);
    if !node.detector.shared().is_new(site(&race.earlier), site(&race.later)) {
        return;
    }
    let symbols = ProgramSymbols::read();
    let sides = [
        ReportSide::of(node, &symbols, &race.earlier, &race.later),
        ReportSide::of(node, &symbols, &race.later, &race.earlier),
    ];
    let [earlier, later] = sides.each_ref().map(ReportSide::told);
    let follows = |more: &str| format!("{later} follows {earlier}{more}");
    // Private memory has no name.
    let place = race.place.or_else(|| node.resolve(race.address));
    let memory = place.map(|place| object(node, &symbols, place, race.bytes));
    let buffer = memory.as_ref().map_or(String::new(), |memory| format!("{memory}, "));
    let (kind, error) = match race.place {
        Some(_) if race.earlier.kind.differs(race.later.kind) => (
            "atomics",
            Error::new(format!("data race on {}", memory.as_deref().unwrap_or("symmetric memory")))
                .because(format!("{earlier} and {later} are atomics of different types, which are not atomic to each other"))
                .fix("use one type for all atomics on a variable, or let a barrier separate them"),
        ),
        Some(_) => (
            "race",
            Error::new(format!("data race on {}", memory.as_deref().unwrap_or("symmetric memory")))
                .because(format!("nothing orders {earlier} and {later}"))
                .fix(advice(&race.earlier, &race.later, moves_one(&race.earlier) && moves_one(&race.later))),
        ),
        None if race.earlier.column == Column::Requested => (
            "race",
            Error::new(format!("data race on {buffer}the buffer of a collective that is under way"))
                .because(follows(", and nothing has ended its request"))
                .fix("call shmem_req_wait, or shmem_req_test until it returns 0, before the buffer is used again"),
        ),
        None if race.rank == RaceRank::ByTheLetter => (
            "letter",
            Error::new(format!("only by the letter: {buffer}the source of a nonblocking put, changes too early"))
                .because(follows(
                    "; an answer has shown that the other PE has the data, but the standard lets only a quiet free the source",
                ))
                .fix("call shmem_quiet before the source changes: it takes no time, because the operation is over"),
        ),
        None => (
            "race",
            Error::new(format!("data race on {buffer}the local buffer of a nonblocking operation"))
                .because(follows(", and no quiet or barrier has completed that"))
                .fix("call shmem_quiet, or shmem_ctx_quiet on the operation's context, before the buffer is used again"),
        ),
    };
    make_known(kind, &error, memory.as_deref(), &sides);
}

/// Says that a thread calls though the level of threads does not allow it.
#[cold]
pub(crate) fn level(node: &RaceNode, level: &str, by: StrandName, site: Site, earlier: Option<LastCall>) {
    let before = earlier.map_or((0, u16::MAX), |call| (call.site.pc, call.site.call));
    if !node.detector.shared().is_new((site.pc, site.call), before) {
        return;
    }
    let symbols = ProgramSymbols::read();
    let side = |by, site: Site| ReportSide::new(node, &symbols, name(site.call), by, false, site);
    let mut sides = vec![side(by, site)];
    sides.extend(earlier.map(|call| side(call.by, call.site)));
    let error = Error::new(format!("a thread calls that {level} does not allow to call"));
    let error = match &sides[..] {
        [later, earlier] => error
            .because(format!("nothing orders {} and {}", earlier.told(), later.told()))
            .fix("let one thread call at a time, with a lock, or ask shmem_init_thread for SHMEM_THREAD_MULTIPLE"),
        _ => error
            .because(format!("{} is not made by the thread that has initialised the library", sides[0].told()))
            .fix(match name(site.call) {
                "shmem_finalize" => "let the thread that has initialised finalize",
                _ => "ask shmem_init_thread for SHMEM_THREAD_SERIALIZED or SHMEM_THREAD_MULTIPLE",
            }),
    };
    make_known("threads", &error, None, &sides);
}

/// Writes a report that the program's user has not asked to leave out.
fn make_known(kind: &str, error: &Error, memory: Option<&str>, sides: &[ReportSide]) {
    let (pe, pes) = (standard::pshmem_my_pe(), standard::pshmem_n_pes());
    let text = format!("oxshmem: PE {pe} of {pes}: {error}\n");
    if options::leave_out(&text) {
        return;
    }
    if ["race", "atomics"].contains(&kind) {
        standard::found(options::status());
    }
    if let Some(file) = options::json() {
        let sides: Vec<String> = sides.iter().map(ReportSide::json).collect();
        let line = format!(
            "{{\"kind\":{},\"pe\":{pe},\"pes\":{pes},\"memory\":{},\"accesses\":[{}],\"text\":{}}}\n",
            quoted(kind),
            memory.map_or("null".into(), quoted),
            sides.join(","),
            quoted(error.to_string().as_str())
        );
        options::append(file, &line);
    }
    // In one piece, so that the launcher recognises equal reports. If the write fails the program goes on.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// A text as JSON has it.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted.push_str("\\n"),
            letter if letter < ' ' => {
                let _ = write!(quoted, "\\u{:04x}", letter as u32);
            }
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}
