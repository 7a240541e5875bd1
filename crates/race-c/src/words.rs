//! The words of reports: advice, and the names of memory.

use oxshmem_race::access::Access;
use oxshmem_race::clock::{Column, Stream};
use oxshmem_race::{AccessKind, MemoryPart, SymmetricPlace};

use crate::arrays;
use crate::node::RaceNode;
use crate::standard;
use crate::symbols::ProgramSymbols;

/// The remedy. `single`: both calls move one element, as those of a program that reads a variable, changes it and writes it back.
pub(crate) fn advice(earlier: &Access, later: &Access, single: bool) -> String {
    let mut advice = order(earlier, later).to_owned();
    if single && earlier.by.pe != later.by.pe {
        advice +=
            "; if several PEs update one variable, use shmem_atomic_add or, if it is no integer, shmem_sum_reduce";
    }
    if standard::in_rust() { of_rust(&advice) } else { advice }
}

/// The calls that advice names, in C and in Rust. The longer names come first.
const IN_RUST: [(&str, &str); 7] = [
    ("shmem_ctx_quiet", "Context::quiet"),
    ("shmem_quiet", "World::quiet"),
    ("shmem_fence", "World::fence"),
    ("shmem_wait_until", "wait_until"),
    ("put-with-signal", "put_signal"),
    ("use shmem_atomic_add", "make it an Atomic, and use its add"),
    ("shmem_sum_reduce", "Team::sum_of"),
];

/// Advice with the names of Rust.
fn of_rust(advice: &str) -> String {
    IN_RUST.iter().fold(advice.to_owned(), |text, (c, rust)| text.replace(c, rust))
}

/// The synchronisation that would most likely order them.
fn order(earlier: &Access, later: &Access) -> &'static str {
    let is_sent = |access: &Access| matches!(access.column, Column::Sent(_));
    let is_pulled = |access: &Access| matches!(access.column, Column::Pulled(_));
    let is_of_context =
        |access: &Access| matches!(access.column, Column::Sent(Stream::Other) | Column::Pulled(Stream::Other));
    if is_of_context(earlier) {
        "complete the operations of a created context with shmem_ctx_quiet on it (shmem_quiet and barriers complete those of \
         the default context only), then synchronise"
    } else if earlier.by == later.by {
        "complete the earlier operation with shmem_quiet or a barrier before the later one"
    } else if earlier.by.pe == later.by.pe && !is_sent(earlier) && !is_pulled(earlier) {
        "order the threads between both accesses: a barrier, a lock or a join of threads"
    } else if earlier.by.pe == later.by.pe {
        "let the thread that has issued the operation complete it (shmem_quiet), and order the threads after that: a barrier, \
         a lock or a join of threads"
    } else if earlier.column == Column::Requested || later.column == Column::Requested {
        "end the collective's request (shmem_req_wait), and synchronise the PEs between both accesses"
    } else if earlier.kind.atomic().is_some() || later.kind.atomic().is_some() {
        "access the variable with atomics only, or let a barrier separate both kinds of access"
    } else if is_sent(earlier) && is_sent(later) {
        "let one PE write at a time: separate the puts by a barrier, a lock, or a flag after a fence or quiet"
    } else if is_pulled(earlier) || is_pulled(later) && !is_sent(earlier) {
        "complete the nonblocking get with shmem_quiet, then synchronise the PEs"
    } else if is_sent(later) && earlier.kind == AccessKind::Read {
        // The order of this run may be the one that the program does not want: a reader that does not wait for the put.
        "decide which access comes first: if the reader needs the new value, complete the put (shmem_quiet, or shmem_fence \
         before a flag) and let the reader wait (a barrier, shmem_wait_until); if it needs the old value, let the writer wait \
         (a barrier, a flag from the reader)"
    } else if is_sent(later) {
        "decide which write comes first, and let the other PE wait for it: a barrier between them, a flag after a fence or \
         quiet, a lock"
    } else if is_sent(earlier) {
        // A put of a later round that comes early has the same form as one that nothing announces.
        "complete the put (shmem_quiet, shmem_fence before a flag, or put-with-signal), and let the other PE wait: a barrier, \
         a wait on the flag or signal, a lock; if the program does both, the put may be that of a later round: let its PE \
         wait for the other one as well (a barrier, a flag back)"
    } else {
        "synchronise the PEs between both accesses: a barrier or sync, a flag and a wait, a lock"
    }
}

/// The bytes that both accesses touch.
pub(crate) fn object(node: &RaceNode, symbols: &ProgramSymbols, place: SymmetricPlace, bytes: usize) -> String {
    let pe = node.pes[place.pe];
    let count = if bytes == 1 { "1 byte".to_owned() } else { format!("{bytes} bytes") };
    let unknown = || format!("{count} of symmetric memory of PE {pe}");
    match place.segment {
        MemoryPart::Statics => {
            let address = (node.loaded.statics.0 - node.loaded.bias + place.offset) as u64;
            let Some((name, offset)) = symbols.symbol(address) else { return unknown() };
            let elements = arrays::at(address - offset).and_then(|array| array.touched(&name, offset, bytes as u64));
            let touched = match (elements, offset) {
                (Some(elements), _) => format!("{}, {elements}", numbered(offset as usize, bytes)),
                (None, 0) => count,
                (None, _) => numbered(offset as usize, bytes),
            };
            // The variable keeps its own name: users leave reports out by it, and equal races are known by it.
            format!("`{name}` of PE {pe} ({touched})")
        }
        MemoryPart::Heap => {
            let blocks = node.blocks.lock();
            match blocks.range(..=place.offset).next_back().map(|(&start, &block)| (start, block)) {
                Some((start, (size, site))) if place.offset < start + size => format!(
                    "{} of the block of {size} bytes of PE {pe}, allocated at {}",
                    numbered(place.offset - start, bytes),
                    symbols.call(site.pc).told
                ),
                _ => unknown(),
            }
        }
    }
}

/// Bytes of a variable or block by their numbers, which a reader does not take for those of elements.
fn numbered(first: usize, bytes: usize) -> String {
    match bytes {
        1 => format!("byte {first}"),
        _ => format!("bytes {first} to {}", first + bytes - 1),
    }
}
