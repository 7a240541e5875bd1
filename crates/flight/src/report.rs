//! The report in words: the wait of each PE, and why it never ends.

mod chains;
mod teams;

use std::fmt::Write as _;

use crate::calls::CallEntry;
use crate::waits::{AwaitedCollectives, Comparand, Subject, TeamMeeting, WaitEntry};
use crate::{Activity, State, Witness};
use chains::{chain, steps};
use teams::{different_teams, is_team, missing, named, team};

/// Beyond this number of PEs, those whose lines are alike share one.
const APART: usize = 16;
/// A line for each PE; `pes` is how many the job has, `network` the way between its nodes.
pub fn lines(known: &[Witness], pes: u32, network: &str) -> String {
    let mut lines: Vec<(Vec<u32>, String)> = Vec::new();
    for one in known {
        for words in words(one, known, pes, network) {
            match lines.iter_mut().find(|(_, there)| *there == words && known.len() > APART) {
                Some((alike, _)) => alike.push(one.pe),
                None => lines.push((vec![one.pe], words)),
            }
        }
    }
    let mut text = String::new();
    for (numbers, words) in lines {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {}: {words}", named(&numbers));
    }
    text
}

/// One line for each thread of a PE that waits; otherwise one on its state.
fn words(one: &Witness, known: &[Witness], pes: u32, network: &str) -> Vec<String> {
    let is_there = one.state == State::Running && one.activity != Activity::Ended;
    let stopped = if one.activity == Activity::Stopped && one.is_waiting() { "stopped, " } else { "" };
    let line = |wait| format!("{stopped}{}{}", describe(wait, one.pe, known, pes, network), sites(wait));
    let condition = (!is_there || !one.is_waiting()).then(|| condition_of(one) + &latest(one));
    condition.into_iter().chain(one.waits.iter().filter(|_| is_there).map(line)).collect()
}

/// The condition of a PE that does not wait in the library.
fn condition_of(one: &Witness) -> String {
    if let (Activity::Computes | Activity::Sleeps | Activity::Unknown, State::Running, Some(call)) =
        (&one.activity, one.state, open_call(one))
    {
        return format!("inside {}, for {} s", named_call(call), call.age / 1_000_000_000);
    }
    let word = match (&one.activity, one.state) {
        (Activity::Hidden(why), _) => return format!("not to be seen: {why}"),
        (_, State::Finalized) => "through shmem_finalize",
        (Activity::Ended, State::Starting) => "ended before shmem_init",
        (_, State::Gone) | (Activity::Ended, _) => "ended without shmem_finalize",
        (_, State::Starting) => "not yet through shmem_init",
        (Activity::Stopped, State::Running) => "stopped by a signal or a debugger, outside of the library",
        (Activity::Computes, State::Running) => "not waiting in the library, but computing",
        (Activity::Sleeps, State::Running) => "not waiting in the library, but sleeping in the system",
        (Activity::Unknown, State::Running) => "not waiting in the library",
    };
    word.into()
}

/// Where a wait is in the program.
fn sites(wait: &WaitEntry) -> String {
    if wait.sites.is_empty() { String::new() } else { format!("\n    called from {}", wait.sites.join(", from ")) }
}

/// The call that a PE has begun and not ended.
fn open_call(one: &Witness) -> Option<&CallEntry> {
    one.calls.first().filter(|call| call.took.is_none())
}

/// The last call of a PE that is in none.
fn latest(one: &Witness) -> String {
    let ended = |call: &&CallEntry| one.state == State::Running && call.took.is_some();
    let Some(call) = one.calls.first().filter(ended) else { return String::new() };
    // Short calls (puts, gets and atomics on the node, quiet, test) are not recorded.
    format!("; its last recorded call was {}, {} s ago", named_call(call), call.age / 1_000_000_000)
}

/// A call with its peer, its bytes and its number.
fn named_call(CallEntry { name, subject, .. }: &CallEntry) -> String {
    let peer = subject.peer.map_or_else(String::new, |peer| format!(" with PE {peer}"));
    let bytes = if subject.bytes > 0 { format!(" of {} bytes", subject.bytes) } else { String::new() };
    let meeting = subject.team.map_or_else(String::new, |(slot, number)| match slot {
        0 => format!(" (all PEs, meeting {number})"),
        _ => format!(" (team {slot}, meeting {number})"),
    });
    format!("{name}{bytes}{peer}{meeting}")
}

/// The last calls of each PE, the latest first; as many as were read.
pub fn histories(known: &[Witness]) -> String {
    let mut text = String::new();
    for one in known.iter().filter(|one| !one.calls.is_empty()) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  PE {}, the last of {} recorded calls:", one.pe, one.made);
        for call in &one.calls {
            let seconds = call.age as f64 / 1e9;
            let took = if call.took.is_none() { ", not ended" } else { "" };
            let _ = writeln!(text, "    {:>10.3} s ago  #{} {}{took}", seconds, call.number, named_call(call));
        }
    }
    text
}

/// The whole picture of a job of `pes` PEs: who waits for whom, and why that does not end.
pub fn picture(known: &[Witness], pes: u32, certainty: Certainty) -> String {
    let unseen = pes as usize - known.len().min(pes as usize);
    let unseen = match unseen {
        0 => String::new(),
        1 => "  and 1 PE of which nothing is known\n".into(),
        more => format!("  and {more} PEs of which nothing is known\n"),
    };
    lines(known, pes, "the network") + &unseen + &conclusions(known, certainty)
}

/// Why the waits do not end; nothing if no PE waits.
pub fn conclusions(known: &[Witness], certainty: Certainty) -> String {
    if known.iter().any(Witness::is_waiting) { cause(known, certainty) } else { String::new() }
}

fn describe(wait: &WaitEntry, pe: u32, known: &[Witness], pes: u32, network: &str) -> String {
    let WaitEntry { call, address, seconds, .. } = wait;
    let what = match wait.subject {
        Subject::Operation { peer: None } => String::new(),
        Subject::Operation { peer: Some(peer) } => format!(" for PE {peer}"),
        Subject::Room { peer } => format!(" for room to send to PE {peer} over {network}"),
        Subject::Lock { after } => {
            let object = wait.object.as_ref().map_or_else(String::new, |object| format!(" ({object})"));
            format!(" of the lock at {address:#x}{object}, behind PE {after}")
        }
        Subject::Variables { wanted, seen, .. } if wanted.bytes > 0 => {
            let object = wait.object.as_ref().map_or_else(String::new, |object| format!(" ({object})"));
            let (holds, condition, width) = (number(wanted, seen), condition(wanted), wanted.bytes);
            format!(" at {address:#x}{object}, which holds {holds} and is to be {condition} ({width} bytes)")
        }
        Subject::Variables { count, .. } => {
            let plural = if count == 1 { "" } else { "s" };
            let object = wait.object.as_ref().map_or_else(String::new, |object| format!(" ({object})"));
            format!(" for {count} variable{plural} at {address:#x}{object}")
        }
        Subject::Meeting(meeting) => {
            let missing = missing(&meeting, pe, known);
            let lacks = if missing.is_empty() { String::new() } else { format!(" without {}", named(&missing)) };
            format!(" of {}, its meeting {}{lacks}", team(&meeting, pes), meeting.number)
        }
        Subject::Collectives(collectives) => awaited(collectives, pes),
    };
    match wait.has_thread() {
        true => format!("in {call}{what}, for {seconds} s"),
        false => format!("{call}{what}, under way for {seconds} s"),
    }
}

/// The collectives that a wait is for.
fn awaited(AwaitedCollectives { call, ahead, team: of }: AwaitedCollectives, pes: u32) -> String {
    let of = of.map_or_else(String::new, |meeting| format!(" of {}", team(&meeting, pes)));
    match (call.is_empty(), ahead) {
        (true, 1) => format!(" behind a nonblocking collective{of}"),
        (true, _) => format!(" behind {ahead} nonblocking collectives{of}"),
        (false, 0) => format!(" for {call}{of}"),
        (false, 1) => format!(" for {call}{of} and the collective before it"),
        (false, _) => format!(" for {call}{of} and the {ahead} collectives before it"),
    }
}

/// The number as the variable's type has it.
fn number(wanted: Comparand, bits: u64) -> String {
    let shift = 64 - 8 * u32::from(wanted.bytes.clamp(1, 8));
    match wanted.signed {
        true => ((bits << shift) as i64 >> shift).to_string(),
        false => (bits << shift >> shift).to_string(),
    }
}

fn condition(wanted: Comparand) -> String {
    let operator =
        ["==", "!=", ">", ">=", "<", "<="].get(usize::from(wanted.comparison).wrapping_sub(1)).unwrap_or(&"?");
    format!("{operator} {}", number(wanted, wanted.value))
}

/// Whether it is known that no wait of the job can end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Certainty {
    /// It is proven.
    Proven,
    /// The waits have been seen. Threads that do not wait have not, and may make the call that others wait for.
    Seen,
}

/// The reason why the waits do not end, and the remedy.
pub fn cause(known: &[Witness], certainty: Certainty) -> String {
    if let Some((one, other, calls)) = different_calls(known) {
        return format!(
            "  PE {one} is in {} and PE {other} in {}: these are one meeting of one team, so its members make different calls.\n  \
             Let all members of a team make the same collective calls in the same order.\n",
            calls.0, calls.1
        );
    }
    if let Some([(one, here), (other, there)]) = different_teams(known) {
        return format!(
            "  PE {one} is in a team of {} and PE {other} in a team of {}: the members of the parent gave different arguments to the split that made this team.\n  \
             Let all members of a team split it with the same arguments in the same order.\n",
            named(&here),
            named(&there)
        );
    }
    let chain = chain(known);
    let steps = steps(&chain, known);
    let why = if steps.is_empty() { String::new() } else { format!("  {}.\n", steps.join("; ")) };
    if chain.len() == 2 && chain[0] == chain[1] {
        return why + "  No other PE can end this wait.\n";
    }
    let end = chain.last().copied();
    if chain.len() > 1 && end.is_some_and(|end| chain[..chain.len() - 1].contains(&end)) {
        let unless = match certainty {
            Certainty::Proven => "",
            Certainty::Seen => ", unless another thread of one of these PEs is about to make the missing call",
        };
        let locks = known.iter().filter(|one| chain.contains(&one.pe)).filter_map(own_wait);
        let has_lock = locks.into_iter().any(|wait| matches!(wait.subject, Subject::Lock { .. }));
        let remedy = match has_lock {
            true => {
                "A PE keeps the lock while it waits for one that wants the lock: clear the lock before a call in which others must take part"
            }
            false => "Let all PEs make these calls in the same order",
        };
        return why + &format!("  That is a circle{unless}. {remedy}.\n");
    }
    let last = known.iter().find(|one| end.is_none_or(|end| one.pe == end));
    if let Some(one) = last.filter(|one| !one.is_waiting()) {
        return why + &format!("  PE {} is missing: {}{}.\n", one.pe, condition_of(one), latest(one));
    }
    let count = |wait: &WaitEntry| match wait.subject {
        Subject::Variables { count, .. } => count,
        _ => 0,
    };
    let variables: u64 = known.iter().flat_map(|one| &one.waits).map(count).sum();
    let these = if variables > 1 { "these variables" } else { "this variable" };
    let active: Vec<u32> = known.iter().filter(|one| is_active(one)).map(|one| one.pe).collect();
    match last.and_then(own_wait).map(|wait| wait.subject) {
        Some(Subject::Variables { .. }) if !active.is_empty() => {
            why + &format!("  {} could still change {these}.\n", named(&active))
        }
        Some(Subject::Variables { .. }) => {
            let look = "Look for the put, atomic or signal that should have come: its PE, its address, its value, and whether it comes \
                        before the wait";
            why + &format!("  No PE is left that could change {these}. {look}.\n")
        }
        Some(Subject::Meeting(_) | Subject::Collectives(_)) => {
            why + "  Let all members of a team make the same collective calls in the same order.\n"
        }
        // Nothing is known that the program could do better.
        Some(Subject::Lock { .. } | Subject::Operation { .. } | Subject::Room { .. }) | None => why,
    }
}

/// The oldest wait of a PE's threads.
fn own_wait(one: &Witness) -> Option<&WaitEntry> {
    one.waits.first().filter(|wait| wait.has_thread())
}

/// Whether a PE may still act.
fn is_active(one: &Witness) -> bool {
    !one.is_waiting() && one.activity != Activity::Ended && matches!(one.state, State::Running | State::Starting)
}

/// The collectives of a PE that are under way and come before the end of a wait, with their meetings.
fn under_way<'a>(
    one: &'a Witness,
    awaited: &AwaitedCollectives,
) -> impl Iterator<Item = (&'a WaitEntry, TeamMeeting)> + use<'a> {
    let team = awaited.team;
    one.waits.iter().filter(|wait| !wait.has_thread()).filter_map(move |wait| match wait.subject {
        Subject::Meeting(meeting) if team.is_none_or(|team| is_team(&team, &meeting)) => Some((wait, meeting)),
        _ => None,
    })
}

/// Two PEs that are at one meeting in calls of different names.
fn different_calls(known: &[Witness]) -> Option<(u32, u32, (&str, &str))> {
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
        other.map(|(other, theirs, _)| (*one, *other, (*call, *theirs)))
    })
}

/// Whether two calls are the same collective. The name of one that returns at once has another prefix and no type.
fn is_same_collective(one: &str, other: &str) -> bool {
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

#[cfg(test)]
#[allow(non_snake_case, reason = "tests carry the number of the fault")]
mod tests;
