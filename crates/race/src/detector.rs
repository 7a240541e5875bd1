//! One PE's view: its calls and accesses go in, races come out.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use parking_lot::Mutex;

use crate::access::{Access, AccessKind, Site};
use crate::clock::{Clock, Column, Stream};
use crate::memory::{SharedState, SymmetricPlace, mix};
use crate::pending::{Buffer, Completion, LentBuffers, RequestedCall};
use crate::signals::SignalledPut;

/// A put of at most so many bytes publishes each of its words, so that a wait on one of them finds who has put it.
const SHORT: usize = 64;
/// A meeting's clocks are used again after so many meetings. Two would do where all members wait for all.
const ROUNDS: u32 = 4;

/// Two accesses that nothing orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Race {
    /// The access that was noticed first.
    pub earlier: Access,
    /// The other one.
    pub later: Access,
    /// The first byte that both touch; none if it is in private memory.
    pub place: Option<SymmetricPlace>,
    /// How many bytes from there are known to be touched by both.
    pub bytes: usize,
}

/// A collective call that the PE is in.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct CollectiveMeeting(u64);

impl CollectiveMeeting {
    /// As a number that is not 0, for C.
    pub fn number(self) -> u64 {
        self.0 | 1 << 63
    }

    /// The meeting with this number.
    pub fn of_number(number: u64) -> CollectiveMeeting {
        CollectiveMeeting(number & !(1 << 63))
    }
}

/// One PE.
#[derive(Debug)]
pub struct Detector<'m> {
    pub(crate) me: usize,
    pub(crate) state: SharedState<'m>,
    /// The number of the last operation that was issued; its time in all columns but the program's.
    issued: AtomicU32,
    /// The number of the last operation before the last fence, by stream.
    fenced: [AtomicU32; 2],
    pub(crate) pending: LentBuffers,
    /// The collectives that have returned at once, by the numbers of their requests.
    pub(crate) requests: Mutex<HashMap<u64, RequestedCall>>,
    /// How often the members with this fingerprint have met.
    rounds: Mutex<HashMap<u64, u32>>,
    /// Whether there are PEs on other nodes, of whose synchronisation nothing is known.
    scattered: bool,
}

impl<'m> Detector<'m> {
    /// The PE with this number on the node.
    pub fn new(me: usize, scattered: bool, state: SharedState<'m>) -> Detector<'m> {
        state.clock(me).raise(me, Column::Program, me, 1);
        Detector {
            me,
            state,
            issued: AtomicU32::new(0),
            fenced: [AtomicU32::new(0), AtomicU32::new(0)],
            pending: LentBuffers::new(),
            requests: Mutex::new(HashMap::new()),
            rounds: Mutex::new(HashMap::new()),
            scattered,
        }
    }

    /// The memory that it shares with others.
    pub fn shared(&self) -> &SharedState<'m> {
        &self.state
    }

    fn clock(&self) -> Clock<'m> {
        self.state.clock(self.me)
    }

    pub(crate) fn now(&self) -> u32 {
        self.clock().time(self.me, Column::Program, self.me)
    }

    /// Later accesses of the program are no part of what it has published.
    fn tick(&self) {
        let word = self.state.shape.index(self.me, Column::Program, self.me);
        self.clock().words[word].fetch_add(1, Relaxed);
    }

    pub(crate) fn issue(&self) -> u32 {
        self.issued.fetch_add(1, Relaxed) + 1
    }

    /// The program accesses memory itself, or by a call that is over when it returns.
    #[inline]
    pub fn access(&self, place: SymmetricPlace, len: usize, kind: AccessKind, site: Site) -> Option<Race> {
        self.touch(place, len, kind, Column::Program, self.now(), site)
    }

    /// The program accesses its own memory at this address, private or not, where an operation may be under way.
    #[inline]
    pub fn buffer(&self, address: usize, len: usize, kind: AccessKind, site: Site) -> Option<Race> {
        let clash = self.pending.clash(address, len, kind)?;
        let column = match clash.until {
            Completion::Quiet(stream) => Column::Pulled(stream),
            Completion::Request(_) => Column::Requested,
        };
        let access = |kind, column, site| Access { pe: self.me, time: 0, column, kind, mask: 0xff, site };
        Some(Race {
            earlier: access(clash.kind, column, clash.site),
            later: access(kind, Column::Program, site),
            place: None,
            bytes: clash.bytes.end.min(address + len) - clash.bytes.start.max(address),
        })
    }

    pub(crate) fn touch(
        &self,
        place: SymmetricPlace,
        len: usize,
        kind: AccessKind,
        column: Column,
        time: u32,
        site: Site,
    ) -> Option<Race> {
        let (clock, mut race) = (self.clock(), None);
        for (offset, cell, mask) in self.state.cells(place, len) {
            let new = Access { pe: self.me, time, column, kind, mask, site };
            let conflict = cell.record(new, |old| self.is_ordered(&clock, old, &new, place.pe));
            if let (Some(conflict), None) = (conflict, &race) {
                let skip = (conflict.mask >> (offset % 8)).trailing_zeros() as usize;
                race = Some(Race {
                    earlier: conflict.earlier,
                    later: conflict.later,
                    place: Some(SymmetricPlace { offset: offset + skip, ..place }),
                    bytes: conflict.mask.count_ones() as usize,
                });
            }
        }
        race
    }

    /// Whether an earlier access is over, as far as this PE knows.
    fn is_ordered(&self, clock: &Clock<'_>, old: &Access, new: &Access, owner: usize) -> bool {
        if old.pe != self.me {
            return old.time <= clock.time(old.pe, old.column, owner);
        }
        match old.column {
            // The buffers of operations under way are watched by address.
            Column::Program | Column::Pulled(_) | Column::Requested => true,
            // A PE's put is not over for its own loads and gets before a quiet. Puts after puts to the same place are usual: a
            // benchmark's window, or a flag that counts.
            Column::Sent(_) => {
                let looks = new.column != Column::Sent(Stream::Default) && new.column != Column::Sent(Stream::Other);
                !looks || new.kind == AccessKind::Atomic || old.time <= clock.time(self.me, old.column, owner)
            }
        }
    }

    /// Publishes the knowledge of this PE to `owner` on a stream, with its own puts to that PE before the last fence.
    fn publish(&self, number: u64, ordered: Option<(Stream, usize)>) {
        let clock = self.clock();
        self.state.in_bucket(number, |bucket| {
            bucket.join(&clock);
            if let Some((stream, owner)) = ordered {
                let fenced = self.fenced[(stream == Stream::Other) as usize].load(Relaxed);
                bucket.raise(self.me, Column::Sent(stream), owner, fenced);
            }
        });
    }

    fn learn(&self, number: u64) {
        let clock = self.clock();
        self.state.in_bucket(number, |bucket| clock.join(&bucket));
    }

    /// A put, or an atomic without a result.
    pub fn put(&self, stream: Stream, to: SymmetricPlace, len: usize, kind: AccessKind, site: Site) -> Option<Race> {
        let number = self.issue();
        let long = len > SHORT;
        if !long {
            for word in words(to, len) {
                self.publish(word, Some((stream, to.pe)));
            }
            self.tick();
        }
        let kind = if long && kind == AccessKind::Write { AccessKind::LongWrite } else { kind };
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
        let put =
            SignalledPut { signal: signal.word(), data: to.name(), len: len as u64, pe: self.me as u32, time: number };
        // A wait that finds the put on the list finds its accesses too.
        let race = self.touch(to, len, AccessKind::Write, Column::Sent(stream), number, site);
        if let Some(dropped) = self.state.signals[to.pe].add(put) {
            self.forget_data(&dropped);
        }
        race.or(self.put(stream, signal, 8, AccessKind::Atomic, site))
    }

    fn forget_data(&self, put: &SignalledPut) {
        for (_, cell, _) in self.state.cells(SymmetricPlace::named(put.data), put.len as usize) {
            cell.forget(|old| {
                old.pe == put.pe as usize && old.time == put.time && matches!(old.column, Column::Sent(_))
            });
        }
    }

    /// A nonblocking get reads from there until the next quiet.
    pub fn pull(&self, stream: Stream, from: SymmetricPlace, len: usize, site: Site) -> Option<Race> {
        self.touch(from, len, AccessKind::Read, Column::Pulled(stream), self.issue(), site)
    }

    /// A nonblocking operation uses a local buffer until the next quiet; `place` if it is symmetric.
    pub fn lend(
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
        let race = place.and_then(|place| self.touch(place, len, kind, Column::Pulled(stream), self.issue(), site));
        let until = Completion::Quiet(stream);
        self.pending.add(Buffer { bytes: address..address.saturating_add(len), kind, until, site });
        race
    }

    /// An atomic that returns a value: it learns what others have published there, and publishes if it `updates`.
    pub fn fetch(&self, stream: Stream, place: SymmetricPlace, len: usize, updates: bool, site: Site) -> Option<Race> {
        self.observe(place, len);
        if updates {
            for word in words(place, len) {
                self.publish(word, Some((stream, place.pe)));
            }
            self.tick();
        }
        let kind = if updates { AccessKind::Atomic } else { AccessKind::AtomicRead };
        self.touch(place, len, kind, Column::Program, self.now(), site)
    }

    /// The value of these bytes has been awaited, or fetched: whoever made it is in the past, with all it had published.
    pub fn observe(&self, place: SymmetricPlace, len: usize) {
        let clock = self.clock();
        for word in words(place, len) {
            self.learn(word);
            // Also where another PE's signal is fetched: its data was there before it.
            for put in self.state.signals[place.pe].take(word) {
                self.forget_data(&put);
            }
        }
        for (_, cell, mask) in self.state.cells(place, len) {
            cell.forget(|old| {
                // A put of this PE to itself is over too when its value has been awaited.
                let written = old.pe != self.me || matches!(old.column, Column::Sent(_));
                let observed = written && old.mask & mask != 0 && !matches!(old.kind, AccessKind::Read);
                // Such writes have published nothing at this word.
                if observed
                    && (old.kind == AccessKind::LongWrite
                        || old.column == Column::Program && old.kind == AccessKind::Write)
                {
                    clock.join(&self.state.clock(old.pe));
                }
                observed
            });
        }
        if self.scattered {
            self.learn_from_all();
        }
    }

    /// A value from another node may carry any knowledge.
    pub fn learn_from_all(&self) {
        let clock = self.clock();
        (0..self.state.shape.pes).filter(|&pe| pe != self.me).for_each(|pe| clock.join(&self.state.clock(pe)));
    }

    /// Later puts to a PE come after earlier ones to it.
    pub fn fence(&self, stream: Stream) {
        self.fenced[(stream == Stream::Other) as usize].store(self.issued.load(Relaxed), Relaxed);
    }

    /// All operations of the stream are over. Returns whether buffers of the other one are still lent.
    pub fn quiet(&self, stream: Stream) -> bool {
        self.quiet_to(stream, 0..self.state.shape.pes);
        let number = self.issued.load(Relaxed);
        self.clock().raise(self.me, Column::Pulled(stream), self.me, number);
        self.end_buffers(stream)
    }

    /// No local buffer of the stream is in use any more. Returns whether other buffers are.
    pub fn end_buffers(&self, stream: Stream) -> bool {
        self.pending.end(|buffer| buffer.until == Completion::Quiet(stream))
    }

    /// The sources of nonblocking puts are not in use any more. Returns whether other buffers are.
    pub fn end_sources(&self) -> bool {
        for stream in [Stream::Default, Stream::Other] {
            self.clock().raise(self.me, Column::Pulled(stream), self.me, self.issued.load(Relaxed));
        }
        self.pending.end(|buffer| matches!(buffer.until, Completion::Quiet(_)) && buffer.kind == AccessKind::Read)
    }

    /// The puts of the stream to these PEs are over.
    pub fn quiet_to(&self, stream: Stream, owners: impl IntoIterator<Item = usize>) {
        let (clock, number) = (self.clock(), self.issued.load(Relaxed));
        for owner in owners {
            clock.raise(self.me, Column::Sent(stream), owner, number);
        }
    }

    /// The PE enters a collective call of the members with this fingerprint, whose knowledge others get if it `tells`.
    pub fn enter(&self, members: u64, tells: bool) -> CollectiveMeeting {
        let round = {
            let mut rounds = self.rounds.lock();
            let round = rounds.entry(members).or_insert(0);
            *round = round.wrapping_add(1);
            *round
        };
        let number = (mix(members ^ 0x6d65_6574) ^ u64::from(round % ROUNDS)) & !(1 << 63);
        if tells {
            self.publish(number, None);
            self.tick();
        }
        CollectiveMeeting(number)
    }

    /// The PE leaves it.
    pub fn leave(&self, meeting: CollectiveMeeting) {
        self.learn(meeting.0);
        if self.scattered {
            self.learn_from_all();
        }
    }

    /// The PE has got a lock.
    pub fn acquire(&self, lock: u64) {
        self.learn(mix(lock ^ 0x6c6f_636b));
        if self.scattered {
            self.learn_from_all();
        }
    }

    /// The PE gives a lock back, after a quiet.
    pub fn release(&self, lock: u64) {
        self.publish(mix(lock ^ 0x6c6f_636b), None);
        self.tick();
    }

    /// Nobody has accessed these bytes: they belong to no block any more.
    pub fn forget(&self, place: SymmetricPlace, len: usize) {
        self.state.cells(place, len).for_each(|(_, cell, _)| cell.forget(|_| true));
    }
}

/// The words that `len` bytes touch.
fn words(place: SymmetricPlace, len: usize) -> impl Iterator<Item = u64> {
    let end = place.offset + len;
    (place.offset / 8..end.div_ceil(8)).map(move |word| SymmetricPlace { offset: word * 8, ..place }.word())
}

/// A fingerprint of the members of a team or active set, by their world numbers.
pub fn fingerprint(members: impl IntoIterator<Item = u32>) -> u64 {
    members.into_iter().fold(0x7465_616d, |print, pe| mix(print ^ u64::from(pe) ^ print << 7))
}
