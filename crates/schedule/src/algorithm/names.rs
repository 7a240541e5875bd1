//! The names of schedules, as they stand in choice tables, settings and reports.

use super::broadcast::{Chain, ScatterGather, Tree};
use super::butterfly::{Butterfly, Peers};
use super::census::{Census, Scan};
use super::central::Central;
use super::chain::ReduceChain;
use super::dissemination::Dissemination;
use super::{Collective, OperatorLaw, Schedule, alltoall, circulant, gather, ring};
use core::fmt;

/// Every collective with its name; reductions are told apart by what their operator allows.
pub const COLLECTIVES: [(&str, Collective); 11] = [
    ("sync", Collective::Sync),
    ("reduce-idempotent", Collective::Reduce(OperatorLaw::Idempotent)),
    ("reduce-exact", Collective::Reduce(OperatorLaw::Exact)),
    ("reduce-fixed-tree", Collective::Reduce(OperatorLaw::FixedTree)),
    ("inscan", Collective::Inscan),
    ("exscan", Collective::Exscan),
    ("broadcast", Collective::Broadcast),
    ("fcollect", Collective::Fcollect),
    ("collect", Collective::Collect),
    ("shares", Collective::Shares),
    ("alltoall", Collective::Alltoall),
];

/// The collectives that one setting speaks for, by the name in the setting: `SHMEM_BCAST_ALGORITHM`.
pub const FAMILIES: [(&str, &[Collective]); 6] = [
    ("BARRIER", &[Collective::Sync]),
    ("BCAST", &[Collective::Broadcast]),
    (
        "REDUCE",
        &[
            Collective::Reduce(OperatorLaw::Idempotent),
            Collective::Reduce(OperatorLaw::Exact),
            Collective::Reduce(OperatorLaw::FixedTree),
            Collective::Inscan,
            Collective::Exscan,
        ],
    ),
    ("COLLECT", &[Collective::Collect]),
    ("FCOLLECT", &[Collective::Fcollect]),
    ("ALLTOALL", &[Collective::Alltoall]),
];

/// A name of every kind of schedule, with the parameters that are worth a comparison. [`find`] takes others too.
pub const NAMES: [&str; 18] = [
    "dissemination-2",
    "dissemination-4",
    "dissemination-8",
    "census",
    "butterfly-2",
    "butterfly-4",
    "swing",
    "ring",
    "circulant",
    "tree-2",
    "tree-4",
    "tree-8",
    "chain-8192",
    "scatter-gather",
    "shift",
    "pairwise",
    "bruck",
    "central",
];

/// Those of [`NAMES`] that serve at least one of `collectives`.
pub fn serving(collectives: &[Collective]) -> impl Iterator<Item = &'static str> {
    NAMES.into_iter().filter(|name| collectives.iter().any(|&collective| find(collective, name).is_some()))
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let name = COLLECTIVES.iter().find(|(_, collective)| collective == self).map(|(name, _)| *name);
        f.pad(name.expect("every collective has a name"))
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Dissemination(d) => write!(f, "dissemination-{}", d.radix),
            Self::Census(_) | Self::Scan(_) | Self::Fcollect(_) | Self::Collect(_) | Self::Shares(_) => {
                f.write_str("census")
            }
            Self::Butterfly(b) if b.peers == Peers::Swing => f.write_str("swing"),
            Self::Butterfly(b) => write!(f, "butterfly-{}", b.radix),
            Self::RingReduce(_) | Self::RingGather(_) => f.write_str("ring"),
            Self::Circulant(_) => f.write_str("circulant"),
            Self::Tree(t) => write!(f, "tree-{}", t.radix),
            Self::Chain(c) => write!(f, "chain-{}", c.segment),
            Self::ReduceChain(c) => write!(f, "chain-{}", c.segment),
            Self::ScatterGather(_) => f.write_str("scatter-gather"),
            Self::Direct(d) => f.write_str(if d.pairwise { "pairwise" } else { "shift" }),
            Self::Bruck(_) => f.write_str("bruck"),
            Self::Central(_) => f.write_str("central"),
        }
    }
}

/// The schedule of that name for a collective, if there is one that serves it: `tree-4`, `census`, `ring`, …
pub fn find(collective: Collective, name: &str) -> Option<Schedule> {
    let (name, parameter) = match name.rsplit_once('-').and_then(|(name, n)| Some((name, n.parse::<u32>().ok()?))) {
        Some((name, parameter)) => (name, Some(parameter)),
        None => (name, None),
    };
    let radix = |allowed: &[u32]| parameter.filter(|radix| allowed.contains(radix));
    let payload = collective != Collective::Sync;
    let schedule = match (name, collective) {
        ("dissemination", _) => {
            Schedule::Dissemination(Dissemination { radix: parameter.filter(|&r| (2..=64).contains(&r))?, payload })
        }
        ("butterfly", _) => {
            let radix = radix(&[2, 3, 4, 5, 6, 7, 8])?;
            Schedule::Butterfly(Butterfly { radix, peers: Peers::Neighbours })
        }
        ("tree", _) => Schedule::Tree(Tree { radix: radix(&[2, 3, 4, 8])? }),
        ("chain", _) => {
            let segment = u64::from(parameter.filter(|&segment| segment > 0)?);
            match collective {
                Collective::Broadcast => Schedule::Chain(Chain { segment }),
                _ => Schedule::ReduceChain(ReduceChain { segment }),
            }
        }
        _ if parameter.is_some() => return None,
        ("swing", _) => Schedule::Butterfly(Butterfly { radix: 2, peers: Peers::Swing }),
        ("census", Collective::Inscan) => Schedule::Scan(Scan { inclusive: true }),
        ("census", Collective::Exscan) => Schedule::Scan(Scan { inclusive: false }),
        ("census", Collective::Fcollect) => Schedule::Fcollect(gather::Fcollect),
        ("census", Collective::Collect) => Schedule::Collect(gather::Collect),
        ("census", Collective::Shares) => Schedule::Shares(gather::Shares),
        ("census", _) => Schedule::Census(Census),
        ("ring", Collective::Fcollect) => Schedule::RingGather(ring::RingGather),
        ("ring", _) => Schedule::RingReduce(ring::RingReduce),
        ("circulant", _) => Schedule::Circulant(circulant::Circulant),
        ("scatter-gather", _) => Schedule::ScatterGather(ScatterGather),
        ("shift", _) => Schedule::Direct(alltoall::Direct { pairwise: false }),
        ("pairwise", _) => Schedule::Direct(alltoall::Direct { pairwise: true }),
        ("bruck", _) => Schedule::Bruck(alltoall::Bruck),
        ("central", _) => Schedule::Central(Central { payload }),
        _ => return None,
    };
    schedule.serves(collective).then_some(schedule)
}
