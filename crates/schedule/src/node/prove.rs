//! The prover of the node's protocols: it runs a sequence of calls in an abstract memory and rejects what could go wrong
//! in any timing.
//!
//! The checks of every call, on every member:
//!
//! | | |
//! |---|---|
//! | result | every element of dest holds the operands it should; with [`crate::algorithm::OperatorLaw::FixedTree`] as the fold in team order |
//! | race | a member that reads an element or a payload knows (by a chain of numbers) that it is written, one that writes it knows that all readers of the value before are done; when a member leaves a call its arrays are its user's again |
//! | entry | no member touches another one's arrays before it knows that that one has entered |
//! | deadlock | all members arrive |
//! | unheard | a member that waits for a line is among those that its writer wakes |
//! | numbers | lines are in bounds, numbers grow, an awaited number is written in the call that awaits it, a payload is the one that came with the number |
//! | synchronising | no member leaves before it knows that all have entered, if the protocol says so |
//! | purity | same answer when asked twice |
//!
//! One run proves its verdict for all timings, as in [`crate::prove`]: a line has one writer, so a wait ends with one
//! particular write, whatever the order of events, and the race check asks for knowledge, not for luck.

mod memory;
mod result;

mod mutants;
mod suite;

use self::memory::{LineCounter, NodeCell, ProvenLine};
use super::{Move, NodePlace, NodePlan, Operands, Protocol, Shape, Spot};
use crate::algorithm::Collective;
use crate::prove::expect::element;
use crate::prove::memory::ProofValue;
use crate::prove::{Fault, Progress, area, fault, interleave};
use crate::step::{SIGNAL_SETS, Turn};
use alloc::vec;
use alloc::vec::Vec;

/// More steps of one member in one call than any protocol needs.
const ENDLESS: u64 = 1 << 20;

/// One call of a sequence.
#[derive(Clone, Copy)]
pub(crate) struct NodeCall<'a> {
    /// The protocol under proof.
    pub(crate) protocol: &'a dyn Protocol,
    /// The result that it has to achieve: a synchronisation, a reduction or a broadcast.
    pub(crate) wanted: Collective,
    /// Elements of the arrays.
    pub(crate) count: u64,
    /// The root of a broadcast.
    pub(crate) root: u32,
}

/// A sequence of calls on one team.
#[derive(Clone, Copy)]
pub(crate) struct NodeCase<'a> {
    /// The team, of 64 members at most.
    pub(crate) shape: &'a Shape,
    /// The calls, back to back, on the same arrays, with no synchronisation of the user's between them.
    pub(crate) calls: &'a [NodeCall<'a>],
    /// Whether dest is source.
    pub(crate) in_place: bool,
    /// Elements that a line carries.
    pub(crate) line: u64,
    /// Elements of a piece of a long array.
    pub(crate) piece: u64,
    /// Which interleaving: 0 in turns, 1 each member as far as it gets, others at random.
    pub(crate) interleaving: u64,
}

/// A member between its steps.
struct ProvenMember {
    /// Its knowledge of every member's time, its own included.
    clock: Vec<u32>,
    /// Source, then dest; or both at once.
    arrays: Vec<NodeCell>,
    hand: Vec<ProofValue>,
    /// By area: even, odd, then the signal sets.
    lines: Vec<Vec<ProvenLine>>,
    call: usize,
    pc: u64,
    entered: bool,
    counted: bool,
    /// When it entered each call.
    entries: Vec<u32>,
}

struct LineMachine<'a> {
    case: &'a NodeCase<'a>,
    plans: Vec<NodePlan>,
    areas: Vec<usize>,
    /// Where dest begins in the arrays.
    dest: usize,
    pes: Vec<ProvenMember>,
    counters: [LineCounter; 2],
    steps: u64,
}

/// Runs the case and returns the number of steps of all members; an error names the first rule that was broken.
pub(crate) fn prove(case: &NodeCase) -> Result<u64, Fault> {
    LineMachine::new(case).run()
}

impl<'a> LineMachine<'a> {
    fn new(case: &'a NodeCase<'a>) -> Self {
        let (mut turn, mut plans, mut areas) = (Turn::default(), Vec::new(), Vec::new());
        let mut lines = vec![0; 2 + usize::from(SIGNAL_SETS)];
        let longest = case.calls.iter().map(|call| call.count).max().unwrap_or(0) as usize;
        for call in case.calls {
            let traffic = call.protocol.traffic();
            turn = turn.next(traffic);
            let plan = NodePlan { count: call.count, root: call.root, turn, line: case.line, piece: case.piece };
            let area = area(traffic, turn);
            lines[area] = call.protocol.lines(case.shape, &plan).max(lines[area]);
            plans.push(plan);
            areas.push(area);
        }
        let n = case.shape.size() as usize;
        let dest = if case.in_place { 0 } else { longest };
        let pe = |_| ProvenMember {
            clock: vec![0; n],
            arrays: vec![NodeCell::default(); dest + longest],
            hand: Vec::new(),
            lines: lines.iter().map(|&lines| (0..lines).map(|_| ProvenLine::default()).collect()).collect(),
            call: 0,
            pc: 0,
            entered: false,
            counted: false,
            entries: vec![0; case.calls.len()],
        };
        let pes = (0..n).map(pe).collect();
        let counters = [LineCounter::new(n), LineCounter::new(n)];
        Self { case, plans, areas, dest, pes, counters, steps: 0 }
    }

    /// Lets members run until all have left or none can go on.
    fn run(mut self) -> Result<u64, Fault> {
        let n = self.pes.len();
        if let Some(p) = interleave(n, self.case.interleaving, |p| self.advance(p))? {
            let ProvenMember { call, pc, .. } = &self.pes[p];
            return Err(fault!(Deadlock, "{n} members: PE {p} is stuck in call {} at step {pc}", call + 1));
        }
        Ok(self.steps)
    }

    fn advance(&mut self, p: usize) -> Result<Progress, Fault> {
        let index = self.pes[p].call;
        let Some(call) = self.case.calls.get(index) else { return Ok(Progress::Finished) };
        let (plan, pc) = (self.plans[index], self.pes[p].pc);
        if !self.pes[p].entered {
            self.enter(p, call.protocol.hand(self.case.shape, &plan))?;
        }
        let step = call.protocol.step(self.case.shape, &plan, p as u32, pc);
        let again = call.protocol.step(self.case.shape, &plan, p as u32, pc);
        if step != again || pc > ENDLESS {
            return Err(fault!(Impure, "PE {p}, call {}, step {pc}: {step:?}, then {again:?}", index + 1));
        }
        self.pes[p].clock[p] += 1;
        let moved = self.execute(p, step)?;
        if !moved {
            return Ok(Progress::Blocked);
        }
        self.pes[p].pc += u64::from(step != Move::Done);
        self.steps += 1;
        Ok(Progress::Moved)
    }

    /// The user writes the source and calls.
    fn enter(&mut self, p: usize, hand: u64) -> Result<(), Fault> {
        let (index, plan) = (self.pes[p].call, self.plans[self.pes[p].call]);
        self.pes[p].clock[p] += 1;
        for at in 0..plan.count {
            self.write(p, p, at as usize, ProofValue::operand(p as u32, element(plan.turn.call, at)))?;
        }
        let pe = &mut self.pes[p];
        (pe.entered, pe.entries[index]) = (true, pe.clock[p]);
        pe.hand.clear();
        pe.hand.resize(hand as usize, ProofValue::Undefined);
        Ok(())
    }

    /// Whether the member gets on.
    fn execute(&mut self, p: usize, step: Move) -> Result<bool, Fault> {
        let index = self.pes[p].call;
        let area = self.areas[index];
        match step {
            Move::Skip => {}
            Move::Done => self.leave(p)?,
            Move::Write { line, number, from, len } => {
                self.in_bounds(p, line, 0)?;
                let range = self.in_hand(p, from, len)?;
                let ProvenMember { lines, hand, clock, .. } = &mut self.pes[p];
                lines[area][line as usize].write(number, &hand[range], clock, p)?;
            }
            Move::Wait { of, line, number } => {
                self.in_bounds(p, line, of)?;
                let Some(known) = self.pes[of as usize].lines[area][line as usize].reached(number)? else {
                    return Ok(false);
                };
                let known = known.to_vec();
                self.is_heard(p, line, of)?;
                learn(&mut self.pes[p].clock, &known);
            }
            Move::Take { of, line, number, into, len } => {
                self.in_bounds(p, line, of)?;
                let range = self.in_hand(p, into, len)?;
                let clock = self.pes[p].clock.clone();
                let line = &mut self.pes[of as usize].lines[area][line as usize];
                let payload = line.take(number, len as usize, &clock, p, of as usize)?;
                self.pes[p].hand[range].copy_from_slice(&payload);
            }
            Move::Meet { number } => return self.meet(p, number),
            Move::Copy { into, from, len } => {
                for at in 0..len {
                    let cells = (self.cell(p, from, at)?, self.cell(p, into, at)?);
                    if cells.0.is_some() && cells.0 == cells.1 {
                        continue;
                    }
                    let value = self.load(p, from, at)?;
                    self.store(p, into, at, value)?;
                }
            }
            Move::Fold { into, operands, len } => {
                for at in 0..len {
                    let value = self.fold(p, operands, at, len)?;
                    self.store(p, into, at, value)?;
                }
            }
        }
        Ok(true)
    }

    fn meet(&mut self, p: usize, number: u64) -> Result<bool, Fault> {
        let parity = self.plans[self.pes[p].call].turn.parity();
        let (counter, size) = (&mut self.counters[parity], self.pes.len());
        if !self.pes[p].counted {
            self.pes[p].counted = true;
            counter.arrive(number, &self.pes[p].clock, size);
        }
        let Some(known) = counter.released(number) else { return Ok(false) };
        let known = known.to_vec();
        learn(&mut self.pes[p].clock, &known);
        self.pes[p].counted = false;
        Ok(true)
    }

    /// Element `at` of the result of a fold.
    fn fold(&mut self, p: usize, operands: Operands, at: u64, len: u64) -> Result<ProofValue, Fault> {
        let mut result: Option<ProofValue> = None;
        let mut spots = Vec::new();
        super::operands(self.case.shape, p as u32, operands, len, |spot| spots.push(spot));
        for spot in spots {
            let value = self.load(p, spot, at)?;
            result = Some(result.map_or(value, |left| left.with(value)));
        }
        Ok(result.unwrap_or(ProofValue::Undefined))
    }

    fn load(&mut self, p: usize, spot: Spot, at: u64) -> Result<ProofValue, Fault> {
        match self.cell(p, spot, at)? {
            None => Ok(self.pes[p].hand[self.in_hand(p, spot.at + at, 1)?.start]),
            Some((q, cell)) => {
                let clock = core::mem::take(&mut self.pes[p].clock);
                let value = self.pes[q].arrays[cell].read(&clock, p, clock[p]);
                self.pes[p].clock = clock;
                value
            }
        }
    }

    fn store(&mut self, p: usize, spot: Spot, at: u64, value: ProofValue) -> Result<(), Fault> {
        match self.cell(p, spot, at)? {
            None => {
                let range = self.in_hand(p, spot.at + at, 1)?;
                self.pes[p].hand[range.start] = value;
                Ok(())
            }
            Some((q, cell)) => self.write(p, q, cell, value),
        }
    }

    fn write(&mut self, p: usize, q: usize, cell: usize, value: ProofValue) -> Result<(), Fault> {
        let clock = core::mem::take(&mut self.pes[p].clock);
        let written = self.pes[q].arrays[cell].write(&clock, p, clock[p], value);
        self.pes[p].clock = clock;
        written
    }

    /// Whose cell a spot is, and which; `None` in the caller's hand.
    fn cell(&self, p: usize, spot: Spot, at: u64) -> Result<Option<(usize, usize)>, Fault> {
        let (index, q) = (self.pes[p].call, spot.of as usize);
        let start = match spot.place {
            NodePlace::Hand if q == p => return Ok(None),
            NodePlace::Source => 0,
            NodePlace::Dest => self.dest,
            NodePlace::Hand => return Err(fault!(Bounds, "PE {p} reaches into the hand of PE {q}")),
        };
        if q >= self.pes.len() || spot.at + at >= self.plans[index].count {
            return Err(fault!(Bounds, "PE {p}: element {at} behind {spot:?}"));
        }
        let entered = self.pes[q].entries[index];
        if entered == 0 || self.pes[p].clock[q] < entered {
            return Err(fault!(
                Race,
                "PE {p} touches arrays of PE {q} before it knows that call {} is entered",
                index + 1
            ));
        }
        Ok(Some((q, start + (spot.at + at) as usize)))
    }

    fn in_hand(&self, p: usize, at: u64, len: u64) -> Result<core::ops::Range<usize>, Fault> {
        let end = (at + len) as usize;
        if end > self.pes[p].hand.len() && len > 0 {
            return Err(fault!(Bounds, "PE {p}: {len} elements at {at} of a hand of {}", self.pes[p].hand.len()));
        }
        Ok(if len > 0 { at as usize..end } else { 0..0 })
    }

    fn in_bounds(&self, p: usize, line: u32, of: u32) -> Result<(), Fault> {
        let index = self.pes[p].call;
        let lines = self.case.calls[index].protocol.lines(self.case.shape, &self.plans[index]);
        if line < lines && of < self.case.shape.size() {
            return Ok(());
        }
        Err(fault!(Bounds, "PE {p}: line {line} of {lines}, of member {of}"))
    }

    /// A member that waits for a line is among those that its writer wakes.
    fn is_heard(&self, p: usize, line: u32, of: u32) -> Result<(), Fault> {
        let (index, shape) = (self.pes[p].call, self.case.shape);
        let reader = |i| self.case.calls[index].protocol.reader(shape, &self.plans[index], of, line, i);
        if (0..).map_while(reader).any(|reader| reader == p as u32) {
            return Ok(());
        }
        Err(fault!(Unheard, "PE {p} waits for line {line} of PE {of}, which wakes others only"))
    }
}

fn learn(clock: &mut [u32], known: &[u32]) {
    clock.iter_mut().zip(known).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
}
