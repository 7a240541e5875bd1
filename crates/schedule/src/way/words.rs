//! Ways in words, for people.

use alloc::format;
use alloc::string::String;
use core::fmt;

use super::{
    CollectiveWay, LeaderSchedule, LeaseState, NodeShares, NodeSpan, PartExchange, ReduceFacts, Rules, TeamFacts,
};
use crate::algorithm::{Collective, OperatorLaw, Schedule};

impl fmt::Display for CollectiveWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Schedule(schedule, _) => write!(f, "schedule: {schedule} in the members' memory"),
            Self::Exchange => f.write_str("exchange: the data travels with one exchange of all members"),
            Self::NodeEager => {
                f.write_str("eager: through memory that each member has ready, in one exchange; a broadcast in none")
            }
            Self::Levels => f.write_str("levels: caches, NUMA nodes and packages one after the other"),
            Self::Members => f.write_str("members: each member reads what it needs from the memory of the others"),
            Self::Inline(way) => write!(f, "inline: combined on each node, then by messages of {}", among(way)),
            Self::Eager(way) => write!(f, "eager: combined on each node, then by {} in scratch that waits", among(way)),
            Self::Gathered(way) => {
                write!(f, "gathered: by {} in gather buffers, where each member takes it", among(way))
            }
            Self::Ring(tree) => {
                write!(
                    f,
                    "ring: down a tree of {} children through broadcast rings; the root goes on at once",
                    tree.radix
                )
            }
            Self::Slices { parts, results } => {
                write!(f, "slices: each node folds one; operands {}, results by {}", of(parts), among(results))
            }
            Self::Parts(parts) => write!(f, "parts: what one node has for another goes together, {}", of(parts)),
            Self::Pieces(n) => write!(f, "pieces: as calls of {n} elements, one after the other"),
            Self::Rendezvous(way) => write!(f, "rendezvous: all meet, then once to each node by {}", among(way)),
        }
    }
}

fn among(way: &LeaderSchedule) -> String {
    format!("{} among the leaders", way.schedule)
}

fn of(parts: &PartExchange) -> String {
    format!("by {} in parts of {} bytes", parts.schedule.schedule, parts.part)
}

impl CollectiveWay {
    /// The schedule that it runs; of two the one that moves operands.
    pub fn schedule(&self) -> Option<Schedule> {
        match self {
            Self::Schedule(schedule, _) => Some(*schedule),
            Self::Inline(way) | Self::Eager(way) | Self::Gathered(way) | Self::Rendezvous(way) => Some(way.schedule),
            Self::Slices { parts, .. } | Self::Parts(parts) => Some(parts.schedule.schedule),
            Self::Ring(tree) => Some(Schedule::Tree(*tree)),
            Self::Exchange | Self::NodeEager | Self::Levels | Self::Members | Self::Pieces(_) => None,
        }
    }
}

impl<'a> TeamFacts<'a> {
    /// Of a team of `size` members that are spread evenly over nodes, and finds free what it asks for.
    pub fn spread(size: u32, nodes: u32, rules: Rules<'a>) -> Self {
        let (fewest, most) = (size / nodes, size.div_ceil(nodes));
        let (buffers, ring) = (LeaseState::Wanted, LeaseState::Wanted);
        let span = NodeSpan { nodes, fewest, most, in_order: true, buffers, ring };
        let (span, scheduled) = if nodes > 1 { (Some(span), false) } else { (None, size > 1) };
        Self { span, scheduled, rules, ..TeamFacts::plain(size) }
    }

    /// The way of a call with arrays, or with blocks, of `n` elements of `element` bytes.
    pub fn way(&self, collective: Collective, element: usize, n: usize) -> CollectiveWay {
        let reduction = |law| ReduceFacts { law, element, n, in_place: false };
        let bytes = n.saturating_mul(element);
        match collective {
            Collective::Sync => self.barrier(),
            Collective::Reduce(law) => self.reduce(reduction(law)),
            Collective::Inscan => self.scan(reduction(OperatorLaw::Exact), true),
            Collective::Exscan => self.scan(reduction(OperatorLaw::Exact), false),
            Collective::Broadcast => self.broadcast(bytes, 0, 0, false),
            Collective::Fcollect => self.fcollect(bytes),
            Collective::Alltoall => self.alltoall(bytes, None),
            Collective::Collect | Collective::Shares => match &self.span {
                Some(span) => self.gather(NodeShares::blocks(self.size, span, bytes)),
                None => CollectiveWay::Exchange,
            },
        }
    }
}
