//! The child of a fork: no PE, and no part of the job.

use crate::collectives::active_set;
use crate::diagnosis::deadlock;
use crate::memory::control;
use crate::memory::direct::FAST;
use crate::network::{self, lane};
use crate::start::{job, state};
use crate::teams::context::ContextHandle;
use crate::teams::team::TeamHandle;
use crate::wait::suspended;

/// Runs in the child of a fork, which has one thread: everything that others share with the PE is left to the parent. So all
/// calls of the child end where calls without the library end. Only stores to atomics and makes system calls.
pub(super) extern "C" fn leave_to_parent() {
    deadlock::has_forked();
    job::become_forked_child();
    FAST.close();
    active_set::end();
    state::leave_to_parent();
    suspended::leave_to_parent();
    network::leave_to_parent();
    lane::leave_to_parent();
    control::leave_to_parent();
    oxshmem_os::limits::leave_to_parent();
    ContextHandle::default_context().leave();
    for team in [TeamHandle::world(), TeamHandle::shared(), TeamHandle::node()] {
        team.leave_to_parent();
    }
}
