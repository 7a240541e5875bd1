//! Teams and lists of PEs in words, and which members are missing at a meeting.

use crate::Witness;
use crate::waits::{Named, Subject, TeamMeeting, WaitEntry};

/// Numbers that a list shows.
const LISTED: usize = 8;

pub(super) fn team(meeting: &TeamMeeting, pes: u32) -> String {
    match (meeting.size, members(meeting)) {
        (size, _) if size == pes => "all PEs".into(),
        (_, Some(members)) => format!("the team of {}", named(&members)),
        (size, None) => format!("a team of {size} PEs"),
    }
}

/// World numbers of a team's members, if the record could name them.
pub(super) fn members(meeting: &TeamMeeting) -> Option<Vec<u32>> {
    match meeting.members {
        Named::Triplet { start, stride } => {
            Some((0..meeting.size).map(|i| start.wrapping_add(i.wrapping_mul(stride as u32))).collect())
        }
        Named::Set(set) => Some((0..256).filter(|pe| set[*pe as usize / 64] >> (pe % 64) & 1 == 1).collect()),
        Named::Unknown => None,
    }
}

/// The members that are not at a meeting, nor at a later one of the same team. Only those of whom something is known.
pub(super) fn missing(meeting: &TeamMeeting, pe: u32, known: &[Witness]) -> Vec<u32> {
    let is_there = |one: &Witness| {
        one.waits.iter().any(|wait| matches!(wait.subject, Subject::Meeting(theirs) if is_team(&theirs, meeting) && theirs.number >= meeting.number))
    };
    // One way through all: a report of thousands of PEs asks for each of them, and a launcher does nothing else meanwhile.
    let is_missing = |one: &&Witness| one.pe != pe && is_member(meeting, one.pe) && !is_there(one);
    known.iter().filter(is_missing).map(|one| one.pe).collect()
}

/// Whether the record names PE `pe` as a member.
fn is_member(meeting: &TeamMeeting, pe: u32) -> bool {
    match meeting.members {
        Named::Triplet { start, stride } => {
            let (distance, stride) = (i64::from(pe) - i64::from(start), i64::from(stride));
            distance.checked_rem(stride) == Some(0) && (0..i64::from(meeting.size)).contains(&(distance / stride))
        }
        Named::Set(set) => set.get(pe as usize / 64).is_some_and(|word| word >> (pe % 64) & 1 == 1),
        Named::Unknown => false,
    }
}

pub(super) fn is_team(one: &TeamMeeting, other: &TeamMeeting) -> bool {
    (one.slot, one.size, one.members) == (other.slot, other.size, other.members)
}

/// Numbers in words: `PE 3`, `PEs 0 to 3`, `PEs 0, 2 and 4`.
pub(super) fn named(pes: &[u32]) -> String {
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

/// The slots below this number are those of teams, which splits have made but for the first ones.
const TEAMS: core::ops::Range<u64> = 3..4096;

/// Two PEs that meet at one place, but differ about the members of the team that has it.
pub(super) fn different_teams(known: &[Witness]) -> Option<[(u32, Vec<u32>); 2]> {
    let meetings = |one: &Witness| -> Vec<(u32, TeamMeeting)> {
        let meeting = |wait: &WaitEntry| match wait.subject {
            Subject::Meeting(meeting) if TEAMS.contains(&meeting.slot) => Some((one.pe, meeting)),
            _ => None,
        };
        one.waits.iter().filter_map(meeting).collect()
    };
    let all: Vec<_> = known.iter().flat_map(meetings).collect();
    all.iter().enumerate().find_map(|(i, (one, here))| {
        let differs = |(other, there): &&(u32, TeamMeeting)| {
            // Teams that have no member in common may have the same slot.
            let knows = |meeting, pe| members(meeting).is_some_and(|members| members.contains(pe));
            here.slot == there.slot && !is_team(here, there) && knows(here, other) && knows(there, one)
        };
        let (other, there) = all[i + 1..].iter().find(differs)?;
        Some([(*one, members(here)?), (*other, members(there)?)])
    })
}
