//! The ledger of one thread: a file that is mapped into memory, in which only this thread writes.

mod meetings;
mod peers;
mod series;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::Release};

use oxshmem_os::{fortran_module, stack};
use oxshmem_profile::layout::{self, MODULES, RoutineKind, SITES, Table};
use oxshmem_profile::layout::{head, module, site};

use crate::ledger_file::{boot, host, mapped};
use crate::library::{CallerLine, WrappedLibrary};
use crate::modules;
use crate::routine::{Begun, WrappedRoutine};
use crate::teams::TeamEntry;
use crate::ticks;

/// Calls of a routine that take fewer ticks are timed once in a while only, so that the clock does not cost more than the call.
const SHORT: u64 = 2000;
/// At most so many calls pass untimed in between: 31 in the mean.
const MOST_PASSED: u32 = 63;
/// Ticks between two comparisons of both clocks.
const COMPARE: u64 = 1 << 27;
/// Records of a hashed table that are looked at.
const PROBES: usize = 8;

/// A call as it was timed.
#[derive(Clone, Copy)]
pub(crate) struct Timing {
    /// The end of the call.
    pub(crate) end: u64,
    /// How long it took.
    pub(crate) ticks: u64,
    /// For how many calls it stands.
    pub(crate) weight: u64,
}

impl Timing {
    /// The time of all calls for which it stands. Calls pass untimed after a short one, so they count as short: where PEs outnumber
    /// processors, one that has lost its processor would otherwise stand for up to 64.
    pub(crate) fn total(&self) -> u64 {
        self.ticks + self.of_others()
    }

    /// The part of the total that is not the timed call.
    fn of_others(&self) -> u64 {
        (self.weight - 1) * self.ticks.min(SHORT)
    }
}

/// One thread writes, so this is a load and a store.
#[inline]
fn add(word: &AtomicU64, value: u64) {
    word.store(word.load(Relaxed).wrapping_add(value), Relaxed);
}

/// The ledger of the calling thread.
pub(crate) struct OpenLedger {
    /// The file. The kernel and readers look at it at any time, so words are atomics. Only events need an order: each is
    /// complete before it is counted.
    words: &'static [AtomicU64],
    peers: Table,
    events: Table,
    /// The place in the ring of the next event.
    next_event: usize,
    /// Routine and caller of each site.
    sites: Box<[(usize, usize)]>,
    /// The time that a measurement adds to itself.
    cost: u64,
    random: u32,
    line: CallerLine,
    /// The code of the Fortran module: a call from there is made where the program calls the module.
    module: &'static Range<usize>,
    /// Bytes and calls since the last timed call.
    pending: (u64, u64),
    /// The team that was found last: name, age of the registry, entry.
    last: Option<(usize, u64, &'static TeamEntry)>,
}

impl OpenLedger {
    /// Makes a ledger in `folder`.
    pub(crate) fn create(
        folder: &Path,
        library: &WrappedLibrary,
        thread: u64,
        room: usize,
        since: (u64, u64),
    ) -> std::io::Result<Self> {
        let (pe, pes) = library.place();
        let (peers, events) = (layout::peers(pes as usize), layout::events(pes as usize, room));
        let path = folder.join(format!("pe.{pe}.{thread}.{}", layout::ENDING));
        let ledger = Self {
            words: mapped(&path, events.end())?,
            peers,
            events,
            next_event: 0,
            sites: vec![(0, 0); SITES.records].into_boxed_slice(),
            cost: ticks::cost(),
            random: pe.wrapping_mul(0x9e37_79b9) | 1,
            line: library.line(),
            module: fortran_module::code(),
            pending: (0, 0),
            last: None,
        };
        for (place, value) in [
            (head::PE, pe.into()),
            (head::PES, pes.into()),
            (head::THREAD, thread),
            (head::PID, std::process::id().into()),
            (head::BEGIN, since.0),
            (head::BEGIN + 1, since.1),
            (head::LAST, since.0),
            (head::STRIDE, 1),
            (head::RING, room as u64),
            (head::NODE, library.node().into()),
            (head::INTERVAL, 20),
        ] {
            ledger.set(place, value);
        }
        ledger.text(head::HOST, head::HOST_WORDS, &host());
        let [first, second] = boot();
        ledger.set(head::BOOT, first);
        ledger.set(head::BOOT + 1, second);
        ledger.compare_clocks();
        ledger.list_modules();
        ledger.set(head::MAGIC, layout::MAGIC);
        Ok(ledger)
    }

    #[inline]
    fn get(&self, place: usize) -> u64 {
        self.words[place].load(Relaxed)
    }

    #[inline]
    fn set(&self, place: usize, value: u64) {
        self.words[place].store(value, Relaxed);
    }

    #[inline]
    fn add(&self, place: usize, value: u64) {
        add(&self.words[place], value);
    }

    /// A record of a table whose records have `N` words: one look at the bounds for all of them.
    #[inline]
    fn record<const N: usize>(&self, table: Table, number: usize) -> &'static [AtomicU64; N] {
        let at = table.at(number);
        self.words[at..at + N].first_chunk().expect("so many words")
    }

    fn text(&self, place: usize, words: usize, text: &[u8]) {
        let text = &text[..text.len().min(words * 8 - 1)];
        for (number, part) in text.chunks(8).enumerate() {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.set(place + number, u64::from_ne_bytes(word));
        }
    }

    fn compare_clocks(&self) {
        let (ticks, time) = ticks::both();
        self.set(head::LATEST, ticks);
        self.set(head::LATEST + 1, time);
    }

    /// Writes which files are loaded where.
    pub(crate) fn list_modules(&self) {
        for (number, found) in modules::loaded().iter().take(MODULES.records).enumerate() {
            let at = MODULES.at(number);
            self.set(at, found.code.0 as u64);
            self.set(at + 1, found.code.1 as u64);
            self.set(at + 2, found.bias as u64);
            self.text(at + module::PATH, MODULES.width - module::PATH, &found.path);
            if number == 0 {
                self.set(head::STATICS, found.data.0 as u64);
                self.set(head::STATICS + 1, found.data.1 as u64);
            }
        }
    }

    /// Writes that the PE has left the job.
    pub(crate) fn end(&self) {
        self.list_modules();
        self.compare_clocks();
        self.set(head::ENDED, 1);
    }

    /// Whether the PE has left the job.
    pub(crate) fn has_ended(&self) -> bool {
        self.get(head::ENDED) != 0
    }

    /// Takes back that the PE has left the job: the library begins another life.
    pub(crate) fn go_on(&self) {
        self.set(head::ENDED, 0);
    }

    /// Notes the first address of the heap, and how far it has ever been used: each life of the library has a heap of its own.
    pub(crate) fn heap(&self, address: u64, high_water: u64) {
        self.set(head::HEAP_HIGH_WATER, self.get(head::HEAP_HIGH_WATER).max(high_water));
        if self.get(head::HEAP) == 0 {
            self.set(head::HEAP, address);
        }
    }

    /// Counts a call, and decides whether it is timed.
    #[inline]
    pub(crate) fn begin(&mut self, routine: &'static WrappedRoutine, caller: usize) -> Begun {
        let Some(number) = self.site(routine, caller) else {
            self.add(head::UNCOUNTED, 1);
            return Begun::default();
        };
        let record: &[_; SITES.width] = self.record(SITES, number);
        add(&record[site::CALLS], 1);
        self.pending.1 += 1;
        let left = record[site::LEFT].load(Relaxed);
        let start = if left > 0 {
            record[site::LEFT].store(left - 1, Relaxed);
            0
        } else {
            ticks::now()
        };
        let (site, outer) = (number as u32 + 1, self.get(head::OPEN) as u32);
        self.set(head::OPEN, site.into());
        Begun { site, outer, start }
    }

    /// The number of a routine's record for a place of the program.
    #[inline]
    fn site(&mut self, routine: &'static WrappedRoutine, caller: usize) -> Option<usize> {
        // An interpreter calls from a few places of its own, whatever the line.
        let caller = self.line.address().unwrap_or(caller);
        let caller =
            if self.module.contains(&caller) { stack::caller_of(self.module).unwrap_or(caller) } else { caller };
        let key = (std::ptr::from_ref(routine) as usize, caller);
        let first = ((key.0 >> 4) ^ key.1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        for probe in 0..PROBES {
            let number = (first + probe) % SITES.records;
            if self.sites[number] == key {
                return Some(number);
            }
            if self.sites[number].0 == 0 {
                self.sites[number] = key;
                self.new_site(number, routine, caller);
                return Some(number);
            }
        }
        None
    }

    #[cold]
    fn new_site(&self, number: usize, routine: &WrappedRoutine, caller: usize) {
        let at = SITES.at(number);
        self.set(at + site::CALLER, caller as u64);
        self.text(at + site::NAME, site::NAME_WORDS, routine.name().to_bytes());
        if let Some(line) = self.line.text() {
            self.text(at + site::LINE, site::LINE_WORDS, line.to_bytes());
        }
        self.set(at + site::CATEGORY, routine.category() as u64 + 1);
    }

    /// Ends the measurement of a call that moved so many bytes; nothing if it was not timed.
    #[inline]
    pub(crate) fn finish(
        &mut self,
        call: Begun,
        category: RoutineKind,
        bytes: u64,
        peer: Option<u32>,
    ) -> Option<Timing> {
        let record = self.record(SITES, (call.site as usize).checked_sub(1)?);
        // The call around this one is under way again.
        self.set(head::OPEN, call.outer.into());
        add(&record[site::BYTES], bytes);
        self.pending.0 += bytes;
        if call.start == 0 {
            return None;
        }
        Some(self.timed(call, record, category, bytes, peer))
    }

    /// This is a function of its own, so that calls that are not timed save no registers for it.
    #[inline(never)]
    fn timed(
        &mut self,
        call: Begun,
        record: &[AtomicU64; SITES.width],
        category: RoutineKind,
        bytes: u64,
        peer: Option<u32>,
    ) -> Timing {
        let end = ticks::now();
        let took = end.saturating_sub(call.start).saturating_sub(self.cost);
        let timing = Timing { end, ticks: took, weight: 1 + record[site::PASSED].load(Relaxed) };
        add(&record[site::TICKS], timing.total());
        add(&record[site::TIMED], 1);
        if took > record[site::LONGEST].load(Relaxed) {
            record[site::LONGEST].store(took, Relaxed);
        }
        let traced = self.events.records > 0;
        // The members of a team keep the same meetings, so all of those are timed. So are all waits: among waits that find
        // their value at once, a long one counts only if it is timed.
        let each = matches!(category, RoutineKind::Collective | RoutineKind::Waiting);
        let sparse = took < SHORT && !traced && !each;
        let pass = if sparse { u64::from(self.next_random() & MOST_PASSED) } else { 0 };
        record[site::LEFT].store(pass, Relaxed);
        record[site::PASSED].store(pass, Relaxed);
        self.set(head::LAST, end);
        self.in_series(category, &timing);
        if end.wrapping_sub(self.get(head::LATEST)) > COMPARE {
            self.compare_clocks();
        }
        if traced {
            self.event(call, took, bytes, peer);
        }
        timing
    }

    fn next_random(&mut self) -> u32 {
        self.random = self.random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.random >> 8
    }

    fn event(&mut self, call: Begun, took: u64, bytes: u64, peer: Option<u32>) {
        let record: &[_; 4] = self.record(self.events, self.next_event);
        let site_and_peer = u64::from(call.site - 1) | u64::from(peer.map_or(0, |pe| pe + 1)) << 32;
        for (word, value) in record.iter().zip([call.start, took, site_and_peer, bytes]) {
            word.store(value, Relaxed);
        }
        let happened = &self.words[head::EVENTS];
        happened.store(happened.load(Relaxed) + 1, Release);
        self.next_event = if self.next_event + 1 == self.events.records { 0 } else { self.next_event + 1 };
    }
}
