//! Why the waits of a job do not end: calls that do not fit together, circles of PEs, and PEs that are missing.

use super::chains::{chain, leading_wait, own_wait, steps};
use super::teams::{different_teams, is_team, named};
use super::{Certainty, condition_of, latest};
use crate::waits::{Subject, WaitEntry};
use crate::{Activity, State, Witness};

/// The reason why the waits do not end, and the remedy.
pub fn cause(known: &[Witness], certainty: Certainty) -> String {
    cause_beside(known, 0, certainty)
}

/// [`cause`] where nothing is known of so many other PEs.
pub(super) fn cause_beside(known: &[Witness], unknown: usize, certainty: Certainty) -> String {
    if let Some(text) = disagreement(known) {
        return text;
    }
    let chain = chain(known);
    let steps = steps(&chain, known);
    let why = if steps.is_empty() { String::new() } else { format!("  {}.\n", steps.join("; ")) };
    let remedy = match &chain[..] {
        [one, same] if one == same => "  No other PE can end this wait.\n".into(),
        [before @ .., end] if before.contains(end) => circle(&chain, known, certainty),
        _ => end_of_chain(chain.last().copied(), known, unknown, certainty),
    };
    why + &remedy
}

/// Members of one team that make different calls, or have made it by different splits.
fn disagreement(known: &[Witness]) -> Option<String> {
    if let Some([(one, call), (other, theirs)]) = different_calls(known) {
        return Some(format!(
            "  PE {one} is in {call} and PE {other} in {theirs}: these are one meeting of one team, so its members make different calls.\n  \
             Let all members of a team make the same collective calls in the same order.\n"
        ));
    }
    let [(one, here), (other, there)] = different_teams(known)?;
    Some(format!(
        "  PE {one} is in a team of {} and PE {other} in a team of {}: the members of the parent gave different arguments to the split that made this team.\n  \
         Let all members of a team split it with the same arguments in the same order.\n",
        named(&here),
        named(&there)
    ))
}

/// PEs that wait for one another.
fn circle(chain: &[u32], known: &[Witness], certainty: Certainty) -> String {
    let unless = match certainty {
        Certainty::Proven => "",
        Certainty::Seen => ", unless another thread of one of these PEs is about to make the missing call",
    };
    let waits: Vec<_> =
        known.iter().filter(|one| chain.contains(&one.pe)).filter_map(|one| leading_wait(one, known)).collect();
    let of_lock = |wait: &&WaitEntry| matches!(wait.subject, Subject::Lock { .. });
    let remedy = if waits.iter().all(of_lock) {
        "PEs keep one lock while they wait for another: let all PEs set these locks in the same order, or clear one before the next"
    } else if waits.iter().any(of_lock) {
        "A PE keeps the lock while it waits for one that wants the lock: clear the lock before a call in which others must take part"
    } else if is_one_call_of_an_active_set(&waits) {
        "The PEs of an active set meet by their pSync array: let all of them pass the same one, and make these calls in the same order"
    } else {
        "Let all PEs make these calls in the same order"
    };
    format!("  That is a circle{unless}. {remedy}.\n")
}

/// Whether these are waits of one call by the same PEs, which name them by an active set. A member that looks for the first one does not say
/// which PEs these are.
fn is_one_call_of_an_active_set(waits: &[&WaitEntry]) -> bool {
    let meeting = |wait: &&WaitEntry| match wait.subject {
        Subject::Meeting(meeting) => Some((meeting.size, meeting.members)),
        _ => None,
    };
    let Some(first) = waits.first() else { return false };
    let mut meetings = waits.iter().filter_map(meeting);
    let one = meetings.next();
    is_of_active_set(&first.call)
        && waits.iter().all(|wait| wait.call == first.call)
        && meetings.all(|other| Some(other) == one)
}

/// Whether a routine takes an active set and a pSync array.
fn is_of_active_set(call: &str) -> bool {
    let is_sized = |name: &str| call.strip_prefix(name).is_some_and(|rest| ["32", "64"].contains(&rest));
    let sized = ["shmem_broadcast", "shmem_collect", "shmem_fcollect", "shmem_alltoall", "shmem_alltoalls"];
    ["shmem_barrier", "shmem_sync"].contains(&call) || call.ends_with("_to_all") || sized.into_iter().any(is_sized)
}

/// The end of the chain in words: the PE there is missing, or waits itself.
fn end_of_chain(end: Option<u32>, known: &[Witness], unknown: usize, certainty: Certainty) -> String {
    let last = known.iter().find(|one| end.is_none_or(|end| one.pe == end));
    if let Some(one) = last.filter(|one| !one.is_waiting()) {
        return format!("  PE {} is missing: {}{}.\n", one.pe, condition_of(one), latest(one));
    }
    match last.and_then(own_wait).map(|wait| wait.subject) {
        Some(Subject::Variables { .. }) => unchanged(known, unknown, certainty),
        Some(Subject::Meeting(_) | Subject::Collectives(_) | Subject::FirstMember { .. }) => {
            "  Let all members of a team make the same collective calls in the same order.\n".into()
        }
        // Nothing is known that the program could do better.
        Some(Subject::Lock { .. } | Subject::Operation { .. } | Subject::Room { .. }) | None => String::new(),
    }
}

/// The PEs that could still change the variables that are waited for. Those that are `unknown` could, too.
fn unchanged(known: &[Witness], unknown: usize, certainty: Certainty) -> String {
    let count = |wait: &WaitEntry| match wait.subject {
        Subject::Variables { count, .. } => count,
        _ => 0,
    };
    let variables: u64 = known.iter().flat_map(|one| &one.waits).map(count).sum();
    let these = if variables > 1 { "these variables" } else { "this variable" };
    let active: Vec<u32> = known.iter().filter(|one| is_active(one)).map(|one| one.pe).collect();
    let others = match unknown {
        1 => "1 PE of which nothing is known".to_owned(),
        more => format!("{more} PEs of which nothing is known"),
    };
    match (active.is_empty(), unknown) {
        (false, 0) => return format!("  {} could still change {these}.\n", named(&active)),
        (false, _) => return format!("  {} and {others} could still change {these}.\n", named(&active)),
        (true, 1..) => return format!("  {others} could still change {these}.\n"),
        (true, 0) => {}
    }
    let look = "Look for the put, atomic or signal that should have come: its PE, its address, its value, and whether it comes \
                before the wait";
    let unless = match certainty {
        Certainty::Proven => "",
        Certainty::Seen => ", unless another thread of one of them does",
    };
    format!("  No PE is left that could change {these}{unless}. {look}.\n")
}

/// Whether a PE may still act. One that waits for the network does: what it has issued may arrive, and its wait may end.
fn is_active(one: &Witness) -> bool {
    let of_network = |wait: &WaitEntry| matches!(wait.subject, Subject::Operation { .. } | Subject::Room { .. });
    let may_act = !one.is_waiting() || one.waits.iter().any(of_network);
    may_act && one.activity != Activity::Ended && matches!(one.state, State::Running | State::Starting)
}

/// Two PEs that are at one meeting in calls of different names.
fn different_calls(known: &[Witness]) -> Option<[(u32, &str); 2]> {
    let meetings = known.iter().flat_map(|one| {
        one.waits.iter().filter_map(|wait| match wait.subject {
            Subject::Meeting(meeting) => Some((one.pe, wait.call.as_str(), meeting)),
            _ => None,
        })
    });
    let all: Vec<_> = meetings.collect();
    all.iter().enumerate().find_map(|(i, (one, call, meeting))| {
        let other = all[i + 1..].iter().find(|(_, theirs, there)| {
            is_team(meeting, there) && meeting.number == there.number && !is_same_collective(call, theirs)
        });
        other.map(|(other, theirs, _)| [(*one, *call), (*other, *theirs)])
    })
}

/// Whether two calls are the same collective. The name of one that returns at once has another prefix and no type.
pub(super) fn is_same_collective(one: &str, other: &str) -> bool {
    let core = |call: &str| call.strip_suffix("_nb").and_then(|call| call.strip_prefix("shmemx_")).map(str::to_owned);
    // Names of Fortran's routines are in capitals.
    let meets = |call: &str| ["barrier", "sync"].iter().any(|word| call.to_ascii_lowercase().contains(word));
    match (core(one), core(other)) {
        (Some(core), None) => other.ends_with(&core) || meets(one) && meets(other),
        (None, Some(core)) => one.ends_with(&core) || meets(one) && meets(other),
        // A sync of the team of all PEs meets `shmem_sync_all`.
        (None, None) => one.eq_ignore_ascii_case(other) || meets(one) && meets(other),
        (Some(_), Some(_)) => one == other,
    }
}
