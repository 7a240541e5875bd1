//! Puts, gets, atomics: what each does to memory, and what it tells others.

use crate::access::{Access, AccessKind, AtomicType, Site};
use crate::clock::{Clock, Column, Milestone, StrandName, Stream};
use crate::detector::{Detector, Race, Strand};
use crate::pending::{AwaitedFetch, Buffer, Completion};
use crate::place::SymmetricPlace;
use crate::published::WordPart;
use crate::published::mix;
use crate::signals::SignalledPut;

/// A put of at most so many bytes publishes each of its words, so that a wait on one of them finds the strand that has put it.
const SHORT: usize = 64;
/// The knowledge published by a longer put is joined by that of the put so many operations later.
const LONG_ROUNDS: u32 = 8;
/// Nonblocking atomics that are remembered until a quiet.
const MOST_AWAITED: usize = 256;

/// An atomic that returns a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchedAtomic {
    /// The context's stream.
    pub stream: Stream,
    /// Its type.
    pub of: AtomicType,
    /// Whether it changes the variable.
    pub updates: bool,
    /// Whether the value comes with a quiet only.
    pub nonblocking: bool,
}

impl Detector<'_> {
    pub(crate) fn forget_data(&self, put: &SignalledPut) {
        for (_, cell, _) in self.state.cells(SymmetricPlace::named(put.data), put.len as usize) {
            cell.forget(|old| is_data(old, put));
        }
    }
}

impl Strand<'_, '_> {
    /// Publishes the knowledge of this strand at a number.
    pub(crate) fn publish(&self, number: u64) {
        let clock = self.clock();
        self.pe.state.published.at_number(number, |published| published.join(&clock));
    }

    pub(crate) fn learn(&self, number: u64) {
        let clock = self.clock();
        self.pe.state.published.at_number(number, |published| clock.join(&published));
    }

    /// Adds to a published clock what is on the way to a PE on a stream: the knowledge of this strand, with the operations to that PE
    /// before the last fence.
    fn send(&self, published: &Clock<'_>, stream: Stream, owner: usize) {
        let clock = self.clock();
        published.join(&clock);
        for name in self.pe.names() {
            let fenced = clock.passed(name, Milestone::Fenced(stream));
            published.raise(name, Column::Sent(stream), owner, fenced);
        }
    }

    /// Publishes at the words of a write.
    fn publish_at(&self, stream: Stream, place: SymmetricPlace, len: usize) {
        for word in WordPart::all(place, len) {
            self.pe.state.published.at_word(word, |published| self.send(&published, stream, place.pe));
        }
        self.tick();
    }

    /// A put, or an atomic without a result.
    pub fn put(&self, stream: Stream, to: SymmetricPlace, len: usize, kind: AccessKind, site: Site) -> Option<Race> {
        let number = self.issue();
        let is_long = len > SHORT && kind == AccessKind::Write;
        if is_long {
            let number = long_put(self.name, number);
            self.pe.state.published.at_number(number, |published| self.send(&published, stream, to.pe));
            self.tick();
        } else {
            self.publish_at(stream, to, len)
        }
        let kind = if is_long { AccessKind::LongWrite } else { kind };
        self.touch(to, len, kind, Column::Sent(stream), number, site)
    }

    /// A put whose signal comes after its data.
    pub fn put_signal(
        &self,
        stream: Stream,
        to: SymmetricPlace,
        len: usize,
        signal: SymmetricPlace,
        site: Site,
    ) -> Option<Race> {
        let number = self.issue();
        let put = SignalledPut { signal: signal.word(), data: to.name(), len: len as u64, by: self.name, time: number };
        // A wait that finds the put on the list finds its accesses too.
        let race = self.touch(to, len, AccessKind::Write, Column::Sent(stream), number, site);
        if let Some(dropped) = self.pe.state.signals[to.pe].add(put) {
            self.pe.forget_data(&dropped);
        }
        race.or(self.put(stream, signal, 8, AccessKind::SIGNAL, site))
    }

    /// A nonblocking get reads from there until the next quiet.
    pub fn pull(&self, stream: Stream, from: SymmetricPlace, len: usize, site: Site) -> Option<Race> {
        self.touch(from, len, AccessKind::Read, Column::Pulled(stream), self.issue(), site)
    }

    /// A nonblocking operation uses a local buffer until the next quiet; `place` if it is symmetric.
    pub fn begin_buffer(
        &self,
        stream: Stream,
        address: usize,
        place: Option<SymmetricPlace>,
        len: usize,
        kind: AccessKind,
        site: Site,
    ) -> Option<Race> {
        if len == 0 {
            return None;
        }
        let number = self.issue();
        let race = place.and_then(|place| self.touch(place, len, kind, Column::Pulled(stream), number, site));
        let (bytes, until) = (address..address.saturating_add(len), Completion::Quiet(stream));
        self.pe.pending.add(Buffer { bytes, kind, until, site, by: self.name, first: number, number });
        race
    }

    /// An atomic that returns a value: it learns what others have published there, and publishes if it updates.
    pub fn fetch(&self, call: FetchedAtomic, place: SymmetricPlace, len: usize, site: Site) -> Option<Race> {
        let FetchedAtomic { stream, of, updates, nonblocking } = call;
        let kind = if updates { AccessKind::Atomic(of) } else { AccessKind::AtomicRead(of) };
        let race = if nonblocking {
            self.touch(place, len, kind, Column::Pulled(stream), self.issue(), site)
        } else {
            self.touch(place, len, kind, Column::Program, self.now(), site)
        };
        if nonblocking {
            self.await_fetch(AwaitedFetch { stream, place, len })
        } else {
            self.observe(place, len)
        }
        if updates {
            self.publish_at(stream, place, len);
        }
        race
    }

    /// An atomic of the language, whose caller learns by [`Strand::observe`] if its order acquires.
    pub fn atomic(&self, place: SymmetricPlace, len: usize, updates: bool, site: Site) -> Option<Race> {
        let of = AtomicType::Language(len as u8);
        let kind = if updates { AccessKind::Atomic(of) } else { AccessKind::AtomicRead(of) };
        let race = self.touch(place, len, kind, Column::Program, self.now(), site);
        if updates {
            self.publish_at(Stream::Default, place, len);
        }
        race
    }

    fn await_fetch(&self, fetch: AwaitedFetch) {
        let mut awaited = self.pe.awaited.lock();
        if awaited.contains(&fetch) {
            return;
        }
        if awaited.len() < MOST_AWAITED {
            return awaited.push(fetch);
        }
        drop(awaited);
        self.observe(fetch.place, fetch.len);
    }

    /// This strand has heard the signal of a put: its data is over for this one, and for those that know of it.
    fn hear(&self, put: &SignalledPut, word: WordPart) {
        let (now, data) = (self.now(), SymmetricPlace::named(put.data));
        // Other strands may hear the same signal: one that finds the data heard finds this knowledge at the word.
        self.pe
            .state
            .published
            .at_word(word, |published| published.raise(self.name, Column::Program, self.name.pe, now));
        let heard = |old: &Access| {
            is_data(old, put).then_some(Access { by: self.name, time: now, column: Column::Heard, ..*old })
        };
        self.pe.state.cells(data, put.len as usize).for_each(|(_, cell, _)| cell.replace(heard));
        self.tick();
    }

    /// Whether all puts around this place whose signals were heard are over for a new access, as far as this strand knows from elsewhere.
    pub(crate) fn knows_of_put(&self, clock: &Clock<'_>, new: &Access, place: SymmetricPlace) -> bool {
        let is_over = |put: &SignalledPut| {
            let is_known = |&stream: &Stream| put.time <= clock.time(put.by, Column::Sent(stream), place.pe);
            [Stream::Default, Stream::Other].iter().any(is_known) || self.may_follow(put, new)
        };
        let is_around = |put: &SignalledPut| {
            let data = SymmetricPlace::named(put.data);
            let bytes = data.offset & !7..data.offset + put.len as usize;
            data.pe == place.pe && data.segment == place.segment && bytes.contains(&place.offset)
        };
        self.pe.state.signals[place.pe].heard(is_around).iter().all(is_over)
    }

    /// Puts after puts of the same PE to the same place are usual.
    fn may_follow(&self, put: &SignalledPut, new: &Access) -> bool {
        matches!(new.column, Column::Sent(_))
            && put.by.pe == self.name.pe
            && put.time <= self.clock().passed(put.by, Milestone::Issued)
    }

    /// This strand has awaited or fetched the value of these bytes: the write of the value is over, and the strand learns all
    /// that its writer had published.
    pub fn observe(&self, place: SymmetricPlace, len: usize) {
        let (clock, state) = (self.clock(), &self.pe.state);
        // Before the words: what another strand has found in a cell and taken out is published at the word.
        for (offset, cell, mask) in state.cells(place, len) {
            cell.forget(|old| {
                // A put of this PE to itself is over too when its value has been awaited.
                let written = old.by != self.name || matches!(old.column, Column::Sent(_));
                let observed = written && old.mask & mask != 0 && old.kind != AccessKind::Read;
                if observed {
                    self.learn_from(old, WordPart::of(SymmetricPlace { offset, ..place }, mask));
                }
                observed
            });
        }
        let signals = &state.signals[place.pe];
        for word in WordPart::all(place, len) {
            // Also where another PE's signal is fetched: its data was there before it.
            for (index, put) in signals.unheard(word.place.word()) {
                clock.pass(put.by, Milestone::Heard, put.time);
                self.hear(&put, word);
                // After the work: a strand that does not find the put any more relies on it.
                signals.mark_heard(index, &put);
            }
            // After the puts: a strand that heard them before this one has published its knowledge here.
            state.published.learn_at_word(word, &clock);
        }
        if self.pe.scattered {
            self.learn_from_all();
        }
    }

    /// The value of a write that has published nothing at its word has been observed: this strand learns what the writer knew
    /// then.
    fn learn_from(&self, write: &Access, word: WordPart) {
        if !write.publishes_nothing() {
            return;
        }
        let (state, is_long) = (&self.pe.state, write.kind == AccessKind::LongWrite);
        let words = state.empty_clock();
        let known = Clock::of(state.shape, &words, state.used);
        if is_long {
            state.published.at_number(long_put(write.by, write.time), |published| known.join(&published))
        } else {
            // Knowledge that the writer has got from others between the store and now is not told apart from older knowledge.
            known.join_until(&state.clock(write.by), write.by, write.time)
        }
        self.clock().join(&known);
        state.published.at_word(word, |published| published.join(&known));
    }
}

/// Whether an access is that of a put with a signal to its data.
fn is_data(access: &Access, put: &SignalledPut) -> bool {
    access.by == put.by && access.time == put.time && matches!(access.column, Column::Sent(_))
}

/// The number under which a long put publishes, once for all its words.
fn long_put(by: StrandName, time: u32) -> u64 {
    mix(0x6c6f_6e67 ^ (by.pe as u64) << 32 ^ (by.strand as u64) << 48) ^ u64::from(time % LONG_ROUNDS)
}
