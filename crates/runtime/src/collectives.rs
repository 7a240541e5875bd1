//! Operations of all members of a team.
//!
//! | | |
//! |---|---|
//! | what there is | [`barrier`], [`reduce`](mod@reduce), [`broadcast`](mod@broadcast), [`gather`], [`alltoall`](mod@alltoall), [`variable`], [`scan`](mod@scan) |
//! | a call of one | [`call`], its [`signature`], its [`arguments`] |
//! | who chooses | [`way`]: `oxshmem_schedule::way` by the [`facts`] of the team, which keeps the [`chosen_ways`] |
//! | who does it on a node | [`node_exchange`]: lines with a payload; [`node_eager`]: buffers and rings that members have ready; [`levels`] of a large node; [`on_node`]: loads from the members' memory |
//! | who does it between nodes | [`between_nodes`]; the memory for it and its reuse: `between_nodes::channel` |
//! | who runs a schedule | [`run`], over the memory of the node or between leaders |
//!
//! An active set comes here as a team whose slot is found by its pSync array.

pub(crate) mod active_set;
mod agreement;
mod alltoall;
pub(crate) mod arguments;
pub(crate) mod arrivals;
pub(crate) mod barrier;
pub(crate) mod between_nodes;
mod broadcast;
pub(crate) mod call;
pub(crate) mod choice;
pub(crate) mod chosen_ways;
mod facts;
pub(crate) mod free_buffers;
mod gather;
pub(crate) mod levels;
mod limits;
mod lookout;
pub(crate) mod missed_broadcasts;
pub(crate) mod node_eager;
pub(crate) mod node_exchange;
pub(crate) mod on_node;
mod reduce;
pub(crate) mod run;
mod scan;
pub(crate) mod signature;
mod unanimity;
mod variable;
mod way;

pub(crate) use agreement::agree_on_choice;
pub(crate) use alltoall::{alltoall, alltoalls};
pub(crate) use barrier::synchronise;
pub(crate) use broadcast::broadcast;
pub(crate) use gather::{collect, fcollect};
pub(crate) use reduce::reduce;
pub(crate) use scan::scan;
pub(crate) use variable::{BlockTargets, Blocks, alltoallv};
