//! The abstract machine: PEs with vector clocks that execute steps in some interleaving.

mod user;

use super::expect::extents;
use super::memory::{ProofMemory, ProofValue};
use super::signal_words::{Word, WordCounter};
use super::{Case, DestMode, Evidence, Fault, Progress, area, fault, interleave};
use crate::step::{Caller, CallerShare, Loc, Place, Plan, PutSignal, SIGNAL_SETS, Step, Turn};
use alloc::vec;
use alloc::vec::Vec;

/// More steps of one PE in one call than any algorithm needs.
const ENDLESS: u64 = 1 << 20;

/// A PE between its steps.
struct ProofPe {
    /// Its knowledge of every member's time, its own included.
    clock: Vec<u32>,
    memory: ProofMemory,
    /// By area: even, odd, then the signal sets.
    words: Vec<Vec<Word>>,
    counters: [WordCounter; 2],
    counted: [u64; 2],
    windows: Vec<u64>,
    call: usize,
    pc: u64,
    /// The reads of its puts in this call: from where to where, and by which put.
    in_flight: Vec<(usize, usize, u32)>,
    /// Whether the current call's source is written.
    entered: bool,
    left: usize,
}

/// A put: where it went, and what its issuer knew.
struct Write {
    clock: Vec<u32>,
    at: usize,
    len: usize,
    /// The data that waits in the mailbox, if it came inline.
    content: Vec<ProofValue>,
    /// The target, and when it saw the signal.
    to: usize,
    seen_at: Option<u32>,
}

pub(super) struct ProofMachine<'a> {
    case: &'a Case<'a>,
    plans: Vec<Plan>,
    turns: Vec<Turn>,
    /// Where source and dest of each call begin.
    arrays: Vec<(usize, usize)>,
    scratch: usize,
    pes: Vec<ProofPe>,
    writes: Vec<Write>,
    /// When each PE entered each call.
    entries: Vec<Vec<u32>>,
    trees: Vec<Vec<u64>>,
    /// PEs waiting in the user's own synchronisation.
    synchronising: u32,
    steps: u64,
}

impl<'a> ProofMachine<'a> {
    pub(super) fn new(case: &'a Case<'a>) -> Self {
        let (mut turn, mut turns, mut plans) = (Turn::default(), Vec::new(), Vec::new());
        let mut words = vec![0; 2 + usize::from(SIGNAL_SETS)];
        let (mut scratch, mut sources, mut dests) = (0, 0, 0);
        for call in case.calls {
            turn = turn.next(call.algorithm.traffic());
            let plan = Plan { size: case.size, root: call.root, count: call.count, call: turn.call, root_apart: false };
            let area = area(call.algorithm.traffic(), turn);
            words[area] = call.algorithm.words(&plan).max(words[area]);
            scratch = scratch.max(call.algorithm.scratch(&plan) as usize);
            let (source, dest) = extents(call, case.size, turn.call);
            (sources, dests) = (sources.max(source as usize), dests.max(dest as usize));
            plans.push(plan);
            turns.push(turn);
        }
        let copies = if case.mode == DestMode::Fresh { case.calls.len() } else { 1 };
        let first = 2 * scratch;
        let arrays = (0..case.calls.len()).map(|call| {
            let dest = first + sources + if copies == 1 { 0 } else { call * dests };
            (if case.in_place { dest } else { first }, dest)
        });
        let n = case.size as usize;
        let pe = |rank| ProofPe {
            clock: vec![0; n],
            memory: ProofMemory::new(rank, first + sources + copies * dests),
            words: words.iter().map(|&len| (0..len).map(|_| Word::default()).collect()).collect(),
            counters: Default::default(),
            counted: [0; 2],
            windows: Vec::new(),
            call: 0,
            pc: 0,
            in_flight: Vec::new(),
            entered: false,
            left: 0,
        };
        Self {
            case,
            arrays: arrays.collect(),
            plans,
            turns,
            scratch,
            pes: (0..n).map(pe).collect(),
            writes: Vec::new(),
            entries: vec![vec![0; case.calls.len()]; n],
            trees: vec![Vec::new(); case.calls.len()],
            synchronising: 0,
            steps: 0,
        }
    }

    /// Lets PEs run until all have left or none can go on.
    pub(super) fn run(mut self) -> Result<Evidence, Fault> {
        let (size, interleaving) = (self.case.size, self.case.interleaving);
        if let Some(p) = interleave(self.pes.len(), interleaving, |p| self.advance(p))? {
            let pe = &self.pes[p];
            return Err(fault!(Deadlock, "size {size}: PE {p} is stuck in call {} at step {}", pe.call + 1, pe.pc));
        }
        Ok(Evidence { steps: self.steps, puts: self.writes.len() as u64 })
    }

    fn advance(&mut self, p: usize) -> Result<Progress, Fault> {
        let index = self.pes[p].call;
        let Some(call) = self.case.calls.get(index) else {
            return Ok(Progress::Finished);
        };
        let (plan, turn) = (self.plans[index], self.turns[index]);
        if !self.pes[p].entered {
            if !self.user_synchronised(p) {
                return Ok(Progress::Blocked);
            }
            self.enter(p)?;
            return Ok(Progress::Moved);
        }
        let share = self.share(p, index);
        let windows = core::mem::take(&mut self.pes[p].windows);
        let caller = Caller {
            rank: p as u32,
            counted: self.pes[p].counted[turn.parity()],
            share: CallerShare { windows: &windows, ..share },
        };
        let pc = self.pes[p].pc;
        let step = call.algorithm.step(&plan, &caller, pc);
        let again = call.algorithm.step(&plan, &caller, pc);
        self.pes[p].windows = windows;
        if step != again || pc > ENDLESS {
            return Err(fault!(Impure, "PE {p}, call {}, step {pc}: {step:?}, then {again:?}", index + 1));
        }
        let progress = self.execute(p, step)?;
        if matches!(progress, Progress::Moved) {
            self.pes[p].pc += u64::from(step != Step::Done);
            self.steps += 1;
        }
        Ok(progress)
    }

    fn tick(&mut self, p: usize) -> u32 {
        self.pes[p].clock[p] += 1;
        self.pes[p].clock[p]
    }

    fn execute(&mut self, p: usize, step: Step) -> Result<Progress, Fault> {
        let index = self.pes[p].call;
        match step {
            Step::Skip => {}
            Step::Done => self.leave(p)?,
            Step::Put { to, from, into, len, signal } => self.put(p, to, from, into, len, signal)?,
            Step::Wait { word, value } => return self.wait(p, word, value),
            Step::WaitCount { total } => return self.wait_count(p, total),
            Step::Zero { into, len } => {
                let now = self.tick(p);
                let at = self.range(index, into, len)?;
                self.not_in_flight(p, at, len as usize, p)?;
                for i in 0..len as usize {
                    self.pes[p].memory.write(at + i, now, ProofValue::Zero)?;
                }
            }
            Step::Copy { into, from, len } => self.fold(p, into, len, &[from])?,
            Step::Reduce { into, left, right, stride, terms, len } => {
                let rights = (0..u64::from(terms)).map(|i| Loc { at: right.at + i * stride, ..right });
                let operands: Vec<Loc> = [left].into_iter().chain(rights).collect();
                self.fold(p, into, len, &operands)?;
            }
        }
        Ok(Progress::Moved)
    }

    fn fold(&mut self, p: usize, into: Loc, len: u64, operands: &[Loc]) -> Result<(), Fault> {
        let (index, now, len) = (self.pes[p].call, self.tick(p), len as usize);
        let target = self.range(index, into, len as u64)?;
        let mut starts = Vec::new();
        for &operand in operands {
            let at = self.range(index, operand, len as u64)?;
            if at != target && at.abs_diff(target) < len {
                return Err(fault!(Bounds, "PE {p}: {operand:?} partly overlaps {into:?}"));
            }
            starts.push(at);
        }
        if starts != [target] {
            self.not_in_flight(p, target, len, p)?;
        }
        let memory = &mut self.pes[p].memory;
        for i in 0..len {
            let mut value = memory.read(starts[0] + i, now)?;
            for start in &starts[1..] {
                value = value.with(memory.read(start + i, now)?);
            }
            memory.write(target + i, now, value)?;
        }
        Ok(())
    }

    fn put(&mut self, p: usize, to: u32, from: Loc, into: Loc, len: u64, signal: PutSignal) -> Result<(), Fault> {
        let (index, now, q) = (self.pes[p].call, self.tick(p), to as usize);
        if to >= self.case.size || q == p {
            return Err(fault!(Bounds, "PE {p} of {} puts to {to}", self.case.size));
        }
        let (from, at) = if len == 0 { (0, 0) } else { (self.range(index, from, len)?, self.range(index, into, len)?) };
        let (write, known) = (self.writes.len() as u32, self.pes[p].clock[q]);
        let is_inline = self.case.inline && matches!(signal, PutSignal::Set { .. });
        let mut content = Vec::new();
        for i in 0..len as usize {
            let value = self.pes[p].memory.read(from + i, now)?;
            if is_inline { content.push(value) } else { self.pes[q].memory.land(at + i, write, known, value)? }
        }
        self.not_in_flight(q, at, if is_inline { 0 } else { len as usize }, p)?;
        self.writes.push(Write {
            clock: self.pes[p].clock.clone(),
            at,
            len: len as usize,
            content,
            to: q,
            seen_at: None,
        });
        if self.case.zero_copy {
            self.pes[p].in_flight.push((from, from + len as usize, write));
        }
        if self.pes[q].call > index {
            return Err(fault!(Unseen, "PE {p} signals PE {to} after that one has left call {}", index + 1));
        }
        let (turn, area) = self.place(index);
        match signal {
            PutSignal::Count => self.pes[q].counters[turn.parity()].add(write, turn.call, known),
            PutSignal::Set { word, value } => {
                self.check_word(index, word)?;
                self.pes[q].words[area][word as usize].set(value, write, p as u32, known, is_inline)
            }
        }
    }

    fn wait(&mut self, p: usize, word: u32, value: u64) -> Result<Progress, Fault> {
        let index = self.pes[p].call;
        self.check_word(index, word)?;
        let (_, area) = self.place(index);
        let now = self.pes[p].clock[p] + 1;
        let Some(write) = self.pes[p].words[area][word as usize].wait(value, now, self.case.inline)? else {
            return Ok(Progress::Blocked);
        };
        let now = self.tick(p);
        self.seen(p, write);
        let Write { at, content, .. } = &self.writes[write as usize];
        for (i, &value) in content.iter().enumerate() {
            self.pes[p].memory.write(at + i, now, value)?;
        }
        Ok(Progress::Moved)
    }

    fn wait_count(&mut self, p: usize, total: u64) -> Result<Progress, Fault> {
        let parity = self.place(self.pes[p].call).0.parity();
        let now = self.pes[p].clock[p] + 1;
        let Some(writes) = self.pes[p].counters[parity].wait(total, now)? else {
            return Ok(Progress::Blocked);
        };
        let writes = writes.to_vec();
        self.tick(p);
        writes.into_iter().for_each(|write| self.seen(p, write));
        Ok(Progress::Moved)
    }

    /// If puts may read their operand late: PE `actor` may write elements of PE `p` only if it knows that what `p` has put
    /// from there has arrived.
    fn not_in_flight(&self, p: usize, at: usize, len: usize, actor: usize) -> Result<(), Fault> {
        let clock = &self.pes[actor].clock;
        for &(start, end, write) in &self.pes[p].in_flight {
            let Write { to, seen_at, .. } = self.writes[write as usize];
            let arrived = seen_at.is_some_and(|seen| seen <= clock[to]);
            if at < end && start < at + len && !arrived {
                return Err(fault!(Race, "PE {actor} writes what PE {p} may still be sending to PE {to}"));
            }
        }
        Ok(())
    }

    /// A member that sees a signal also sees its data and all that the sender knew.
    fn seen(&mut self, p: usize, write: u32) {
        let (pe, put) = (&mut self.pes[p], &mut self.writes[write as usize]);
        put.seen_at.get_or_insert(pe.clock[p]);
        pe.memory.seen(put.at..put.at + put.len, write, pe.clock[p]);
        pe.clock.iter_mut().zip(&put.clock).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
    }

    fn place(&self, index: usize) -> (Turn, usize) {
        (self.turns[index], area(self.case.calls[index].algorithm.traffic(), self.turns[index]))
    }

    fn check_word(&self, index: usize, word: u32) -> Result<(), Fault> {
        let words = self.case.calls[index].algorithm.words(&self.plans[index]);
        if word < words { Ok(()) } else { Err(fault!(Bounds, "word {word} of {words}")) }
    }

    /// Where a range of an object lies in the abstract memory.
    fn range(&self, index: usize, loc: Loc, len: u64) -> Result<usize, Fault> {
        let (call, turn) = (&self.case.calls[index], self.turns[index]);
        let (source, dest) = extents(call, self.case.size, turn.call);
        let (start, extent) = match loc.place {
            Place::Source => (self.arrays[index].0, source),
            Place::Dest => (self.arrays[index].1, dest),
            Place::Scratch if self.case.lands => (self.arrays[index].1, dest),
            Place::Scratch => (turn.parity() * self.scratch, call.algorithm.scratch(&self.plans[index])),
        };
        if loc.at + len > extent {
            return Err(fault!(Bounds, "{len} elements at {loc:?}, which has {extent}"));
        }
        Ok(start + loc.at as usize)
    }
}
