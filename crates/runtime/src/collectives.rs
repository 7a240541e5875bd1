//! Operations of all members of a team.
//!
//! A collective is one [`call`] with a [`signature`]. Teams on one node meet at a [`barrier`] and move bytes `on_node`; teams with
//! members on several nodes go [`between_nodes`]; a schedule that the user or the job's [`choice`] names is run by the
//! [`executor`]. An active set comes here as a team whose slot is found by its pSync array.

pub(crate) mod active_set;
pub(crate) mod arrivals;
pub(crate) mod barrier;
pub(crate) mod between_nodes;
pub(crate) mod call;
pub(crate) mod choice;
pub(crate) mod executor;
pub(crate) mod on_node;
pub(crate) mod signature;
pub(crate) mod zones;
