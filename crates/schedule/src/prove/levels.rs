//! Teams that span nodes: members count in with their leader, the leaders run a schedule among themselves, each releases
//! its node. This is `collectives::between_nodes` as a schedule, for the prover: whatever the shape, however the members are spread,
//! call after call.

use super::suite::{butterfly, dissemination};
use super::{Case, DestMode, FaultKind, ProofCall, prove};
use crate::algorithm::butterfly::Peers;
use crate::algorithm::census::{Census, Round};
use crate::algorithm::gather::Collect;
use crate::algorithm::{Collective, OperatorLaw, Schedule};
use crate::step::{Algorithm, Caller, CallerShare, Loc, Place, Plan, PutSignal, Step, dest, scratch, source};
use std::vec;
use std::vec::Vec;

/// The data that travels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LevelLoad {
    Nothing,
    /// One result, combined on the way.
    Sum,
    /// Everybody's block.
    Blocks,
}

/// One thing that a wrong implementation might do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LevelMistake {
    /// The leader does not wait for its members.
    LeaderGoesAhead,
    /// Members do not wait for the release.
    MemberGoesAhead,
    /// The leader releases before it has heard from the others.
    ReleasedTooEarly,
    /// The leader leaves out the last member of its node.
    MemberForgotten,
    /// Blocks are taken for those of the member in that place.
    OrderForgotten,
}

/// A team on several nodes.
struct Levels<'a> {
    /// The node of each member.
    node_of: &'a [u32],
    /// Members by node, in the order of the nodes' first members.
    nodes: Vec<Vec<u32>>,
    leaders: &'a dyn Algorithm,
    load: LevelLoad,
    mistake: Option<LevelMistake>,
}

impl<'a> Levels<'a> {
    fn new(node_of: &'a [u32], leaders: &'a dyn Algorithm, load: LevelLoad, mistake: Option<LevelMistake>) -> Self {
        let mut nodes: Vec<Vec<u32>> = Vec::new();
        for (member, &node) in (0..).zip(node_of) {
            match nodes.iter_mut().find(|members| node_of[members[0] as usize] == node) {
                Some(members) => members.push(member),
                None => nodes.push(vec![member]),
            }
        }
        Self { node_of, nodes, leaders, load, mistake }
    }

    fn node(&self, rank: u32) -> usize {
        self.nodes.iter().position(|members| members.contains(&rank)).expect("every member is on a node")
    }

    /// Where node `node` begins among the places of all members.
    fn start(&self, node: usize) -> u64 {
        self.nodes[..node].iter().map(|members| members.len() as u64).sum()
    }

    fn len(&self, plan: &Plan) -> u64 {
        if self.load == LevelLoad::Nothing { 0 } else { plan.count }
    }

    /// The parts of the leader's scratch: lines or the gather buffer, then the sum, then the scratch of the leaders' schedule.
    fn sum(&self, plan: &Plan) -> u64 {
        u64::from(plan.size) * self.len(plan)
    }

    fn landing(&self, plan: &Plan) -> u64 {
        self.sum(plan) + self.len(plan)
    }

    fn inner(&self, plan: &Plan) -> Plan {
        Plan { size: self.nodes.len() as u32, ..*plan }
    }

    /// Step `pc` of the leader among its like; how many steps there are, if that is over.
    fn among_leaders(&self, plan: &Plan, node: usize, pc: u64) -> Result<Step, u64> {
        let size = self.nodes.len();
        let (offset, each) = (self.start(node), self.len(plan));
        let total = u64::from(plan.size);
        let before = |window: usize| match node.checked_sub(window) {
            Some(first) => offset - self.start(first),
            None => offset + total - self.start(node + size - window),
        };
        let windows: Vec<u64> = (0..Round::count(size as u32))
            .map(|round| before(Round::of(size as u32, round).window as usize) * each)
            .collect();
        let mine = self.nodes[node].len() as u64 * each;
        let share = CallerShare { offset: offset * each, mine, total: total * each, windows: &windows };
        let me = Caller { share, ..Caller::new(node as u32) };
        let inner = self.inner(plan);
        if let Some(over) = (0..=pc).find(|&pc| self.leaders.step(&inner, &me, pc) == Step::Done) {
            return Err(over);
        }
        let here = |loc: Loc| match (loc.place, self.load) {
            // The gather buffer is the leaders' dest, and the node's part of it is where it belongs.
            (Place::Source, LevelLoad::Blocks) => scratch(share.offset + loc.at),
            (Place::Dest, LevelLoad::Blocks) => scratch(loc.at),
            (Place::Source | Place::Dest, _) => scratch(self.sum(plan) + loc.at),
            (Place::Scratch, _) => scratch(self.landing(plan) + loc.at),
        };
        Ok(match self.leaders.step(&inner, &me, pc) {
            Step::Put { to, from, into, len, signal } => {
                Step::Put { to: self.nodes[to as usize][0], from: here(from), into: here(into), len, signal }
            }
            Step::Reduce { into, left, right, stride, terms, len } => {
                Step::Reduce { into: here(into), left: here(left), right: here(right), stride, terms, len }
            }
            Step::Copy { into, from, len } => Step::Copy { into: here(into), from: here(from), len },
            Step::Zero { into, len } => Step::Zero { into: here(into), len },
            step => step,
        })
    }
}

impl Algorithm for Levels<'_> {
    fn words(&self, plan: &Plan) -> u32 {
        self.leaders.words(&self.inner(plan)) + 1
    }

    fn scratch(&self, plan: &Plan) -> u64 {
        self.landing(plan) + self.leaders.scratch(&self.inner(plan))
    }

    fn arrivals(&self, _plan: &Plan, rank: u32) -> u64 {
        let members = &self.nodes[self.node(rank)];
        if members[0] == rank { members.len() as u64 - 1 } else { 0 }
    }

    fn step(&self, plan: &Plan, me: &Caller, pc: u64) -> Step {
        let node = self.node(me.rank);
        let (members, len, value) = (&self.nodes[node], self.len(plan), plan.mark(0));
        let word = self.words(plan) - 1;
        let made = |mistake| self.mistake == Some(mistake);
        let place = |index: usize| scratch((self.start(node) + index as u64) * len);
        if members[0] != me.rank {
            let index = members.iter().position(|&member| member == me.rank).expect("a member of its node");
            return match pc {
                0 => Step::Put { to: members[0], from: source(0), into: place(index), len, signal: PutSignal::Count },
                1 if made(LevelMistake::MemberGoesAhead) => Step::Skip,
                1 => Step::Wait { word, value },
                _ => Step::Done,
            };
        }
        let (sum, result) = (scratch(self.sum(plan)), u64::from(plan.size) * len);
        let others = members.len() as u64 - 1;
        let Some(pc) = pc.checked_sub(3) else {
            return match (pc, self.load) {
                (0, LevelLoad::Sum) => Step::Copy { into: sum, from: source(0), len },
                (0, _) => Step::Copy { into: place(0), from: source(0), len },
                (1, _) if made(LevelMistake::LeaderGoesAhead) => Step::Skip,
                (1, _) => Step::WaitCount { total: me.counted + others },
                (_, LevelLoad::Sum) if others > 0 => {
                    let terms = others as u32 - u32::from(made(LevelMistake::MemberForgotten));
                    Step::Reduce { into: sum, left: sum, right: place(1), stride: len, terms, len }
                }
                _ => Step::Skip,
            };
        };
        let early = if made(LevelMistake::ReleasedTooEarly) { others } else { 0 };
        let released = |index: u64| {
            let to = members[index as usize + 1];
            let (from, len) = if self.load == LevelLoad::Blocks { (dest(0), result) } else { (sum, len) };
            Step::Put { to, from, into: dest(0), len, signal: PutSignal::Set { word, value } }
        };
        if pc < early {
            return released(pc);
        }
        let pc = pc - early;
        let pc = match self.among_leaders(plan, node, pc) {
            Ok(step) => return step,
            Err(over) => pc - over,
        };
        let copies = match self.load {
            LevelLoad::Nothing => 0,
            LevelLoad::Sum => 1,
            LevelLoad::Blocks => u64::from(plan.size),
        };
        if pc < copies {
            // A member's place in the gather buffer is by node, in the result by number.
            let member = if made(LevelMistake::OrderForgotten) {
                pc
            } else {
                self.nodes.iter().flatten().map(|&member| u64::from(member)).nth(pc as usize).expect("a member")
            };
            return match self.load {
                LevelLoad::Blocks => Step::Copy { into: dest(member * len), from: scratch(pc * len), len },
                _ => Step::Copy { into: dest(0), from: sum, len },
            };
        }
        if pc - copies < others - early {
            return released(pc - copies);
        }
        Step::Done
    }
}

/// All ways to spread `size` members over two nodes and more.
fn spreads(size: usize) -> Vec<Vec<u32>> {
    let mut spreads = vec![vec![0]];
    for _ in 1..size {
        let longer = |spread: Vec<u32>| {
            let next = spread.iter().max().map_or(0, |most| most + 1);
            (0..=next).map(move |node| spread.iter().copied().chain([node]).collect())
        };
        spreads = spreads.into_iter().flat_map(longer).collect();
    }
    spreads.retain(|spread: &Vec<u32>| spread.contains(&1));
    spreads
}

const MAX: Collective = Collective::Reduce(OperatorLaw::Idempotent);
const SUM: Collective = Collective::Reduce(OperatorLaw::Exact);
const TREE: Collective = Collective::Reduce(OperatorLaw::FixedTree);

/// Eight calls of the five kinds in turn, beginning with number `first`. From 0 and from 1 each kind stands before its next two in turn with
/// an even number and with an odd one, and so meets what these leave in the memory of either parity.
fn faults(
    spread: &[u32],
    mistake: Option<LevelMistake>,
    first: usize,
    inline: bool,
    interleaving: u64,
) -> Option<FaultKind> {
    let schedules: [(Schedule, LevelLoad, Collective); 5] = [
        (dissemination(4, false), LevelLoad::Nothing, Collective::Sync),
        (dissemination(4, true), LevelLoad::Sum, MAX),
        (Schedule::Census(Census), LevelLoad::Sum, SUM),
        (Schedule::Collect(Collect), LevelLoad::Blocks, Collective::Fcollect),
        (butterfly(2, Peers::Neighbours), LevelLoad::Sum, TREE),
    ];
    let levels: Vec<Levels> =
        schedules.iter().map(|(leaders, load, _)| Levels::new(spread, leaders, *load, mistake)).collect();
    let call = |i: usize| {
        let kind = (first + i) % schedules.len();
        ProofCall { algorithm: &levels[kind], wanted: schedules[kind].2, count: 2, root: 0 }
    };
    let calls: Vec<ProofCall> = (0..8).map(call).collect();
    assert!(levels.iter().all(|levels| levels.node_of.len() == spread.len()));
    let case = Case { inline, ..Case::new(spread.len() as u32, &calls, DestMode::Fresh, interleaving) };
    prove(&case).err().map(|fault| fault.kind)
}

fn most() -> usize {
    if cfg!(debug_assertions) { 5 } else { 7 }
}

#[test]
fn two_levels_hold_for_every_spread_over_nodes_inline_or_not() {
    for size in 2..=most() {
        for spread in spreads(size) {
            for first in 0..2 {
                for (inline, interleaving) in [(false, 0), (false, 1), (false, 5), (true, 0), (true, 1), (true, 5)] {
                    let fault = faults(&spread, None, first, inline, interleaving);
                    assert_eq!(fault, None, "{spread:?} from {first}, inline {inline}, interleaving {interleaving}");
                }
            }
        }
    }
}

#[test]
fn two_levels_with_a_mistake_are_rejected() {
    let all = [
        LevelMistake::LeaderGoesAhead,
        LevelMistake::MemberGoesAhead,
        LevelMistake::ReleasedTooEarly,
        LevelMistake::MemberForgotten,
        LevelMistake::OrderForgotten,
    ];
    for mistake in all {
        for inline in [false, true] {
            // Members of a node do not follow each other, and one node has a single member.
            let found = (0..4).filter_map(|i| faults(&[0, 1, 0, 2, 1, 0], Some(mistake), i as usize, inline, i));
            assert!(found.count() > 0, "{mistake:?} with inline {inline} passes");
        }
    }
}
