//! Decisions at the library's start: the [`job`] and this PE's place in it, the [`placement`] of the node's PEs, the promise of the
//! [thread level](threads), and the [`state`] that lasts until the last finalize. The steps themselves are in `calls::init::lifetime`.

pub(crate) mod job;
pub(crate) mod left_behind;
pub(crate) mod placement;
pub(crate) mod state;
pub(crate) mod threads;
pub(crate) mod waiting;
