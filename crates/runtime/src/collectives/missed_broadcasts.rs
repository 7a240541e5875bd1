//! Broadcasts that a member has missed, or of which each of two members takes itself for the root, when the team has not met again: the
//! root of a broadcast that was posted on a node (`node_eager`) or sent by a ring (`between_nodes::broadcast_ring`) goes on, and the digest
//! of these broadcasts is compared in meetings alone. `active_set` looks at its sets.

use core::sync::atomic::{Ordering::Acquire, Ordering::Relaxed};

use oxshmem_base::Error;

use crate::collectives::node_eager;
use crate::collectives::signature::number_of;
use crate::diagnosis::errors;
use crate::memory::control::BROADCAST_RINGS;
use crate::teams::live_teams;
use crate::teams::team::{TeamHandle, TeamState};

/// Ends the job if members of a team that lives have not made the same posted broadcasts. All PEs have made their last collective.
pub(crate) fn demand_all_taken(call: &'static str) {
    if let Some(error) = live_teams::find(|team| difference(call, team)) {
        errors::fail(&error);
    }
}

fn difference(call: &str, team: &TeamState) -> Option<Error> {
    if team.span.is_some() {
        return between_nodes(call, team, &in_words(team));
    }
    // Where a team has posted nothing, the words may be those of an earlier team with the slot.
    if team.posted() == 0 {
        return None;
    }
    if let Some(other) = behind(team) {
        let (other, me) = (team.world(other), team.world(team.my));
        let error = Error::new(format!("{call}: PE {other} has not made a broadcast that PE {me} has made"))
            .because(format!("the broadcast is one of {}, which has not met since then", in_words(team)))
            .fix("let all members of the team make the call");
        return Some(error);
    }
    let roots = two_roots(team)?.map(|root| team.world(root));
    Some(two_roots_of(call, roots, &in_words(team)))
}

/// The error of a member of a team or set of several nodes, which is named in words: the member has missed a broadcast, or others have made
/// another one in its place. All PEs have completed what they have sent.
pub(crate) fn between_nodes(call: &str, team: &TeamState, words: &str) -> Option<Error> {
    let (span, me) = (team.span.as_ref()?, team.world(team.my));
    let leader = span.my_leader();
    let stamps = || {
        let ring = team.ring.lease.number().map(|number| BROADCAST_RINGS.get(team.window(leader), number));
        ring.into_iter().flat_map(|ring| &ring.stamps).map(|stamp| stamp.load(Acquire))
    };
    let is_behind = if team.my == leader {
        stamps().any(|stamp| number_of(stamp) > team.scheduled_calls())
    } else {
        // The leader has met the caller in all other calls, so both have counted the same ones.
        number_of(team.place(leader).words.0.announced.load(Acquire)) > team.announcements()
    };
    let why = format!("the broadcast is one of {words}, which has not met since then");
    if is_behind {
        let error =
            Error::new(format!("{call}: PE {me} has not made a broadcast that other PEs have made")).because(why);
        return Some(error.fix("let all members make the call, in active sets with the same pSync array"));
    }
    let is_other = team.my == leader && has_other(stamps(), team.ring.last.load(Relaxed));
    is_other.then(|| {
        Error::new(format!("{call}: PE {me} and PEs of other nodes have made different broadcasts"))
            .because(why)
            .fix("pass the same PE_root and the same number of elements on all members")
    })
}

/// Whether the stamps of a leader's ring have another one of the broadcast that the leader has made with the stamp `own`: another root has sent it.
/// Of two roots that send to each other at least one finds that of the other one: each stamps its own block before it sends.
fn has_other(mut stamps: impl Iterator<Item = u64>, own: u64) -> bool {
    stamps.any(|stamp| number_of(stamp) == number_of(own) && stamp != own)
}

/// The error of PEs that have each been the root of the last broadcast of a team or set, which is named in words.
pub(crate) fn two_roots_of(call: &str, [one, other]: [u32; 2], team: &str) -> Error {
    Error::new(format!("{call}: PE {one} and PE {other} have each made one broadcast as its root"))
        .because(format!("the broadcast is the last one of {team}"))
        .fix("pass the same PE_root on all members")
}

/// A member that has not taken a broadcast which the caller has posted or taken, in a team that has posted.
fn behind(team: &TeamState) -> Option<u32> {
    let taken = |member: u32| number_of(team.place(member).words.0.taken.load(Acquire));
    (0..team.size).find(|&member| taken(member) < team.announcements())
}

/// Two members that have each posted the last broadcast of a team that has posted.
pub(crate) fn two_roots(team: &TeamState) -> Option<[u32; 2]> {
    let number = team.announcements();
    let posted = |member: &u32| number_of(node_eager::entry(team, *member, number).stamp.load(Acquire)) == number;
    let mut roots = (0..team.size).filter(posted);
    Some([roots.next()?, roots.next()?])
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
    use crate::collectives::signature::{CallKind, Signature};
    use crate::memory::control;
    use crate::teams::members::Members;

    #[test]
    fn another_broadcast_in_the_place_of_the_own_one_is_found() {
        let [own, other] = [0, 1].map(|root| Signature::of(CallKind::Broadcast).with(8, root));
        let has = |stamps: [u64; 3], last| has_other(stamps.into_iter(), last);
        assert!(!has([0; 3], 0), "no broadcast");
        assert!(!has([own.stamp(7), other.stamp(8), 0], other.stamp(8)), "one of another root before");
        assert!(has([own.stamp(7), other.stamp(8), 0], own.stamp(8)), "the other root's stamp in the own block");
        assert!(has([own.stamp(7), own.stamp(8), other.stamp(8)], own.stamp(8)), "and elsewhere");
    }

    #[test]
    fn a_member_that_has_missed_a_broadcast_and_two_roots_of_one_are_found() {
        control::tests::windows();
        let team = |my| TeamState::new(Members::Triplet { start: 0, stride: 1 }, 2, my, 30, 3);
        let broadcast = |team: &TeamState, root: u32| {
            let (call, mut word) = (Call::of(team, "test", CallKind::Broadcast), 7_u64);
            // SAFETY: the word has eight bytes, which fit an entry.
            unsafe {
                if team.my == root {
                    node_eager::post(call, (&raw const word).cast(), 8);
                } else {
                    node_eager::take(call, root, (&raw mut word).cast(), 8);
                }
            }
        };
        let [one, other] = [team(0), team(1)];
        assert_eq!((one.posted(), other.posted()), (0, 0));
        broadcast(&one, 0);
        assert_eq!(behind(&one), Some(1));
        broadcast(&other, 0);
        assert_eq!((behind(&one), behind(&other), two_roots(&one)), (None, None, None));
        broadcast(&one, 0);
        broadcast(&other, 1);
        assert_eq!((behind(&one), two_roots(&one), two_roots(&other)), (None, Some([0, 1]), Some([0, 1])));
    }
}
