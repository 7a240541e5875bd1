//! One clock for all hosts.
//!
//! PEs of one machine have one clock. Between machines the barriers of the job tell the difference: no member leaves
//! one before the last member has come. So each barrier bounds from both sides how far one clock is ahead of another
//! one, and many barriers bound it closely. No message is sent for it.

use std::collections::BTreeMap;

use crate::ledger::{CallLedger, TeamKey};

/// Which start of which machine a clock counts from.
type Boot = [u64; 2];

/// The clock of a ledger. Without /proc no PE knows its machine: the PEs of each node then have a clock of their own.
fn clock(ledger: &CallLedger) -> Boot {
    match ledger.boot {
        [0, 0] => [0, 1 + u64::from(ledger.node)],
        known => known,
    }
}

/// One barrier as the members on one host saw it: when the last of them came, and when the first one left.
type Seen = (u64, u64);

/// Moves the times of every host to the clock of the first one.
pub fn align(ledgers: &mut [CallLedger]) {
    let Some(reference) = ledgers.first().map(clock) else { return };
    if ledgers.iter().all(|ledger| clock(ledger) == reference) {
        return;
    }
    let barriers = barriers(ledgers);
    let mut shifts: BTreeMap<Boot, i64> = BTreeMap::new();
    for ledger in ledgers {
        let own = clock(ledger);
        let shift = *shifts.entry(own).or_insert_with(|| shift(&barriers, reference, own));
        let moved = |time: &mut u64| *time = time.saturating_add_signed(shift);
        moved(&mut ledger.span.0);
        moved(&mut ledger.span.1);
        for meeting in &mut ledger.meetings {
            moved(&mut meeting.span.0);
            moved(&mut meeting.span.1);
        }
        ledger.events.iter_mut().for_each(|event| moved(&mut event.begin));
    }
}

/// Every barrier, as the members on each host saw it.
fn barriers(ledgers: &[CallLedger]) -> Vec<BTreeMap<Boot, Seen>> {
    let mut barriers: BTreeMap<(TeamKey, u64), BTreeMap<Boot, Seen>> = BTreeMap::new();
    for ledger in ledgers {
        for meeting in &ledger.meetings {
            let (Some(team), Some(site)) = (ledger.teams.get(&meeting.team), ledger.sites.get(&meeting.site)) else {
                continue;
            };
            // Names of Fortran's routines are in upper case.
            let routine = site.routine.to_lowercase();
            // An init inside a life returns at once. Only that of the first meeting is certain to have begun one.
            let begins = ["init", "start_pes"].iter().any(|word| routine.contains(word));
            let meets = ["barrier", "sync", "finalize"].iter().any(|word| routine.contains(word));
            if !(meets || begins && meeting.number == 0) {
                continue;
            }
            let seen = barriers.entry((team.key, meeting.number)).or_default();
            let (entry, leave) = seen.entry(clock(ledger)).or_insert((0, u64::MAX));
            (*entry, *leave) = ((*entry).max(meeting.span.0), (*leave).min(meeting.span.1));
        }
    }
    barriers.into_values().collect()
}

/// How much the clock of `other` is behind that of `reference`: the middle of what all barriers allow, 0 without any.
fn shift(barriers: &[BTreeMap<Boot, Seen>], reference: Boot, other: Boot) -> i64 {
    let (mut least, mut most) = (i64::MIN, i64::MAX);
    for barrier in barriers {
        let (Some(here), Some(there)) = (barrier.get(&reference), barrier.get(&other)) else { continue };
        least = least.max((here.0 as i64).saturating_sub(there.1 as i64));
        most = most.min((here.1 as i64).saturating_sub(there.0 as i64));
    }
    if least == i64::MIN { 0 } else { least.saturating_add(most.saturating_sub(least) / 2) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::RoutineKind;
    use crate::ledger::{MeetingRecord, SiteRecord, TeamRecord};

    const WORLD: TeamKey = TeamKey { first: 0, stride: 1, size: 2, sum: 0, number: Some(0) };

    fn ledger(pe: u32, boot: u64, ahead: i64, meetings: &[(u64, u64)]) -> CallLedger {
        let category = RoutineKind::Collective;
        let site = SiteRecord { routine: "shmem_barrier_all".into(), category, ..SiteRecord::default() };
        let local = |time: u64| time.saturating_add_signed(ahead);
        let meeting = |(number, &(entry, leave)): (u64, &(u64, u64))| MeetingRecord {
            team: 0,
            site: 1,
            number,
            span: (local(entry), local(leave)),
        };
        CallLedger {
            pe,
            boot: [boot, 0],
            teams: BTreeMap::from([(0, TeamRecord { key: WORLD, calls: 0, bytes: 0, time: 0.0 })]),
            sites: BTreeMap::from([(1, site)]),
            meetings: (0..).zip(meetings).map(meeting).collect(),
            ..CallLedger::default()
        }
    }

    #[test]
    fn barriers_tell_how_far_a_clock_is_ahead() {
        for ahead in [-1_000_000, 0, 987_654_321] {
            let here = [(5_000_000, 5_003_000), (6_000_000, 6_100_500), (7_000_000, 7_000_800)];
            let there = [(5_002_500, 5_003_000), (6_100_000, 6_100_500), (6_900_000, 7_000_900)];
            let mut ledgers = [ledger(0, 1, 0, &here), ledger(1, 2, ahead, &there)];
            align(&mut ledgers);
            for (meeting, (entry, _)) in ledgers[1].meetings.iter().zip(there) {
                assert!(meeting.span.0.abs_diff(entry) < 1_000, "{ahead}: {meeting:?}");
            }
        }
    }

    #[test]
    fn barriers_of_fortran_and_the_oldest_init_count_too() {
        for routine in ["SHMEM_BARRIER_ALL", "START_PES", "start_pes", "SHMEM_INIT"] {
            let mut ledgers =
                [ledger(0, 1, 0, &[(5_000_000, 5_003_000)]), ledger(1, 2, 1 << 50, &[(5_002_000, 5_003_000)])];
            for site in ledgers.iter_mut().flat_map(|ledger| ledger.sites.values_mut()) {
                site.routine = routine.into();
            }
            align(&mut ledgers);
            assert!(ledgers[1].meetings[0].span.0.abs_diff(5_002_000) < 4_000, "{routine}: {:?}", ledgers[1].meetings);
        }
    }

    #[test]
    fn an_init_inside_a_life_bounds_no_clock() {
        let (here, there) =
            ([(5_000_000, 5_003_000), (9_000_000, 9_000_100)], [(5_002_500, 5_003_000), (6_000_000, 6_000_100)]);
        let mut ledgers = [ledger(0, 1, 0, &here), ledger(1, 2, 987_654_321, &there)];
        ledgers
            .iter_mut()
            .flat_map(|ledger| ledger.sites.values_mut())
            .for_each(|site| site.routine = "shmem_init".into());
        align(&mut ledgers);
        assert!(ledgers[1].meetings[0].span.0.abs_diff(5_002_500) < 4_000, "{:?}", ledgers[1].meetings);
    }

    #[test]
    fn nodes_of_unknown_machines_have_clocks_of_their_own() {
        let mut ledgers =
            [ledger(0, 0, 0, &[(5_000_000, 5_003_000)]), ledger(1, 0, 1 << 50, &[(5_002_000, 5_003_000)])];
        ledgers[1].node = 1;
        align(&mut ledgers);
        assert!(ledgers[1].meetings[0].span.0.abs_diff(5_002_000) < 4_000, "{:?}", ledgers[1].meetings);
    }

    #[test]
    fn one_machine_has_one_clock_already() {
        let mut ledgers = [ledger(0, 1, 0, &[(10, 20)]), ledger(1, 1, 500, &[(10, 20)])];
        align(&mut ledgers);
        assert_eq!(ledgers[1].meetings[0].span, (510, 520));
    }
}
