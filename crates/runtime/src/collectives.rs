//! Operations of all members of a team.
//!
//! A collective is one [`call`] with a [`signature`]. Its file ([`broadcast`], [`gather`], [`alltoall`], [`variable`], [`reduce`],
//! [`scan`], [`sync`]) begins with the choice of the way: a schedule that the job wants ([`executor`]), the ways between nodes
//! ([`between_nodes`]), the payload of a [`barrier`], the
//! levels of a large node ([`levels`]), or loads from the members' memory ([`on_node`]). [`limits`] has the
//! sizes by which it chooses. An active set comes here as
//! a team whose slot is found by its pSync array.

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
pub(crate) mod executor;
mod gather;
pub(crate) mod leased;
pub(crate) mod levels;
mod limits;
mod lookout;
pub(crate) mod on_node;
mod reduce;
mod scan;
pub(crate) mod signature;
mod sync;
mod variable;

pub(crate) use agreement::agree_on_choice;
pub(crate) use alltoall::{alltoall, alltoalls};
pub(crate) use broadcast::broadcast;
pub(crate) use gather::{collect, fcollect};
pub(crate) use reduce::reduce;
pub(crate) use scan::scan;
pub(crate) use sync::synchronise;
pub(crate) use variable::{Blocks, Into, alltoallv};
