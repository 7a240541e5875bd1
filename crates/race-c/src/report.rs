//! The sentences about a race.

use std::ffi::{CStr, c_char};
use std::io::Write;

use oxshmem_base::Error;
use oxshmem_race::access::Access;
use oxshmem_race::clock::{Column, Stream};
use oxshmem_race::{AccessKind, MemoryPart, Race, RaceRank, StrandKind, SymmetricPlace};

use crate::node::RaceNode;
use crate::standard;
use crate::symbols::ProgramSymbols;

unsafe extern "C" {
    /// The names of all routines, by their numbers; the generated calls define them.
    static race_calls: [*const c_char; 0];
    static race_call_count: usize;
    /// Lets this process end with a status that tells of races.
    fn race_found();
}

/// The number of a load of the program itself, which is no call, and that of a store.
pub(crate) const LOAD: u16 = 0;
pub(crate) const STORE: u16 = 1;

fn name(call: u16) -> &'static str {
    // SAFETY: the shim defines as many strings as it counts, and `call` is compared with the count.
    let text = unsafe {
        let count = (&raw const race_call_count).read();
        let calls: *const *const c_char = (&raw const race_calls).cast();
        ((call as usize) < count).then(|| CStr::from_ptr(*calls.add(call as usize)))
    };
    text.and_then(|text| text.to_str().ok()).unwrap_or("a call")
}

/// Says that nothing orders two accesses, if it was not said before of these two sites.
#[cold]
pub(crate) fn race(node: &RaceNode, race: &Race) {
    let site = |access: &Access| (access.site.pc, access.site.call);
    if !node.detector.shared().is_new(site(&race.earlier), site(&race.later)) {
        return;
    }
    if race.rank == RaceRank::Unordered {
        // SAFETY: the shim stores a number.
        unsafe { race_found() };
    }
    let symbols = ProgramSymbols::read();
    let told = |access: &Access| {
        let call = match (name(access.site.call), access.kind) {
            ("a store", AccessKind::Atomic(_)) => "an atomic of the language",
            ("a load", AccessKind::AtomicRead(_)) => "an atomic load of the language",
            (name, _) => name,
        };
        // The first thread is named where it is not the only one.
        let thread = match access.by.strand {
            0 if race.earlier.by.strand == race.later.by.strand => String::new(),
            strand => match node.detector.shared().kind(access.by) {
                StrandKind::Thread => format!("thread {strand} of "),
                StrandKind::Task => "a task of ".into(),
                StrandKind::Section => "a section of ".into(),
            },
        };
        let (pe, place) = (node.pes[access.by.pe], symbols.call(access.site.pc));
        match access.column {
            Column::Heard => format!("{call} at {place}, whose signal was heard by {thread}PE {pe}"),
            _ => format!("{call} by {thread}PE {pe} at {place}"),
        }
    };
    // Private memory has no name.
    let buffer = node.resolve(race.address).filter(|_| race.place.is_none());
    let buffer = buffer.map_or(String::new(), |place| format!("{}, ", object(node, &symbols, place, race.bytes)));
    let both = || (told(&race.earlier), told(&race.later));
    let error = match race.place {
        Some(place) if race.earlier.kind.differs(race.later.kind) => {
            let (earlier, later) = both();
            Error::new(format!("data race on {}", object(node, &symbols, place, race.bytes)))
                .because(format!("{earlier} and {later} are atomics of different types, which are not atomic to each other"))
                .fix("use one type for all atomics on a variable, or let a barrier separate them")
        }
        Some(place) => Error::new(format!("data race on {}", object(node, &symbols, place, race.bytes)))
            .because(format!("nothing orders {} and {}", told(&race.earlier), told(&race.later)))
            .fix(advice(&race.earlier, &race.later)),
        None if race.earlier.column == Column::Requested => {
            Error::new(format!("data race on {buffer}the buffer of a collective that is under way"))
                .because(format!(
                    "{} follows {}, and nothing has ended its request",
                    told(&race.later),
                    told(&race.earlier)
                ))
                .fix("call shmem_req_wait, or shmem_req_test until it returns 0, before the buffer is used again")
        }
        None if race.rank == RaceRank::ByTheLetter => Error::new(format!("{buffer}the source of a put with a signal, changes before the standard allows it"))
            .because(format!(
                "{} follows {}; an answer shows that the other PE has the data, but by the letter only a quiet frees the source",
                told(&race.later),
                told(&race.earlier)
            ))
            .fix("call shmem_quiet before the source changes; it costs little here, because the operation is over"),
        None => Error::new(format!("data race on {buffer}the local buffer of a nonblocking operation"))
            .because(format!(
                "{} follows {}, and no quiet or barrier has completed that",
                told(&race.later),
                told(&race.earlier)
            ))
            .fix("call shmem_quiet, or shmem_ctx_quiet on the operation's context, before the buffer is used again"),
    };
    let text = format!("oxshmem: PE {} of {}: {error}\n", standard::pshmem_my_pe(), standard::pshmem_n_pes());
    // In one piece, so that the launcher knows equal reports again. Without a reader there is nothing better to do than to go on.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// The synchronisation that would most likely order them.
fn advice(earlier: &Access, later: &Access) -> &'static str {
    let is_sent = |access: &Access| matches!(access.column, Column::Sent(_));
    let is_pulled = |access: &Access| matches!(access.column, Column::Pulled(_));
    let is_of_context =
        |access: &Access| matches!(access.column, Column::Sent(Stream::Other) | Column::Pulled(Stream::Other));
    match () {
        () if is_of_context(earlier) => {
            "complete the operations of a created context with shmem_ctx_quiet on it (shmem_quiet and barriers complete those of \
             the default context only), then synchronise"
        }
        () if earlier.by == later.by => {
            "complete the earlier operation with shmem_quiet or a barrier before the later one"
        }
        () if earlier.by.pe == later.by.pe && !is_sent(earlier) && !is_pulled(earlier) => {
            "order the threads between both accesses: a barrier, a lock or a join of threads"
        }
        () if earlier.by.pe == later.by.pe => {
            "let the thread that has issued the operation complete it (shmem_quiet), and order the threads after that: a barrier, \
             a lock or a join of threads"
        }
        () if earlier.column == Column::Requested || later.column == Column::Requested => {
            "end the collective's request (shmem_req_wait), and synchronise the PEs between both accesses"
        }
        () if earlier.kind.atomic().is_some() || later.kind.atomic().is_some() => {
            "access the variable with atomics only, or let a barrier separate both kinds of access"
        }
        () if is_sent(earlier) && is_sent(later) => {
            "let one PE write at a time: separate the puts by a barrier, a lock, or a flag after a fence or quiet"
        }
        () if is_sent(later) => {
            "let the put wait until the other PE has made its access: a barrier or sync between them, a signal or flag from that PE, \
             a lock"
        }
        () if is_sent(earlier) => {
            "complete the put (shmem_quiet, shmem_fence before a flag, or put-with-signal), and let the other PE wait: a barrier, \
             a wait on the flag or signal, a lock"
        }
        () if is_pulled(earlier) || is_pulled(later) => {
            "complete the nonblocking get with shmem_quiet, then synchronise the PEs"
        }
        () => "synchronise the PEs between both accesses: a barrier or sync, a flag and a wait, a lock",
    }
}

/// The bytes that both accesses touch.
fn object(node: &RaceNode, symbols: &ProgramSymbols, place: SymmetricPlace, bytes: usize) -> String {
    let pe = node.pes[place.pe];
    let unknown = || format!("{bytes} bytes of symmetric memory of PE {pe}");
    match place.segment {
        MemoryPart::Statics => {
            let address = node.loaded.statics.0 - node.loaded.bias + place.offset;
            match symbols.symbol(address as u64) {
                Some((name, 0)) => format!("`{name}` of PE {pe} ({bytes} bytes)"),
                Some((name, offset)) => format!("`{name}`+{offset} of PE {pe} ({bytes} bytes)"),
                None => unknown(),
            }
        }
        MemoryPart::Heap => {
            let blocks = node.blocks.lock();
            match blocks.range(..=place.offset).next_back().map(|(&start, &block)| (start, block)) {
                Some((start, (size, site))) if place.offset < start + size => format!(
                    "bytes {} to {} of the block of {size} bytes of PE {pe}, allocated at {}",
                    place.offset - start,
                    place.offset - start + bytes - 1,
                    symbols.call(site.pc)
                ),
                _ => unknown(),
            }
        }
    }
}
