//! The facts of a team by which a way is chosen, as the runtime knows them.

use oxshmem_schedule::way::{CollectiveWay, LeaseState, LevelLines, NodeSpan, Rules, TeamFacts};

use crate::collectives::chosen_ways::Asked;
use crate::collectives::free_buffers::Leased;
use crate::memory::control::lines::{ONE_WAY, SYNCHRONISING};
use crate::network;
use crate::start::state;
use crate::teams::span::Span;
use crate::teams::team::TeamState;
use crate::wait::pace;

/// The facts by which the team's collectives choose.
pub(crate) fn of_team(team: &TeamState) -> TeamFacts<'_> {
    let levels = team.leveled.then(|| LevelLines {
        shape: &team.hierarchy().shape,
        synchronising: SYNCHRONISING,
        one_way: ONE_WAY,
    });
    let own = state::current().map_or(&[][..], |life| life.choice.rows());
    let span = team.span.as_deref().map(|span| of_span(team, span));
    let crowded = if span.is_some() { network::is_crowded_host() } else { pace::crowded() };
    let rules = Rules { own, crowded, served: network::is_served() };
    TeamFacts { size: team.size, span, levels, scheduled: team.scheduled, posts: team.posts, rules }
}

/// The way of a question for the leases that the team has now.
pub(crate) fn kept_way(team: &TeamState, asked: Asked) -> CollectiveWay {
    team.ways.find(asked, leases(team), || asked.of(&of_team(team)))
}

/// How the team lies on nodes, and what it has leased there.
pub(crate) fn of_span(team: &TeamState, span: &Span) -> NodeSpan {
    let [buffers, ring] = leases(team);
    NodeSpan { nodes: span.nodes(), fewest: span.fewest(), most: span.most(), in_order: span.in_order(), buffers, ring }
}

/// The team's leases: of buffers, and of the broadcast ring.
#[inline(always)]
pub(crate) fn leases(team: &TeamState) -> [LeaseState; 2] {
    let state = |lease: &Leased| if lease.number().is_some() { LeaseState::Held } else { LeaseState::Wanted };
    [state(&team.buffers), state(&team.ring.lease)]
}
