//! Exchanges and runs of a team over the worst network that a lane may be, as states and events: [`tests`](super::tests) takes all
//! orders of events of small teams, and random ones of larger teams.
//!
//! A put is two events, as late and as far out of order as a lane permits: first the network reads the source and the bytes land,
//! later the signal appears. The words of an inline message land one by one. A get is one event. A member, and a leader at each of
//! its steps, may stop for as long as it likes. The schedules are those of `oxshmem_schedule`, step by step.
//!
//! Each value names the exchange to which it belongs and what it stands for. A value that is read, by a member, a leader or the
//! network, and is not the one that belongs there, is memory that was written too early or read too late.

mod steps;

use core::hash::{Hash, Hasher};

use oxshmem_schedule::algorithm::alltoall::Direct;
use oxshmem_schedule::algorithm::dissemination::Dissemination;
use oxshmem_schedule::algorithm::gather::Fcollect;
use oxshmem_schedule::step::{Algorithm, Caller, Loc, Place, Plan, Step};

use super::Credit;

/// The memory through which an exchange moves something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MemoryUse {
    /// Lines are combined, and the sum goes by inline messages.
    Inline,
    /// The node's sum is in the gather buffer, operands go to scratch.
    Scratch,
    /// The part of each leader goes to the gather buffers of all.
    Gather,
    /// Parts go from outgoing buffers to gather buffers.
    Parts,
    /// The leaders meet, and fetch lines from where the members of other nodes have written them.
    Lines,
}

pub(super) const MEMORY_USES: [MemoryUse; 5] =
    [MemoryUse::Inline, MemoryUse::Scratch, MemoryUse::Gather, MemoryUse::Parts, MemoryUse::Lines];

/// Rules that are too weak, which the model must find.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WeakerCredits {
    None,
    /// One credit in the place of two.
    OneOf(MemoryKind),
    /// An operand that changes is put from where it lies.
    OperandNotKept,
    /// A message counts as whole when its first word is there.
    FirstWordOnly,
    /// A signal does not wait for its bytes.
    SignalFirst,
    /// Members are released before the leader's gets are complete.
    GetsIncomplete,
    /// Members are released before the leaders' run.
    ReleasedFirst,
    /// The leader does not wait for its members.
    NobodyCounts,
}

/// The kinds of memory of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub(super) enum MemoryKind {
    /// Memory that the leader alone reaches.
    Private,
    Lines,
    Gather,
    Outgoing,
    Scratch,
    Copies,
    Mailboxes,
    Counters,
}

/// The exchange, counted from 1, that wrote a value, and what the value stands for: a bit for each member, the member that it is
/// for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, PartialOrd, Ord)]
struct ModelValue {
    exchange: u8,
    of: u16,
    to: u8,
}

impl ModelValue {
    fn bits(self) -> u32 {
        u32::from(self.of) << 16 | u32::from(self.exchange) << 8 | u32::from(self.to)
    }
}

impl Hash for ModelValue {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u32(self.bits());
    }

    /// An array at once: a state has hundreds of values, and the search hashes each state that it meets.
    fn hash_slice<H: Hasher>(values: &[Self], hasher: &mut H) {
        for values in values.chunks(MOST) {
            let mut bytes = [0; 4 * MOST];
            for (place, value) in bytes.chunks_exact_mut(4).zip(values) {
                place.copy_from_slice(&value.bits().to_ne_bytes());
            }
            hasher.write(&bytes[..4 * values.len()]);
        }
    }
}

/// A mailbox, or a word: the runs whose words have come last, and the content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct ModelMailbox {
    head: u8,
    second: u8,
    content: ModelValue,
    at: u8,
}

/// Places in a node's memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
struct ModelCell {
    kind: MemoryKind,
    copy: u8,
    at: u8,
}

impl ModelCell {
    fn behind(self, by: u8) -> Self {
        Self { at: self.at + by, ..self }
    }
}

/// The calls of a team: what does not change.
pub(super) struct TeamHistory {
    pub(super) nodes: u32,
    /// Of each node.
    pub(super) members: u32,
    pub(super) exchanges: Vec<MemoryUse>,
    pub(super) rule: WeakerCredits,
}

const MOST: usize = 16;

#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
struct NodeState {
    /// By kind of cells, by copy.
    lines: [[ModelValue; MOST]; 2],
    gather: [[ModelValue; MOST]; 2],
    outgoing: [[ModelValue; MOST]; 2],
    scratch: [[ModelValue; 4]; 2],
    copies: [[ModelValue; 4]; 2],
    private: ModelValue,
    mailboxes: [[ModelMailbox; 8]; 2],
    counters: [u8; 2],
    counted: [u8; 2],
    /// Members but the leader that have counted in for the leader's exchange.
    arrived: u8,
    released: u8,
    leader: LeaderState,
    followers: Vec<FollowerState>,
}

/// The next thing that a leader does.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
enum LeaderStage {
    #[default]
    Lay,
    Gather,
    Run(u8),
    Fetch,
    Release,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
struct LeaderState {
    exchange: u8,
    stage: LeaderStage,
    copied: u8,
    /// Gets that are not complete.
    fetching: u8,
}

/// A member that is no leader.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct FollowerState {
    exchange: u8,
    has_written: bool,
}

/// A message under way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
enum ModelMessage {
    /// Bytes that the network has not read; `whole` is the sum of what they stood for when they were put.
    Put {
        from: (u8, ModelCell),
        to: (u8, ModelCell),
        length: u8,
        exchange: u8,
        whole: u32,
        signal: ModelSignal,
    },
    /// The signal behind them.
    Signal {
        to: u8,
        copy: u8,
        run: u8,
        signal: ModelSignal,
    },
    /// One of the two words of an inline message.
    Word {
        to: u8,
        copy: u8,
        word: u8,
        run: u8,
        second: Option<(ModelValue, u8)>,
    },
    Get {
        by: u8,
        from: u8,
        line: ModelCell,
        exchange: u8,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
enum ModelSignal {
    Set(u8),
    Count,
}

/// All nodes, and what is under way, in order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct TeamModel {
    nodes: Vec<NodeState>,
    messages: Vec<ModelMessage>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TeamEvent {
    /// A leader does its next step.
    Lead(usize),
    /// A member of a node that is no leader does its next step.
    Follow(usize, usize),
    /// The message with this number arrives.
    Arrive(usize),
}

impl TeamHistory {
    /// The copy of a kind of memory that a number uses.
    fn copy(&self, kind: MemoryKind, number: u8) -> u8 {
        if self.rule == WeakerCredits::OneOf(kind) { 0 } else { *Credit::of(number.into()).pick(&[0, 1]) }
    }

    fn cell(&self, kind: MemoryKind, exchange: u8, at: usize) -> ModelCell {
        ModelCell { kind, copy: self.copy(kind, exchange + 1), at: at as u8 }
    }

    fn what(&self, exchange: u8) -> Option<MemoryUse> {
        self.exchanges.get(exchange as usize).copied()
    }

    fn schedule(&self, what: MemoryUse) -> &'static dyn Algorithm {
        match what {
            MemoryUse::Inline | MemoryUse::Scratch => &Dissemination { radix: 2, payload: true },
            MemoryUse::Lines => &Dissemination { radix: 2, payload: false },
            MemoryUse::Gather => &Fcollect,
            MemoryUse::Parts => &Direct { pairwise: true },
        }
    }

    fn step(&self, what: MemoryUse, node: usize, exchange: u8, counted: u8, pc: u8) -> Step {
        let count = if matches!(what, MemoryUse::Gather | MemoryUse::Parts) { self.members } else { 1 };
        let plan = Plan { call: u64::from(exchange) + 1, ..Plan::new(self.nodes, count.into()) };
        let caller = Caller { counted: counted.into(), ..Caller::new(node as u32) };
        self.schedule(what).step(&plan, &caller, pc.into())
    }

    /// Where a place of the schedule is.
    fn locate(&self, what: MemoryUse, node: usize, exchange: u8, loc: Loc) -> ModelCell {
        let at = loc.at as usize;
        let mine = node * self.members as usize;
        match (what, loc.place) {
            (MemoryUse::Inline | MemoryUse::Lines, Place::Source | Place::Dest) => {
                ModelCell { kind: MemoryKind::Private, copy: 0, at: 0 }
            }
            (MemoryUse::Scratch, Place::Source | Place::Dest) => self.cell(MemoryKind::Gather, exchange, at),
            (_, Place::Scratch) => self.cell(MemoryKind::Scratch, exchange, at),
            (MemoryUse::Gather, Place::Source) => self.cell(MemoryKind::Gather, exchange, mine + at),
            (MemoryUse::Parts, Place::Source) => self.cell(MemoryKind::Outgoing, exchange, at),
            (MemoryUse::Gather | MemoryUse::Parts, Place::Dest) => self.cell(MemoryKind::Gather, exchange, at),
        }
    }

    fn bit(&self, node: usize, member: usize) -> u16 {
        1 << (node * self.members as usize + member)
    }

    fn everybody(&self) -> u16 {
        u16::MAX >> (16 - self.nodes * self.members)
    }

    fn is_over(&self, exchange: u8) -> bool {
        exchange as usize == self.exchanges.len()
    }
}

impl NodeState {
    fn at(&mut self, cell: ModelCell) -> &mut ModelValue {
        let (copy, at) = (cell.copy as usize, cell.at as usize);
        match cell.kind {
            MemoryKind::Private => &mut self.private,
            MemoryKind::Lines => &mut self.lines[copy][at],
            MemoryKind::Gather => &mut self.gather[copy][at],
            MemoryKind::Outgoing => &mut self.outgoing[copy][at],
            MemoryKind::Scratch => &mut self.scratch[copy][at],
            MemoryKind::Copies => &mut self.copies[copy][at],
            MemoryKind::Mailboxes | MemoryKind::Counters => unreachable!("these hold no values"),
        }
    }

    /// The value of a cell, which must belong to the exchange.
    fn read(&mut self, cell: ModelCell, exchange: u8, reader: &str) -> Result<ModelValue, String> {
        let value = *self.at(cell);
        if value.exchange == exchange + 1 {
            Ok(value)
        } else {
            Err(format!("{reader} finds {value:?} at {cell:?} in exchange {}", exchange + 1))
        }
    }
}
