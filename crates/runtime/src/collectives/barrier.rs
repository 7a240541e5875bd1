//! Barriers and syncs. The memory that a barrier completes first is `calls::order`'s.

use oxshmem_schedule::step::Plan;
use oxshmem_schedule::way::CollectiveWay;

use crate::collectives::call::Call;
use crate::collectives::node_exchange;
use crate::collectives::run::{self, Arrays};
use crate::collectives::way;

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
    call.recorded(call.team.meetings() + 1);
    let CollectiveWay::Schedule(schedule, piece) = way::by(call, |team| team.barrier()) else { return false };
    // SAFETY: a schedule that synchronises moves nothing.
    unsafe { run::on_node(call, schedule, piece, Plan::new(call.team.size, 0), Arrays::NONE) };
    true
}
