//! Which algorithm a call takes: a table keyed by collective, team size and bytes.
//!
//! The choice depends on what all members know alike, never on load, time or place, so all of them choose alike. The
//! standard table is compiled in; a job may put rows of its own before it, read from JSON by [`from_json`] (feature
//! `tools`) on every PE.

#[cfg(feature = "tools")]
mod json;
#[cfg(feature = "tools")]
mod settings;
#[cfg(feature = "tools")]
mod words;

#[cfg(feature = "tools")]
pub use json::{VERSION, from_json, to_json};
#[cfg(feature = "tools")]
pub use settings::prefer;
#[cfg(feature = "tools")]
pub use words::{explain, explain_from};

use crate::algorithm::alltoall::{Bruck, Direct};
use crate::algorithm::broadcast::{Chain, ScatterGather, Tree};
use crate::algorithm::census::{Census, Scan};
use crate::algorithm::chain::ReduceChain;
use crate::algorithm::circulant::Circulant;
use crate::algorithm::dissemination::Dissemination;
use crate::algorithm::ring::{RingGather, RingReduce};
use crate::algorithm::{Collective, OperatorLaw, Schedule, gather};

/// The facts about a call that all members know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// The result that it has to achieve.
    pub collective: Collective,
    /// Members of the team.
    pub size: u32,
    /// Elements, as in [`Plan::count`](crate::step::Plan).
    pub count: u64,
    /// Bytes of an element.
    pub element: u64,
    /// The root's dest must not be written, as in active-set broadcasts.
    pub root_apart: bool,
}

impl Question {
    const fn bytes(&self) -> u64 {
        self.count.saturating_mul(self.element)
    }
}

/// A row: it answers questions up to its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The collective.
    pub collective: Collective,
    /// The largest team.
    pub max_size: u32,
    /// The most bytes, of the array or of one PE's block.
    pub max_bytes: u64,
    /// The answer. The segment of a [`Chain`] or a [`ReduceChain`] stands in bytes here.
    pub schedule: Schedule,
}

const ANY: u32 = u32::MAX;
const ALL: u64 = u64::MAX;
const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

const fn row(collective: Collective, max_size: u32, max_bytes: u64, schedule: Schedule) -> Row {
    Row { collective, max_size, max_bytes, schedule }
}

const fn dissemination(radix: u32, payload: bool) -> Schedule {
    Schedule::Dissemination(Dissemination { radix, payload })
}

const IDEMPOTENT: Collective = Collective::Reduce(OperatorLaw::Idempotent);
const EXACT: Collective = Collective::Reduce(OperatorLaw::Exact);

/// The standard table: the first row that fits answers, and the last one of a collective fits always. Reductions whose order
/// is fixed have no row: they are folded in the order of the team, so that no schedule changes their bits.
pub const STANDARD: &[Row] = &[
    row(Collective::Sync, ANY, ALL, dissemination(4, false)),
    row(IDEMPOTENT, ANY, 2 * KIB, dissemination(4, true)),
    row(IDEMPOTENT, 8, ALL, Schedule::RingReduce(RingReduce)),
    row(IDEMPOTENT, ANY, ALL, Schedule::Circulant(Circulant)),
    row(EXACT, ANY, 2 * KIB, Schedule::Census(Census)),
    row(EXACT, 8, ALL, Schedule::RingReduce(RingReduce)),
    row(EXACT, ANY, ALL, Schedule::Circulant(Circulant)),
    row(Collective::Inscan, ANY, ALL, Schedule::Scan(Scan { inclusive: true })),
    row(Collective::Exscan, ANY, ALL, Schedule::Scan(Scan { inclusive: false })),
    row(Collective::Broadcast, ANY, 64 * KIB, Schedule::Tree(Tree { radix: 4 })),
    row(Collective::Broadcast, 8, ALL, Schedule::Chain(Chain { segment: 64 * KIB })),
    row(Collective::Broadcast, ANY, ALL, Schedule::ScatterGather(ScatterGather)),
    // Where the root's dest stays apart, only these are left.
    row(Collective::Broadcast, ANY, ALL, Schedule::Tree(Tree { radix: 2 })),
    row(Collective::Fcollect, 64, ALL, Schedule::Fcollect(gather::Fcollect)),
    row(Collective::Fcollect, ANY, MIB, Schedule::Fcollect(gather::Fcollect)),
    row(Collective::Fcollect, ANY, ALL, Schedule::RingGather(RingGather)),
    row(Collective::Collect, ANY, ALL, Schedule::Collect(gather::Collect)),
    row(Collective::Shares, ANY, ALL, Schedule::Shares(gather::Shares)),
    row(Collective::Alltoall, 15, ALL, Schedule::Direct(Direct { pairwise: true })),
    row(Collective::Alltoall, ANY, 32, Schedule::Bruck(Bruck)),
    row(Collective::Alltoall, ANY, ALL, Schedule::Direct(Direct { pairwise: true })),
];

/// Rows that go before the standard table where the processor of the target serves every message, as with TCP: messages
/// are dear there, bytes are not, so fewer rounds are worth more bytes.
///
/// Where they change was measured by `oxshmem tune` over TCP between two and four nodes that shared two processors; rows
/// for so few nodes end there. Between two nodes a broadcast is one put: 2 MiB took 0.62 ms instead of 1.27 in pieces of
/// 64 KiB; between four, pieces of 512 KiB took 1.24 instead of 2.24. Reductions of 32 KiB took 0.21 ms instead of 0.31 by
/// a ring, which was the quicker one at 256 KiB.
pub const SERVED: &[Row] = &[
    row(Collective::Broadcast, 2, ALL, Schedule::Tree(Tree { radix: 2 })),
    row(Collective::Broadcast, 4, 64 * KIB, Schedule::Tree(Tree { radix: 4 })),
    row(Collective::Broadcast, 4, ALL, Schedule::Chain(Chain { segment: 512 * KIB })),
    row(IDEMPOTENT, ANY, 2 * KIB, dissemination(4, true)),
    row(IDEMPOTENT, 4, 64 * KIB, dissemination(2, true)),
    row(IDEMPOTENT, ANY, 16 * KIB, dissemination(2, true)),
    row(EXACT, 4, 64 * KIB, Schedule::Census(Census)),
    row(EXACT, ANY, 16 * KIB, Schedule::Census(Census)),
];

/// Rows that go before [`SERVED`] where all nodes are one machine with fewer processors than PEs, as with `oshrun --nodes` on a
/// laptop: a message takes a processor from all the others, and a round costs no more than the turns that are taken anyway. So
/// the fewest messages win.
///
/// Measured on two processors with a PE on each node, in turns with the rows below: barriers of four nodes over TCP, UCX and libfabric took
/// 50, 61 and 49 us instead of 65, 73 and 58, of eight over TCP and UCX 177 and 175 instead of 249 and 221, and a maximum of one
/// integer likewise; a part of that comes from partners. Broadcasts of 8 and 32 KiB between four nodes took 30 and 40 us
/// instead of 39 and 52 over TCP, and of 512 KiB 478, 1,199 and 883 over TCP, UCX and libfabric instead of 583, 1,273 and 1,090 by a chain;
/// between eight nodes 1,767, 3,276 and 2,498 instead of 2,424, 3,759 and 8,928. Among eight nodes over TCP maxima and exact sums of
/// 32 KiB took 285 and 291 us instead of 483 and 464 in slices; all-gathers of 128 KiB from each took 1,597 by a ring instead of 2,643.
pub const CROWDED: &[Row] = &[
    // Among three nodes one round has no more messages than two.
    row(Collective::Sync, 3, ALL, dissemination(4, false)),
    row(Collective::Sync, ANY, ALL, dissemination(2, false)),
    row(IDEMPOTENT, 3, 2 * KIB, dissemination(4, true)),
    row(IDEMPOTENT, ANY, 2 * KIB, dissemination(2, true)),
    row(IDEMPOTENT, 16, 32 * KIB, dissemination(2, true)),
    row(EXACT, 16, 32 * KIB, Schedule::Census(Census)),
    row(Collective::Broadcast, ANY, ALL, Schedule::Tree(Tree { radix: 2 })),
    row(Collective::Fcollect, 4, ALL, Schedule::Fcollect(gather::Fcollect)),
    // More from each of five nodes is longer than a gather buffer, so all have met and compared their calls before a ring begins. Its signals
    // say nothing about the call.
    row(Collective::Fcollect, ANY, 52 * KIB, Schedule::Fcollect(gather::Fcollect)),
    row(Collective::Fcollect, ANY, ALL, Schedule::RingGather(RingGather)),
];

/// Why a row does not answer a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Miss {
    Collective,
    Size,
    Bytes,
    Root,
}

impl Row {
    fn misses(&self, question: &Question) -> Option<Miss> {
        if self.collective != question.collective {
            Some(Miss::Collective)
        } else if question.size > self.max_size {
            Some(Miss::Size)
        } else if question.bytes() > self.max_bytes {
            Some(Miss::Bytes)
        } else if question.root_apart && matches!(self.schedule, Schedule::ScatterGather(_)) {
            Some(Miss::Root)
        } else {
            None
        }
    }

    fn answer(&self, question: &Question) -> Schedule {
        let elements = |bytes: u64| (bytes / question.element.max(1)).max(1);
        match self.schedule {
            Schedule::Chain(chain) => Schedule::Chain(Chain { segment: elements(chain.segment) }),
            Schedule::ReduceChain(chain) => Schedule::ReduceChain(ReduceChain { segment: elements(chain.segment) }),
            schedule => schedule,
        }
    }
}

/// The schedule of a call: the first fitting row of the job's own rows, else of the standard table. The collective has rows
/// there.
pub fn choose(own: &[Row], question: &Question) -> Schedule {
    let answer = choose_from(own, question).or_else(|| choose_from(STANDARD, question));
    answer.expect("the last standard row of a collective fits always")
}

/// The answer of the first fitting row, if there is one.
pub fn choose_from(rows: &[Row], question: &Question) -> Option<Schedule> {
    rows.iter().find(|row| row.misses(question).is_none()).map(|row| row.answer(question))
}

#[cfg(test)]
mod tests;
