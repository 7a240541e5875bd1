//! One PE's view: its calls and accesses go in, races come out.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use parking_lot::Mutex;

use crate::access::{Access, AccessKind, Site};
use crate::clock::{Clock, Column, Milestone, StrandName};
use crate::memory::SharedState;
use crate::numbers::StrandTable;
use crate::pending::{AwaitedFetch, Buffer, Completion, EXTENTS, LentBuffers, LentExtent, RequestedCall};
use crate::place::SymmetricPlace;

/// How sure it is that two accesses do harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaceRank {
    /// Nothing orders them.
    Unordered,
    /// An answer shows that the earlier one was over; but the standard does not promise it.
    ByTheLetter,
}

/// Two accesses that nothing orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Race {
    /// The access that was noticed first.
    pub earlier: Access,
    /// The other one.
    pub later: Access,
    /// The first byte that both touch; none if it is in a local buffer.
    pub place: Option<SymmetricPlace>,
    /// The address of that byte, if it is in a local buffer.
    pub address: usize,
    /// How many bytes from there are known to be touched by both.
    pub bytes: usize,
    /// See [`RaceRank`].
    pub rank: RaceRank,
}

/// The loads and stores of a strand as cells remember them, so that the shim knows them again.
///
/// The same access again, or one that it covers, changes nothing as long as the cell holds its key with the present time. Other
/// strands change the cell when they take the access out, and raise the time when they have learnt it.
#[derive(Clone, Copy, Debug)]
pub struct ProgramMark<'m> {
    /// The present time of the strand's program: the upper half of a key.
    pub now: &'m AtomicU32,
    /// The lower half of a key, without kind and bytes.
    pub key: u32,
    /// A place without its site.
    pub place: u64,
}

/// One PE.
#[derive(Debug)]
pub struct Detector<'m> {
    pub(crate) me: usize,
    pub(crate) state: SharedState<'m>,
    pub(crate) pending: LentBuffers,
    /// The collectives that have returned at once, by the numbers of their requests.
    pub(crate) requests: Mutex<HashMap<u64, RequestedCall>>,
    /// How often the members with this fingerprint have met.
    pub(crate) rounds: Mutex<HashMap<u64, u32>>,
    /// Atomics whose values come with a quiet.
    pub(crate) awaited: Mutex<Vec<AwaitedFetch>>,
    /// Numbers of strands.
    pub(crate) strands: Mutex<StrandTable>,
    /// Whether there are PEs on other nodes, of whose synchronisation nothing is known.
    pub(crate) scattered: bool,
}

impl<'m> Detector<'m> {
    /// The PE with this number on the node.
    pub fn new(me: usize, scattered: bool, state: SharedState<'m>) -> Detector<'m> {
        let first = StrandName { pe: me, strand: 0 };
        state.used.fetch_max(1, Relaxed);
        state.clock(first).raise(first, Column::Program, me, 1);
        Detector {
            me,
            strands: Mutex::new(StrandTable::new(state.shape.strands)),
            state,
            pending: LentBuffers::new(),
            requests: Mutex::new(HashMap::new()),
            rounds: Mutex::new(HashMap::new()),
            awaited: Mutex::new(Vec::new()),
            scattered,
        }
    }

    /// The memory that it shares with others.
    pub fn shared(&self) -> &SharedState<'m> {
        &self.state
    }

    /// Whether there are buffers of operations under way.
    pub fn has_buffers(&self) -> bool {
        self.pending.any()
    }

    /// Extents that hold the buffers of all operations under way.
    pub fn lent(&self) -> &[LentExtent; EXTENTS] {
        self.pending.extents()
    }

    /// The strand with this number, which is the caller.
    pub fn strand(&self, strand: usize) -> Strand<'_, 'm> {
        Strand { pe: self, name: StrandName { pe: self.me, strand } }
    }

    /// The PE ends: no access is skipped any more because a cell remembers it.
    pub fn end(&self) {
        (0..self.state.strands()).for_each(|strand| self.strand(strand).tick());
    }

    /// Whether numbers of a strand have come to their end: what it has done since then counts as ordered as soon as any of it is.
    pub fn has_run_out(&self) -> bool {
        (0..self.state.strands()).any(|strand| self.strand(strand).has_run_out())
    }

    /// All strands that the PE has had.
    pub(crate) fn names(&self) -> impl Iterator<Item = StrandName> + use<'m> {
        let pe = self.me;
        (0..self.state.strands()).map(move |strand| StrandName { pe, strand })
    }
}

/// One strand of a PE, which calls and makes accesses.
#[derive(Clone, Copy, Debug)]
pub struct Strand<'d, 'm> {
    pub(crate) pe: &'d Detector<'m>,
    pub(crate) name: StrandName,
}

impl<'m> Strand<'_, 'm> {
    #[inline]
    pub(crate) fn clock(&self) -> Clock<'m> {
        self.pe.state.clock(self.name)
    }

    #[inline]
    pub(crate) fn now(&self) -> u32 {
        self.clock().time(self.name, Column::Program, self.name.pe)
    }

    fn has_run_out(&self) -> bool {
        self.now() == u32::MAX || self.clock().passed(self.name, Milestone::Issued) == u32::MAX
    }

    /// Later accesses of the program are no part of what it has published.
    pub(crate) fn tick(&self) {
        self.clock().advance(self.pe.state.shape.index(self.name, Column::Program, self.name.pe));
    }

    /// The number of an operation, which is its time in all columns but the program's.
    pub(crate) fn issue(&self) -> u32 {
        self.clock().advance(self.pe.state.shape.milestone(self.name, Milestone::Issued))
    }

    /// The parts that all loads and stores have in common which the strand makes now.
    #[inline]
    pub fn mark(&self) -> ProgramMark<'m> {
        let (clock, column, site) = (self.clock(), Column::Program, Site { pc: 0, call: 0 });
        let access = Access { by: self.name, time: 0, column, kind: AccessKind::Read, mask: 0, site };
        let now = clock.word(clock.shape.index(self.name, column, self.name.pe));
        ProgramMark { now, key: access.key() as u32, place: access.place() }
    }

    /// The program accesses memory itself, or by a call that is over when it returns.
    #[inline]
    pub fn access(&self, place: SymmetricPlace, len: usize, kind: AccessKind, site: Site) -> Option<Race> {
        self.touch(place, len, kind, Column::Program, self.now(), site)
    }

    /// The program accesses its own memory at this address, private or not, where an operation may be under way.
    #[inline]
    pub fn buffer(&self, address: usize, len: usize, kind: AccessKind, site: Site) -> Option<Race> {
        let clash = self.pe.pending.clash(address, len, kind)?;
        let column = match clash.until {
            Completion::Quiet(stream) => Column::Pulled(stream),
            Completion::Request(_) => Column::Requested,
        };
        let access = |by, kind, column, site| Access { by, time: 0, column, kind, mask: 0xff, site };
        let is_read = clash.kind == AccessKind::Read && column != Column::Requested;
        let heard =
            is_read && clash.number <= self.clock().passed(clash.by, Milestone::Heard) && self.was_heard(&clash);
        Some(Race {
            earlier: access(clash.by, clash.kind, column, clash.site),
            later: access(self.name, kind, Column::Program, site),
            place: None,
            address: clash.bytes.start.max(address),
            bytes: clash.bytes.end.min(address.saturating_add(len)) - clash.bytes.start.max(address),
            rank: if heard { RaceRank::ByTheLetter } else { RaceRank::Unordered },
        })
    }

    /// Whether the signals of all operations with this buffer have been heard. Those behind the signal of another put, and puts without a
    /// signal, may still read it.
    fn was_heard(&self, buffer: &Buffer) -> bool {
        // The data of a put with a signal has the number behind that of its buffer.
        let times = buffer.first.saturating_add(1)..=buffer.number.saturating_add(1);
        let lists = self.pe.state.signals.iter().map(|list| list.heard_of(buffer.by, times.clone()));
        lists.fold((false, false), |all, one| (all.0 || one.0, all.1 || one.1)) == (true, false)
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
        for (offset, cell, mask) in self.pe.state.cells(place, len) {
            let new = Access { by: self.name, time, column, kind, mask, site };
            if column == Column::Program && cell.renew(&new) {
                continue;
            }
            let at = SymmetricPlace { offset, ..place };
            let conflict = cell.record(new, |old| self.is_ordered(&clock, old, &new, at));
            if let (Some(conflict), None) = (conflict, &race) {
                let skip = (conflict.mask >> (offset % 8)).trailing_zeros() as usize;
                race = Some(Race {
                    earlier: conflict.earlier,
                    later: conflict.later,
                    place: Some(SymmetricPlace { offset: offset + skip, ..place }),
                    address: 0,
                    bytes: conflict.mask.count_ones() as usize,
                    rank: RaceRank::Unordered,
                });
            }
        }
        race
    }

    /// Whether an earlier access to this place is over, as far as this strand knows.
    fn is_ordered(&self, clock: &Clock<'_>, old: &Access, new: &Access, place: SymmetricPlace) -> bool {
        let owner = place.pe;
        let is_sent = |access: &Access| matches!(access.column, Column::Sent(_));
        let is_over = || old.time <= clock.time(old.by, old.column, owner);
        let is_own = old.by == self.name;
        match old.column {
            // The wait for the request remembers the access anew.
            Column::Requested => is_own,
            Column::Program => is_own || is_over(),
            Column::Heard => is_own || is_over() || self.knows_of_put(clock, new, place),
            // Buffers of operations under way in the PE's own memory are watched by address.
            Column::Pulled(stream) => {
                // For strands that learn of a fence, it orders what a fetching atomic does to the word, but not its result.
                let is_fenced = || old.time <= clock.time(old.by, Column::Sent(stream), owner);
                is_own && owner == self.name.pe && !is_sent(new)
                    || is_over()
                    || matches!(old.kind, AccessKind::Atomic(_)) && old.by.pe != self.name.pe && is_fenced()
            }
            Column::Sent(stream) if old.by.pe == self.name.pe && old.kind.differs(new.kind) => {
                is_sent(new) && old.time <= clock.passed(old.by, Milestone::Fenced(stream)) || is_over()
            }
            // A PE's put is not over for its own loads and gets before a quiet. Puts after puts to the same place are usual: a
            // benchmark's window, or a flag that counts.
            Column::Sent(_) if is_own => is_sent(new) || matches!(new.kind, AccessKind::Atomic(_)) || is_over(),
            Column::Sent(_) if old.by.pe == self.name.pe => {
                is_sent(new) && old.time <= clock.passed(old.by, Milestone::Issued) || is_over()
            }
            Column::Sent(_) => is_over(),
        }
    }
}
