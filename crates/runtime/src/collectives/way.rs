//! The way that a call takes: [`TeamFacts`] chooses it, and the team leases the buffers that it wants.

use oxshmem_schedule::way::{CollectiveWay, TeamFacts};

use crate::collectives::between_nodes::buffer_leases;
use crate::collectives::call::Call;
use crate::collectives::facts;

/// The way that `choose` finds for the call's team; without buffers if none are free on all members. The same on all members,
/// because all know the same, and ask for buffers in step.
#[cold]
#[inline(never)]
pub(crate) fn of(call: Call<'_>, choose: impl Fn(&TeamFacts<'_>) -> CollectiveWay) -> CollectiveWay {
    let facts = facts::of_team(call.team);
    let way = choose(&facts);
    match &call.team.span {
        Some(span) if way.wants_buffers() && buffer_leases::buffers(call, span).is_none() => {
            choose(&facts.without_buffers())
        }
        _ => way,
    }
}
