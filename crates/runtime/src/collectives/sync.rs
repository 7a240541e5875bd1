//! Barriers and syncs: the way of each call. The memory that a barrier completes first is `calls::order`'s.

use crate::collectives::barrier;
use crate::collectives::call::Call;
use crate::collectives::executor;

/// Waits for all members.
#[inline(always)]
pub(crate) fn synchronise(call: Call<'_>) {
    if call.team.scheduled {
        call.recorded(call.team.meetings() + 1);
        if executor::sync(call) {
            return;
        }
    }
    barrier::synchronise(call);
}
