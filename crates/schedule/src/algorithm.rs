//! Every algorithm there is, by collective.

pub mod alltoall;
pub mod broadcast;
pub mod butterfly;
pub mod census;
pub mod central;
pub mod chain;
pub mod circulant;
pub mod dissemination;
pub mod gather;
pub mod names;
pub mod ring;

use crate::step::{Algorithm, Caller, Plan, Step, Traffic};
use butterfly::Peers;

/// The result that a call has to achieve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Collective {
    /// No member leaves before all have come.
    Sync,
    /// Dest is the reduction of all sources.
    Reduce(OperatorLaw),
    /// Dest is the sum of the sources up to this PE.
    Inscan,
    /// Dest is the sum of the sources before this PE.
    Exscan,
    /// Dest is the root's source.
    Broadcast,
    /// Dest is all sources in team order.
    Fcollect,
    /// The same with sources of different length.
    Collect,
    /// The first half of a collect.
    Shares,
    /// Block j of dest is this PE's block of PE j's source.
    Alltoall,
}

/// The laws that the operator of a reduction obeys, and so the freedom that it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperatorLaw {
    /// An operand may count twice: and, or, max, min.
    Idempotent,
    /// Any association, any order, each operand once: integer sum and product, exclusive or.
    Exact,
    /// All PEs must compute the same tree over (size, count): floating-point and complex sum and product.
    FixedTree,
}

macro_rules! schedules {
    ($($name:ident($algorithm:ty),)*) => {
        /// An algorithm with its parameters.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Schedule {
            $(
                #[doc = concat!("See [`", stringify!($algorithm), "`].")]
                $name($algorithm),
            )*
        }

        impl Algorithm for Schedule {
            fn traffic(&self) -> Traffic {
                match self { $(Self::$name(algorithm) => algorithm.traffic(),)* }
            }
            fn words(&self, plan: &Plan) -> u32 {
                match self { $(Self::$name(algorithm) => algorithm.words(plan),)* }
            }
            fn scratch(&self, plan: &Plan) -> u64 {
                match self { $(Self::$name(algorithm) => algorithm.scratch(plan),)* }
            }
            fn arrivals(&self, plan: &Plan, rank: u32) -> u64 {
                match self { $(Self::$name(algorithm) => algorithm.arrivals(plan, rank),)* }
            }
            #[inline]
            fn step(&self, plan: &Plan, me: &Caller, pc: u64) -> Step {
                match self { $(Self::$name(algorithm) => algorithm.step(plan, me, pc),)* }
            }
        }
    };
}

schedules! {
    Dissemination(dissemination::Dissemination),
    Census(census::Census),
    Scan(census::Scan),
    Butterfly(butterfly::Butterfly),
    RingReduce(ring::RingReduce),
    RingGather(ring::RingGather),
    Circulant(circulant::Circulant),
    ReduceChain(chain::ReduceChain),
    Tree(broadcast::Tree),
    Chain(broadcast::Chain),
    ScatterGather(broadcast::ScatterGather),
    Fcollect(gather::Fcollect),
    Collect(gather::Collect),
    Shares(gather::Shares),
    Direct(alltoall::Direct),
    Bruck(alltoall::Bruck),
    Central(central::Central),
}

impl Schedule {
    /// The result of the algorithm, for reductions with the most demanding operator that it serves.
    pub const fn achieves(&self) -> Collective {
        match self {
            Self::Dissemination(d) if !d.payload => Collective::Sync,
            Self::Dissemination(_) => Collective::Reduce(OperatorLaw::Idempotent),
            Self::Census(_) => Collective::Reduce(OperatorLaw::Exact),
            Self::Butterfly(b) if matches!(b.peers, Peers::Swing) => Collective::Reduce(OperatorLaw::Exact),
            Self::Butterfly(_) | Self::RingReduce(_) | Self::Circulant(_) | Self::ReduceChain(_) => {
                Collective::Reduce(OperatorLaw::FixedTree)
            }
            Self::Central(c) if !c.payload => Collective::Sync,
            Self::Central(_) => Collective::Reduce(OperatorLaw::FixedTree),
            Self::Scan(s) if s.inclusive => Collective::Inscan,
            Self::Scan(_) => Collective::Exscan,
            Self::Tree(_) | Self::Chain(_) | Self::ScatterGather(_) => Collective::Broadcast,
            Self::RingGather(_) | Self::Fcollect(_) => Collective::Fcollect,
            Self::Collect(_) => Collective::Collect,
            Self::Shares(_) => Collective::Shares,
            Self::Direct(_) | Self::Bruck(_) => Collective::Alltoall,
        }
    }

    /// Whether each word is signalled at most once in a call, so that data which comes inline with the signal may wait in the mailbox
    /// of the word until the wait for it copies it to its place. Proven with `prove::Case::inline`.
    pub const fn allows_inline(&self) -> bool {
        matches!(
            self,
            Self::Dissemination(_)
                | Self::Census(_)
                | Self::Scan(_)
                | Self::Butterfly(_)
                | Self::Fcollect(_)
                | Self::Collect(_)
                | Self::Shares(_)
        )
    }

    /// Whether puts go to scratch only, so that a member which has not entered the call, and has no dest ready, is not
    /// disturbed. A test compares that with the steps.
    pub const fn spares_dest(&self) -> bool {
        matches!(self, Self::Dissemination(_) | Self::Census(_) | Self::Scan(_) | Self::Shares(_))
    }

    /// Whether the source of a put stays as it is until the target has seen the signal, or the call is over, so that the network
    /// may read it late, without a copy. Proven with `prove::Case::zero_copy`.
    pub const fn allows_zero_copy(&self) -> bool {
        matches!(
            self,
            Self::RingReduce(_)
                | Self::RingGather(_)
                | Self::Circulant(_)
                | Self::ReduceChain(_)
                | Self::Tree(_)
                | Self::Chain(_)
                | Self::ScatterGather(_)
                | Self::Fcollect(_)
                | Self::Collect(_)
                | Self::Direct(_)
        )
    }

    /// Whether operands may land in dest, where the results go, if that is not the source and every member is ready: then the
    /// size of the scratch does not bound the length. Proven with `prove::Case::lands`.
    pub const fn lands_in_dest(&self) -> bool {
        matches!(self, Self::RingReduce(_) | Self::ReduceChain(_))
    }

    /// Whether it can stand for `wanted`.
    pub fn serves(&self, wanted: Collective) -> bool {
        match (self.achieves(), wanted) {
            // An algorithm with one tree also serves operators that allow any tree, and exact ones.
            (Collective::Reduce(able), Collective::Reduce(needed)) => needed <= able,
            (able, needed) => able == needed,
        }
    }
}
