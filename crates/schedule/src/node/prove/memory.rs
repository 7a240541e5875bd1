//! The abstract memory: elements, lines and a counter, with the members that
//! touched them and the times.

use crate::prove::memory::ProofValue;
use crate::prove::{Fault, fault};
use alloc::vec;
use alloc::vec::Vec;

/// The readers of something, each with the time of its last read.
#[derive(Clone, Default)]
struct Readers(Vec<(usize, u32)>);

impl Readers {
    fn add(&mut self, reader: usize, now: u32) {
        match self.0.iter_mut().find(|(known, _)| *known == reader) {
            Some((_, time)) => *time = now,
            None => self.0.push((reader, now)),
        }
    }

    /// A reader that may still be reading, as far as a member with this clock
    /// knows.
    fn unknown(&self, clock: &[u32]) -> Option<usize> {
        self.0.iter().find(|(reader, time)| clock[*reader] < *time).map(|(reader, _)| *reader)
    }
}

/// An element of an array.
#[derive(Clone, Default)]
pub(super) struct NodeCell {
    value: Option<ProofValue>,
    /// The last writer and its time.
    written: (usize, u32),
    readers: Readers,
}

impl NodeCell {
    pub(super) fn read(&mut self, clock: &[u32], reader: usize, now: u32) -> Result<ProofValue, Fault> {
        let (writer, time) = self.written;
        if clock[writer] < time {
            return Err(fault!(Race, "PE {reader} reads what PE {writer} may still be writing"));
        }
        self.readers.add(reader, now);
        Ok(self.value.unwrap_or(ProofValue::Undefined))
    }

    pub(super) fn write(&mut self, clock: &[u32], writer: usize, now: u32, value: ProofValue) -> Result<(), Fault> {
        let (before, time) = self.written;
        if clock[before] < time {
            return Err(fault!(Race, "PE {writer} writes what PE {before} may still be writing"));
        }
        if let Some(reader) = self.readers.unknown(clock) {
            return Err(fault!(Race, "PE {writer} writes what PE {reader} may still be reading"));
        }
        *self = Self { value: Some(value), written: (writer, now), readers: Readers::default() };
        Ok(())
    }
}

/// A line.
#[derive(Default)]
pub(super) struct ProvenLine {
    /// Every number it had, with what its writer knew.
    history: Vec<(u64, Vec<u32>)>,
    payload: Vec<ProofValue>,
    readers: Readers,
}

impl ProvenLine {
    pub(super) fn write(
        &mut self,
        number: u64,
        payload: &[ProofValue],
        clock: &[u32],
        writer: usize,
    ) -> Result<(), Fault> {
        if let Some((before, _)) = self.history.last().filter(|(before, _)| *before >= number) {
            return Err(fault!(Ambiguous, "PE {writer} writes number {number:#x} after {before:#x}"));
        }
        if let Some(reader) = self.readers.unknown(clock) {
            return Err(fault!(Race, "PE {writer} writes a line whose payload PE {reader} may still be reading"));
        }
        self.history.push((number, clock.to_vec()));
        self.payload = payload.to_vec();
        self.readers = Readers::default();
        Ok(())
    }

    /// The writer's knowledge when the line reached `number`; `None` before.
    pub(super) fn reached(&self, number: u64) -> Result<Option<&[u32]>, Fault> {
        let found = self.history.iter().find(|(there, _)| *there >= number);
        match found {
            Some((there, _)) if there >> 16 != number >> 16 => {
                Err(fault!(Ambiguous, "number {number:#x} is awaited and {there:#x} of another call comes"))
            }
            _ => Ok(found.map(|(_, clock)| &clock[..])),
        }
    }

    pub(super) fn take(
        &mut self,
        number: u64,
        len: usize,
        clock: &[u32],
        reader: usize,
        owner: usize,
    ) -> Result<Vec<ProofValue>, Fault> {
        let Some((_, known)) = self.history.last().filter(|(there, _)| *there == number) else {
            return Err(fault!(Race, "PE {reader} takes a payload of PE {owner} that another one has replaced"));
        };
        if clock[owner] < known[owner] {
            return Err(fault!(Race, "PE {reader} takes a payload that PE {owner} may still be writing"));
        }
        if self.payload.len() < len {
            return Err(fault!(Bounds, "PE {reader} takes {len} elements of {}", self.payload.len()));
        }
        self.readers.add(reader, clock[reader]);
        Ok(self.payload[..len].to_vec())
    }
}

/// A counter and its release word.
pub(super) struct LineCounter {
    arrived: usize,
    /// The knowledge of the members that have counted in.
    clock: Vec<u32>,
    releases: Vec<(u64, Vec<u32>)>,
}

impl LineCounter {
    pub(super) fn new(size: usize) -> Self {
        Self { arrived: 0, clock: vec![0; size], releases: Vec::new() }
    }

    pub(super) fn arrive(&mut self, number: u64, clock: &[u32], size: usize) {
        self.clock.iter_mut().zip(clock).for_each(|(all, mine)| *all = (*all).max(*mine));
        self.arrived += 1;
        if self.arrived == size {
            self.arrived = 0;
            self.releases.push((number, self.clock.clone()));
        }
    }

    pub(super) fn released(&self, number: u64) -> Option<&[u32]> {
        self.releases.iter().find(|(there, _)| *there >= number).map(|(_, clock)| &clock[..])
    }
}
