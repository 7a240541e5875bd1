//! The report in words: the wait of each PE, and why it never ends.

use std::fmt::Write as _;

use crate::calls::CallEntry;
use crate::waits::{Comparand, Named, Subject, TeamMeeting, WaitEntry};
use crate::{Activity, State, Witness};

/// Beyond so many PEs, those whose lines are alike share one.
const APART: usize = 16;
/// So many numbers are listed.
const LISTED: usize = 8;

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
    if one.state == State::Running && !one.waits.is_empty() && one.activity != Activity::Ended {
        let stopped = if one.activity == Activity::Stopped { "stopped, " } else { "" };
        let line = |wait| format!("{stopped}{}{}", describe(wait, one.pe, known, pes, network), sites(wait));
        return one.waits.iter().map(line).collect();
    }
    vec![condition_of(one) + &latest(one)]
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
    format!("; its last call was {}, {} s ago", named_call(call), call.age / 1_000_000_000)
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
pub fn picture(known: &[Witness], pes: u32) -> String {
    let unseen = pes as usize - known.len().min(pes as usize);
    let unseen = if unseen > 0 { format!("  and {unseen} PEs of which nothing is known\n") } else { String::new() };
    let verdict = if known.iter().any(|one| !one.waits.is_empty()) { cause(known) } else { String::new() };
    lines(known, pes, "the network") + &unseen + &verdict
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
            format!(" at {address:#x}{object}, which holds {} and is to be {}", number(wanted, seen), condition(wanted))
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
    };
    format!("in {call}{what}, for {seconds} s")
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

fn team(meeting: &TeamMeeting, pes: u32) -> String {
    match (meeting.size, members(meeting)) {
        (size, _) if size == pes => "all PEs".into(),
        (_, Some(members)) => format!("the team of {}", named(&members)),
        (size, None) => format!("a team of {size} PEs"),
    }
}

/// World numbers of a team's members, if the record could name them.
fn members(meeting: &TeamMeeting) -> Option<Vec<u32>> {
    match meeting.members {
        Named::Triplet { start, stride } => {
            Some((0..meeting.size).map(|i| start.wrapping_add(i.wrapping_mul(stride as u32))).collect())
        }
        Named::Set(set) => Some((0..256).filter(|pe| set[*pe as usize / 64] >> (pe % 64) & 1 == 1).collect()),
        Named::Unknown => None,
    }
}

/// The members that are not at a meeting, nor at a later one of the same team. Only those of whom something is known.
fn missing(meeting: &TeamMeeting, pe: u32, known: &[Witness]) -> Vec<u32> {
    let is_there = |one: &Witness| {
        one.waits.iter().any(|wait| matches!(wait.subject, Subject::Meeting(theirs) if is_team(&theirs, meeting) && theirs.number >= meeting.number))
    };
    let members = members(meeting).unwrap_or_default();
    let absent = |member: &u32| known.iter().any(|one| one.pe == *member && !is_there(one));
    members.into_iter().filter(|member| *member != pe && absent(member)).collect()
}

fn is_team(one: &TeamMeeting, other: &TeamMeeting) -> bool {
    (one.slot, one.size, one.members) == (other.slot, other.size, other.members)
}

/// Numbers in words: `PE 3`, `PEs 0 to 3`, `PEs 0, 2 and 4`.
fn named(pes: &[u32]) -> String {
    match pes {
        [pe] => format!("PE {pe}"),
        [first, .., last] if pes.len() > 2 && pes.windows(2).all(|pair| pair[0] + 1 == pair[1]) => {
            format!("PEs {first} to {last}")
        }
        _ => {
            let listed: Vec<String> = pes.iter().take(LISTED).map(u32::to_string).collect();
            match (listed.split_last(), pes.len().saturating_sub(LISTED)) {
                (Some((last, [])), 0) => format!("PE {last}"),
                (Some((last, rest)), 0) => format!("PEs {} and {last}", rest.join(", ")),
                (_, more) => format!("PEs {} and {more} more", listed.join(", ")),
            }
        }
    }
}

/// The reason why the waits do not end, and the remedy.
pub fn cause(known: &[Witness]) -> String {
    if let Some((one, other, calls)) = different_calls(known) {
        return format!(
            "  PE {one} is in {} and PE {other} in {}: these are one meeting of one team, so its members make different calls.\n  \
             Let all members of a team make the same collective calls in the same order; SHMEM_CHECK=2 finds where they do not.\n",
            calls.0, calls.1
        );
    }
    let chain = chain(known);
    let steps: Vec<String> = chain.windows(2).map(|pair| step(pair[0], pair[1], known)).collect();
    let why = if steps.is_empty() { String::new() } else { format!("  {}.\n", steps.join("; ")) };
    let end = chain.last().copied();
    if chain.len() > 1 && end.is_some_and(|end| chain[..chain.len() - 1].contains(&end)) {
        return why + "  That is a circle. Let all PEs make these calls in the same order.\n";
    }
    let last = known.iter().find(|one| end.is_none_or(|end| one.pe == end));
    if let Some(one) = last.filter(|one| one.waits.is_empty()) {
        return why + &format!("  PE {} is missing: {}{}.\n", one.pe, condition_of(one), latest(one));
    }
    let active: Vec<u32> = known.iter().filter(|one| is_active(one)).map(|one| one.pe).collect();
    match last.and_then(|one| one.waits.first()) {
        Some(wait) if matches!(wait.subject, Subject::Variables { .. }) && !active.is_empty() => {
            why + &format!("  {} could still change this variable.\n", named(&active))
        }
        Some(wait) if matches!(wait.subject, Subject::Variables { .. }) => {
            why + "  No PE is left that could change this variable. Look for the put, atomic or signal that should have come: its PE, \
                   its address, its value, and whether it comes before the wait.\n"
        }
        _ => why + "  Let all members of a team make the same collective calls in the same order.\n",
    }
}

/// Whether a PE may still act.
fn is_active(one: &Witness) -> bool {
    one.waits.is_empty() && one.activity != Activity::Ended && matches!(one.state, State::Running | State::Starting)
}

/// The PEs that must act for a PE's waits to end, as far as they can be named.
fn needed(one: &Witness, known: &[Witness]) -> Vec<u32> {
    let of = |wait: &WaitEntry| match wait.subject {
        Subject::Lock { after } => vec![after],
        Subject::Meeting(meeting) => missing(&meeting, one.pe, known),
        Subject::Operation { .. } | Subject::Room { .. } | Subject::Variables { .. } => Vec::new(),
    };
    one.waits.iter().flat_map(of).collect()
}

/// From a PE to one that it waits for, and on, to a PE that waits for nobody by name or was there before. A circle is preferred.
fn chain(known: &[Witness]) -> Vec<u32> {
    let mut longest = Vec::new();
    for start in known.iter().filter(|one| !needed(one, known).is_empty()) {
        let mut chain = vec![start.pe];
        while let Some(one) = known.iter().find(|one| Some(&one.pe) == chain.last()) {
            let Some(&next) = needed(one, known).first() else { break };
            if let Some(begin) = chain.iter().position(|pe| *pe == next) {
                chain.drain(..begin);
                chain.push(next);
                return chain;
            }
            chain.push(next);
        }
        if chain.len() > longest.len() {
            longest = chain;
        }
    }
    if longest.is_empty() {
        let waiting = known.iter().find(|one| !one.waits.is_empty());
        longest.extend(waiting.or(known.first()).map(|one| one.pe));
    }
    longest
}

/// One step of the chain in words.
fn step(from: u32, to: u32, known: &[Witness]) -> String {
    let waits = |pe: u32| known.iter().find(|one| one.pe == pe).and_then(|one| one.waits.first());
    let at = |wait: &WaitEntry| wait.sites.first().map_or_else(String::new, |site| format!(" ({site})"));
    let doing = waits(to).map_or_else(String::new, |wait| format!(", which waits in {}{}", wait.call, at(wait)));
    match waits(from) {
        Some(WaitEntry { call, subject: Subject::Meeting(_), .. }) => {
            format!(
                "PE {from} waits in {call} for PE {to}, which has not come there{}",
                doing.replace(", which", " and")
            )
        }
        Some(wait @ WaitEntry { call, .. }) if from == to => {
            let held = if call.ends_with("set_lock") { ": it holds this lock already" } else { "" };
            format!("PE {from} waits in {call}{} for itself{held}", at(wait))
        }
        Some(WaitEntry { call, .. }) => format!("PE {from} waits in {call} for PE {to}{doing}"),
        None => format!("PE {from} waits for PE {to}"),
    }
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
        let other = all[i + 1..]
            .iter()
            .find(|(_, theirs, there)| is_team(meeting, there) && meeting.number == there.number && theirs != call);
        other.map(|(other, theirs, _)| (*one, *other, (*call, *theirs)))
    })
}

#[cfg(test)]
#[allow(non_snake_case, reason = "tests carry the number of the fault")]
mod tests;
