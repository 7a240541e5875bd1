//! Broadcasts of teams on one node that a member has missed, when the team has not met again: the root of a posted broadcast goes on
//! (`node_eager`), and the digest of these broadcasts is compared in meetings alone. `active_set` looks at its sets.

use core::sync::atomic::Ordering::Acquire;

use oxshmem_base::Error;

use crate::collectives::signature::number_of;
use crate::diagnosis::errors;
use crate::teams::live_teams;
use crate::teams::team::{TeamHandle, TeamState};

/// Ends the job if a member of a team that lives has missed a posted broadcast. All PEs have made their last collective.
pub(crate) fn demand_all_taken(call: &'static str) {
    let found = live_teams::find(|team| Some((in_words(team), team.world(behind(team)?), team.world(team.my))));
    if let Some((team, other, me)) = found {
        errors::fail(
            &Error::new(format!("{call}: PE {other} has not made a broadcast that PE {me} has made"))
                .because(format!("the broadcast is one of {team}, which has not met since then"))
                .fix("let all members of the team make the call"),
        );
    }
}

/// A member that has not taken a broadcast which the caller has posted or taken.
fn behind(team: &TeamState) -> Option<u32> {
    // Where the team has posted nothing, the words may be those of an earlier team with the slot.
    if team.span.is_some() || team.posted() == 0 {
        return None;
    }
    let taken = |member: u32| number_of(team.place(member).words.0.taken.load(Acquire));
    (0..team.size).find(|&member| taken(member) < team.announcements())
}

fn in_words(team: &TeamState) -> String {
    let handle = team.handle();
    let names = [(TeamHandle::shared(), "SHMEM_TEAM_SHARED"), (TeamHandle::node(), "SHMEM_TEAM_NODE")];
    let name = names.into_iter().find(|(predefined, _)| *predefined == handle).map(|(_, name)| name.to_owned());
    name.unwrap_or_else(|| format!("a team of {} PEs", team.size))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::collectives::call::Call;
    use crate::collectives::node_eager;
    use crate::collectives::signature::CallKind;
    use crate::memory::control;
    use crate::teams::members::Members;

    #[test]
    fn a_member_that_has_missed_a_broadcast_is_found_and_words_of_an_earlier_team_are_not_looked_at() {
        control::tests::windows();
        let team = |my, base| TeamState::new(Members::Triplet { start: 0, stride: 1 }, 2, my, 30, base);
        let broadcast = |team: &TeamState| {
            let (call, mut word) = (Call::of(team, "test", CallKind::Broadcast), 7_u64);
            // SAFETY: the word has eight bytes, which fit an entry.
            unsafe {
                match team.my {
                    0 => node_eager::post(call, (&raw const word).cast(), 8),
                    _ => node_eager::take(call, 0, (&raw mut word).cast(), 8),
                }
            }
        };
        let [root, other] = [team(0, 3), team(1, 3)];
        assert_eq!((behind(&root), behind(&other)), (None, None));
        broadcast(&root);
        assert_eq!((behind(&root), behind(&other)), (Some(1), None));
        broadcast(&other);
        assert_eq!((behind(&root), behind(&other)), (None, None));
        broadcast(&root);
        // The next team with the slot has posted nothing.
        assert_eq!((behind(&root), behind(&team(0, 5))), (Some(1), None));
    }
}
