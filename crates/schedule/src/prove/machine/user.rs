//! The user of the collectives under proof: writes sources, calls, reads dests, and may synchronise between two calls.

use super::ProofMachine;
use crate::algorithm::Collective;
use crate::algorithm::census::Round;
use crate::prove::expect::{block_length, check, element, extents, lengths};
use crate::prove::memory::ProofValue;
use crate::prove::{DestMode, Fault, fault};
use crate::step::{Caller, CallerShare, Traffic};
use alloc::vec::Vec;

impl ProofMachine<'_> {
    /// The user's own synchronisation before a call, if the mode has one. PEs count in; the last one passes first.
    pub(super) fn user_synchronised(&mut self, p: usize) -> bool {
        let call = self.pes[p].call;
        if self.case.mode != DestMode::Synchronised || call == 0 {
            return true;
        }
        let all = self.pes.len() as u32;
        let target = call as u32 * all;
        if self.pes[p].left < call {
            self.pes[p].left = call;
            self.synchronising += 1;
            if self.synchronising == target {
                let known: Vec<u32> = (0..self.pes.len()).map(|q| self.pes[q].clock[q]).collect();
                self.pes.iter_mut().for_each(|pe| pe.clock.copy_from_slice(&known));
            }
        }
        self.synchronising >= target
    }

    /// The user writes the source and calls.
    pub(super) fn enter(&mut self, p: usize) -> Result<(), Fault> {
        let index = self.pes[p].call;
        let number = self.turns[index].call;
        let now = self.tick(p);
        let (len, _) = extents(&self.case.calls[index], self.case.size, number);
        let at = self.arrays[index].0;
        for i in 0..len {
            let value = ProofValue::operand(p as u32, element(number, i));
            self.pes[p].memory.write(at + i as usize, now, value)?;
        }
        self.entries[p][index] = now;
        self.pes[p].entered = true;
        if self.case.calls[index].wanted == Collective::Collect {
            let size = self.case.size;
            let back = |k: u32| (p as u32 + size - k) % size;
            let window = |r| lengths((1..=Round::of(size, r).window).map(back), number);
            self.pes[p].windows = (0..Round::count(size)).map(window).collect();
        }
        Ok(())
    }

    pub(super) fn share(&self, p: usize, index: usize) -> CallerShare<'static> {
        let (call, size, rank) = (self.turns[index].call, self.case.size, p as u32);
        if self.case.calls[index].wanted != Collective::Collect {
            return Caller::new(rank).share;
        }
        let (offset, total) = (lengths(0..rank, call), lengths(0..size, call));
        CallerShare { offset, mine: block_length(rank, call), total, windows: &[] }
    }

    /// The user reads dest; the call must have left nothing behind.
    pub(super) fn leave(&mut self, p: usize) -> Result<(), Fault> {
        let index = self.pes[p].call;
        let (call, turn, now) = (&self.case.calls[index], self.turns[index], self.tick(p));
        let (_, len) = extents(call, self.case.size, turn.call);
        let at = self.arrays[index].1;
        let memory = &mut self.pes[p].memory;
        let dest: Vec<ProofValue> = (at..at + len as usize).map(|at| memory.read(at, now)).collect::<Result<_, _>>()?;
        check(call, self.case.size, p as u32, turn.call, &dest, &mut self.trees[index])?;
        let (_, area) = self.place(index);
        let parity = turn.parity();
        let last = turn.call << 16 | u64::from(u16::MAX);
        let synchronising = call.algorithm.traffic() == Traffic::Synchronising;
        let pe = &mut self.pes[p];
        if pe.words[area].iter().any(|word| word.unseen(last)) || synchronising && pe.counters[parity].unseen() {
            return Err(fault!(Unseen, "PE {p} leaves call {} with a signal unseen", turn.call));
        }
        let knows = |q: usize| pe.clock[q] >= self.entries[q][index] && self.entries[q][index] > 0;
        if synchronising && let Some(q) = (0..self.entries.len()).find(|&q| !knows(q)) {
            return Err(fault!(Early, "PE {p} leaves call {} without a sign of PE {q}", turn.call));
        }
        pe.counted[parity] += call.algorithm.arrivals(&self.plans[index], p as u32);
        (pe.call, pe.pc, pe.entered) = (index + 1, 0, false);
        // The call ends when everything has arrived.
        pe.in_flight.clear();
        Ok(())
    }
}
