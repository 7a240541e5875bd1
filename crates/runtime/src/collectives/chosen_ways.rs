//! The ways that a team has chosen.
//!
//! A way follows from the question and from the team's leases; all else stays as it is while the team lives. So a team keeps
//! answers, because the choice takes a fifth of the instructions of a short broadcast between nodes. Before all PEs are known to have the
//! same rows of the user (`choice`), the world makes no collective whose way it keeps, but to name PEs that differ.

use std::sync::OnceLock;

use oxshmem_schedule::way::{
    CollectiveWay, LeaderSchedule, LeaseState, NodeShares, Reach, ReduceFacts, StridedElements, TeamFacts,
};

/// The question of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Asked {
    Reduce(ReduceFacts),
    Scan {
        facts: ReduceFacts,
        inclusive: bool,
    },
    /// `root_node` is the number of the root's node, if there are several; the root's own destination may stay `apart`.
    Broadcast {
        bytes: usize,
        root: u32,
        root_node: u32,
        apart: bool,
    },
    Fcollect {
        bytes: usize,
    },
    /// `strided`: the elements, if the call has strides.
    Alltoall {
        bytes: usize,
        strided: Option<StridedElements>,
    },
    /// How leaders gather what the nodes bring; `Members` if there is no room.
    Gather {
        shares: NodeShares,
        reach: Reach,
    },
}

impl Asked {
    pub(crate) fn of(self, team: &TeamFacts<'_>) -> CollectiveWay {
        match self {
            Self::Reduce(facts) => team.reduce(facts),
            Self::Scan { facts, inclusive } => team.scan(facts, inclusive),
            Self::Broadcast { bytes, root, root_node, apart } => team.broadcast(bytes, root, root_node, apart),
            Self::Fcollect { bytes } => team.fcollect(bytes),
            Self::Alltoall { bytes, strided } => team.alltoall(bytes, strided),
            Self::Gather { shares, reach } => {
                let has_buffers = team.span.is_some_and(|span| span.buffers == LeaseState::Held);
                team.gathering(shares, reach, has_buffers).map_or(CollectiveWay::Members, CollectiveWay::Gathered)
            }
        }
    }

    /// The place where a team looks for the answer. Sizes that are powers of two, and roots that take turns, have places of their own.
    fn place(self, leases: [LeaseState; 2]) -> usize {
        let (kind, bytes, root) = match self {
            Self::Reduce(facts) => (0, facts.n.wrapping_mul(facts.element), facts.law as u32),
            Self::Scan { facts, .. } => (1, facts.n.wrapping_mul(facts.element), 0),
            Self::Broadcast { bytes, root, .. } => (2, bytes, root),
            Self::Fcollect { bytes } => (3, bytes, 0),
            Self::Alltoall { bytes, .. } => (4, bytes, 0),
            Self::Gather { shares, .. } => (5, shares.total as usize, 0),
        };
        let leases = leases.iter().fold(0, |all, &lease| all << 1 | u64::from(lease == LeaseState::Held));
        let words = (bytes as u64) << 10 ^ u64::from(root) << 5 ^ leases << 3 ^ kind;
        (words.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - PLACES.ilog2())) as usize
    }
}

const PLACES: usize = 64;

/// The answers that a team keeps: the first question of each place. Another question there is answered anew each time.
#[derive(Default)]
pub(crate) struct ChosenWays {
    places: OnceLock<Box<[OnceLock<Chosen>]>>,
    /// How the leaders of the team's nodes wait for each other, which depends on no lease.
    meeting: OnceLock<LeaderSchedule>,
}

struct Chosen {
    asked: Asked,
    leases: [LeaseState; 2],
    way: CollectiveWay,
}

impl ChosenWays {
    /// The way of the question for a team that holds these leases; `choose` finds it.
    pub(crate) fn find(
        &self,
        asked: Asked,
        leases: [LeaseState; 2],
        choose: impl Fn() -> CollectiveWay,
    ) -> CollectiveWay {
        let places = self.places.get_or_init(|| (0..PLACES).map(|_| OnceLock::new()).collect());
        let kept = places[asked.place(leases)].get_or_init(|| Chosen { asked, leases, way: choose() });
        if kept.asked == asked && kept.leases == leases { kept.way } else { choose() }
    }

    /// How the leaders wait for each other; `choose` finds it.
    pub(crate) fn meeting(&self, choose: impl FnOnce() -> LeaderSchedule) -> LeaderSchedule {
        *self.meeting.get_or_init(choose)
    }
}

#[cfg(test)]
mod tests;
