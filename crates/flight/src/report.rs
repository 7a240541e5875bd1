//! The report in words: the wait of each PE, and why it never ends.

mod cause;
mod chains;
mod teams;

use std::fmt::Write as _;

use crate::calls::CallEntry;
use crate::waits::{AwaitedCollectives, Comparand, Subject, WaitEntry};
use crate::{Activity, State, Witness};
use cause::cause_beside;
use teams::{missing, named, team};

pub use cause::cause;

/// Beyond this number of PEs, those whose lines are alike share one.
const APART: usize = 16;
/// A line for each PE; `pes` is how many the job has, `network` the way between its nodes.
pub fn lines(known: &[Witness], pes: u32, network: &str) -> String {
    let mut lines: Vec<(Vec<u32>, String)> = Vec::new();
    for one in known {
        for words in words(one, known, pes, network) {
            match lines.iter_mut().find(|(_, there)| *there == words && known.len() > APART) {
                // Two threads of one PE may wait alike.
                Some((alike, _)) if alike.last() == Some(&one.pe) => {}
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
    let unseen = match unknown(known, pes) {
        0 => String::new(),
        1 => "  and 1 PE of which nothing is known\n".into(),
        more => format!("  and {more} PEs of which nothing is known\n"),
    };
    lines(known, pes, "the network") + &unseen + &conclusions(known, pes, certainty)
}

/// Of how many PEs of a job of `pes` nothing is known: their hosts may not have answered in time.
fn unknown(known: &[Witness], pes: u32) -> usize {
    (pes as usize).saturating_sub(known.len())
}

/// Why the waits of a job of `pes` PEs do not end; nothing if no PE waits.
pub fn conclusions(known: &[Witness], pes: u32, certainty: Certainty) -> String {
    if known.iter().any(Witness::is_waiting) {
        cause_beside(known, unknown(known, pes), certainty)
    } else {
        String::new()
    }
}

fn describe(wait: &WaitEntry, pe: u32, known: &[Witness], pes: u32, network: &str) -> String {
    let WaitEntry { call, address, seconds, .. } = wait;
    let what = match wait.subject {
        Subject::Operation { peer: None } => String::new(),
        Subject::Operation { peer: Some(peer) } => format!(" for PE {peer}"),
        Subject::Room { peer } => format!(" for room to send to PE {peer} over {network}"),
        Subject::FirstMember { pe } => format!(" for PE {pe}, the first of the PEs that meet"),
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
    if wait.has_thread() {
        format!("in {call}{what}, for {seconds} s")
    } else {
        format!("{call}{what}, under way for {seconds} s")
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
    if wanted.signed { ((bits << shift) as i64 >> shift).to_string() } else { (bits << shift >> shift).to_string() }
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

#[cfg(test)]
#[allow(non_snake_case, reason = "tests carry the number of the fault")]
mod tests;
