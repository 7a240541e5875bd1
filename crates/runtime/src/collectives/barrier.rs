//! Barriers and syncs. The memory that a barrier completes first is `calls::order`'s.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use oxshmem_base::planted;
use oxshmem_schedule::step::Plan;
use oxshmem_schedule::way::CollectiveWay;

use crate::collectives::call::Call;
use crate::collectives::run::{self, Arrays};
use crate::collectives::{node_exchange, way};
use crate::start::job;
use crate::teams::team::TeamState;
use crate::wait::suspended;

/// The barriers and syncs of all PEs that the caller has left, in a job on several nodes.
static LEFT_BY_ALL: AtomicU32 = AtomicU32::new(0);

/// The number of the last barrier or sync of all PEs that the caller has left. Calls of a PE that come one at a time see the same
/// number on all PEs, because all make their collectives in one order.
pub(crate) fn last_of_all() -> u32 {
    LEFT_BY_ALL.load(Relaxed)
}

/// Waits for all members, in a call that ends with this. A nonblocking call [`synchronise`]s: it ends when a PE happens to move it
/// on, which is at no place in the order of the calls. So one that makes a blocking call counts nothing.
#[inline(always)]
pub(crate) fn meet(call: Call<'_>) {
    synchronise(call);
    if call.team.span.is_some() && !suspended::is_suspended() {
        count(call.team);
    }
}

/// The caller has left a barrier or a sync of the team.
#[cold]
fn count(team: &TeamState) {
    if job::identity().is_some_and(|(_, pes)| planted!("barrier-of-a-part", pes == team.size, true)) {
        LEFT_BY_ALL.store(last_of_all().wrapping_add(1), Relaxed);
    }
}

/// Waits for all members.
#[inline(always)]
pub(crate) fn synchronise(call: Call<'_>) {
    if call.team.scheduled && by_schedule(call) {
        return;
    }
    node_exchange::synchronise(call);
}

#[cold]
fn by_schedule(call: Call<'_>) -> bool {
    call.write_late_record(call.team.meetings() + 1);
    let CollectiveWay::Schedule(schedule, piece) = way::by(call, |team| team.barrier()) else { return false };
    // SAFETY: a schedule that synchronises moves nothing.
    unsafe { run::on_node(call, schedule, piece, Plan::new(call.team.size, 0), Arrays::NONE) };
    true
}
