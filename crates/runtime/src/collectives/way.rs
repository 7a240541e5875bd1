//! The way that a call takes: [`TeamFacts`] chooses it, and the team leases the buffers that it wants.

use oxshmem_schedule::way::size_limits::{NODE_EAGER, PAYLOAD};
use oxshmem_schedule::way::{CollectiveWay, TeamFacts};

use crate::collectives::between_nodes::buffer_leases;
use crate::collectives::call::Call;
pub(crate) use crate::collectives::chosen_ways::Asked;
use crate::collectives::facts;

/// The way of the call's question; without buffers if none are free on all members. The same on all members, because all know
/// the same, and ask for buffers in step.
#[cold]
#[inline(never)]
pub(crate) fn of(call: Call<'_>, asked: Asked) -> CollectiveWay {
    with_buffers(call, facts::kept_way(call.team, asked), |team| asked.of(team))
}

/// The way of a question of a call whose members have so many bytes for each other. A team on one node without rows of the user asks
/// nobody about the shortest and the longest ones.
#[inline(always)]
pub(crate) fn of_bytes(call: Call<'_>, bytes: usize, asked: Asked) -> CollectiveWay {
    match call.team.is_plain() {
        true if bytes <= PAYLOAD => CollectiveWay::Exchange,
        true if bytes > NODE_EAGER => CollectiveWay::Members,
        _ => of(call, asked),
    }
}

/// The way that `choose` finds, for a question that no other call repeats.
pub(crate) fn by(call: Call<'_>, choose: impl Fn(&TeamFacts<'_>) -> CollectiveWay) -> CollectiveWay {
    let way = choose(&facts::of_team(call.team));
    with_buffers(call, way, choose)
}

fn with_buffers(call: Call<'_>, way: CollectiveWay, choose: impl Fn(&TeamFacts<'_>) -> CollectiveWay) -> CollectiveWay {
    match &call.team.span {
        Some(span) if way.wants_buffers() && buffer_leases::buffers(call, span).is_none() => {
            choose(&facts::of_team(call.team).without_buffers())
        }
        _ => way,
    }
}
