//! Chains of PEs that wait for each other.

use std::collections::{BTreeMap, BTreeSet};

use super::teams::{is_team, missing};
use crate::Witness;
use crate::waits::{AwaitedCollectives, Subject, TeamMeeting, WaitEntry};

/// Steps of a chain that are told before its last one.
const STEPS: usize = 8;

/// The oldest wait of a PE's threads.
pub(super) fn own_wait(one: &Witness) -> Option<&WaitEntry> {
    one.waits.first().filter(|wait| wait.has_thread())
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

/// The PEs that must act for one of a PE's waits to end, as far as they can be named.
fn needed(one: &Witness, wait: &WaitEntry, known: &[Witness]) -> Vec<u32> {
    match wait.subject {
        Subject::Lock { after: pe } | Subject::FirstMember { pe } => vec![pe],
        Subject::Meeting(meeting) => missing(&meeting, one.pe, known),
        Subject::Collectives(collectives) => {
            under_way(one, &collectives).flat_map(|(_, meeting)| missing(&meeting, one.pe, known)).collect()
        }
        Subject::Operation { .. } | Subject::Room { .. } | Subject::Variables { .. } => Vec::new(),
    }
}

/// A PE that must act for a PE's waits to end, with the oldest wait that needs it.
fn next<'a>(one: &'a Witness, known: &[Witness]) -> Option<(u32, &'a WaitEntry)> {
    let mut of_threads = one.waits.iter().filter(|wait| wait.has_thread());
    of_threads.find_map(|wait| Some((*needed(one, wait, known).first()?, wait)))
}

/// The wait of a PE's threads from which a chain leads on; the oldest one if none does.
pub(super) fn leading_wait<'a>(one: &'a Witness, known: &[Witness]) -> Option<&'a WaitEntry> {
    next(one, known).map(|(_, wait)| wait).or_else(|| own_wait(one))
}

/// From a PE to one that it waits for, and on, to a PE that waits for no known one or was there before. A circle is
/// preferred.
pub(super) fn chain(known: &[Witness]) -> Vec<u32> {
    let ways: BTreeMap<u32, u32> =
        known.iter().filter_map(|one| next(one, known).map(|(pe, _)| (one.pe, pe))).collect();
    // How many steps lead from a PE on. Thousands may stand in the queue of one lock, so no part of a chain is walked twice.
    let mut lengths: BTreeMap<u32, usize> = BTreeMap::new();
    let mut longest: Option<(usize, u32)> = None;
    for start in known.iter().map(|one| one.pe).filter(|pe| ways.contains_key(pe)) {
        let (mut walk, mut there) = (Vec::new(), BTreeSet::new());
        let (mut at, mut length) = (Some(start), 0);
        while let Some(pe) = at {
            if let Some(rest) = lengths.get(&pe) {
                length = rest + 1;
                break;
            }
            if !there.insert(pe) {
                walk.drain(..walk.iter().position(|one| *one == pe).unwrap_or(0));
                walk.push(pe);
                return walk;
            }
            walk.push(pe);
            at = ways.get(&pe).copied();
        }
        lengths.extend(walk.into_iter().rev().zip(length..));
        let length = lengths[&start];
        if longest.is_none_or(|(most, _)| length > most) {
            longest = Some((length, start));
        }
    }
    match longest {
        Some((_, start)) => std::iter::successors(Some(start), |pe| ways.get(pe).copied()).collect(),
        None => known.iter().find(|one| one.is_waiting()).or(known.first()).map(|one| one.pe).into_iter().collect(),
    }
}

/// The steps of a chain in words: of a long one the first ones, and the last.
pub(super) fn steps(chain: &[u32], known: &[Witness]) -> Vec<String> {
    let told = |pair: &[u32]| step(pair[0], pair[1], known);
    let pairs: Vec<&[u32]> = chain.windows(2).collect();
    let (first, rest) = pairs.split_at(pairs.len().min(STEPS));
    let mut steps: Vec<String> = first.iter().map(|pair| told(pair)).collect();
    if let Some((last, between)) = rest.split_last() {
        steps.extend((!between.is_empty()).then(|| format!("and so on, {} more", between.len())));
        steps.push(told(last));
    }
    steps
}

/// One step of the chain in words.
fn step(from: u32, to: u32, known: &[Witness]) -> String {
    let of = |pe: u32| known.iter().find(|one| one.pe == pe);
    let at = |wait: &WaitEntry| wait.sites.first().map_or_else(String::new, |site| format!(" ({site})"));
    let waits = of(to).and_then(|one| leading_wait(one, known));
    let doing = waits.map_or_else(String::new, |wait| format!(", which waits in {}{}", wait.call, at(wait)));
    let Some((one, wait)) = of(from).and_then(|one| Some((one, leading_wait(one, known)?))) else {
        return format!("PE {from} waits for PE {to}");
    };
    let call = &wait.call;
    match wait.subject {
        Subject::Meeting(_) => {
            let doing = doing.replace(", which", " and");
            format!("PE {from} waits in {call} for PE {to}, which has not come there{doing}")
        }
        _ if from == to => {
            // Names of Fortran's routines are in capitals.
            let is_set = call.to_ascii_lowercase().ends_with("set_lock");
            let held = if is_set { ": it holds this lock already" } else { "" };
            format!("PE {from} waits in {call}{} for itself{held}", at(wait))
        }
        Subject::Collectives(collectives) => {
            let lacks = |(_, meeting): &(&WaitEntry, TeamMeeting)| missing(meeting, from, known).contains(&to);
            let it = under_way(one, &collectives).find(lacks).map_or("it", |(wait, _)| wait.call.as_str());
            let doing = doing.replace(", which", " and");
            format!("PE {from} waits in {call} for PE {to}, which has not come to {it}{doing}")
        }
        _ => format!("PE {from} waits in {call} for PE {to}{doing}"),
    }
}
