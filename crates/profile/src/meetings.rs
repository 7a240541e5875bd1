//! The PEs for which others waited: in collectives by when members came, for variables by the PEs that updated them.

use std::collections::BTreeMap;

use crate::job::RecordedJob;
use crate::layout::RoutineKind;
use crate::ledger::{SymmetricObject, TeamKey};

/// Nanoseconds that PEs have waited for each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Blame {
    /// By the PE that waited and the PE for which it did.
    pub pairs: BTreeMap<(u32, u32), f64>,
    /// Waits in collectives, by the routine and the place of the program.
    pub sites: BTreeMap<(u32, u32, u32), f64>,
    /// The same waits, and those for variables if it is known what was waited for there, by the PE for which the caller waited.
    pub reasons: BTreeMap<(u32, u32, u32), BTreeMap<u32, f64>>,
    /// Waits of a thread of a PE for variables, at all places together, by the PE for which it waited.
    pub variables: BTreeMap<(u32, u32), BTreeMap<u32, f64>>,
    /// Waits for variables and locks by PE for which no PE is known to be the reason.
    pub unknown: BTreeMap<u32, f64>,
}

/// One member's part of a meeting.
pub(crate) struct Attendance {
    pub(crate) pe: u32,
    pub(crate) thread: u32,
    pub(crate) site: u32,
    pub(crate) span: (u64, u64),
}

/// Finds the reasons of all waits.
pub fn blame(job: &RecordedJob) -> Blame {
    let mut blame = Blame::default();
    in_collectives(job, &mut blame);
    for_variables(job, &mut blame);
    blame
}

/// Adds the waits in collectives.
fn in_collectives(job: &RecordedJob, blame: &mut Blame) {
    for wait in waits(job) {
        *blame.pairs.entry((wait.pe, wait.reason)).or_default() += wait.time;
        let site = (wait.pe, wait.thread, wait.site);
        *blame.sites.entry(site).or_default() += wait.time;
        *blame.reasons.entry(site).or_default().entry(wait.reason).or_default() += wait.time;
    }
}

/// A wait of one PE for another one in a collective.
pub(crate) struct MeetingWait {
    pub(crate) pe: u32,
    pub(crate) thread: u32,
    pub(crate) site: u32,
    /// The PE for which it waited.
    pub(crate) reason: u32,
    /// When it came, and when that one did.
    pub(crate) span: (u64, u64),
    /// Nanoseconds, together with the meetings that are not kept.
    pub(crate) time: f64,
}

/// The waits of PEs in collectives.
pub(crate) fn waits(job: &RecordedJob) -> Vec<MeetingWait> {
    let stride = coarsest_stride(job);
    let mut waits = Vec::new();
    for mut parts in meetings(job, stride).into_values() {
        parts.sort_by_key(|part| part.span.0);
        for part in &parts {
            let Some(last) = awaited(&parts, part) else { continue };
            let span = (part.span.0, last.span.0);
            if span.1 > span.0 {
                let time = (span.1 - span.0) as f64 * stride as f64;
                let Attendance { pe, thread, site, .. } = *part;
                waits.push(MeetingWait { pe, thread, site, reason: last.pe, span, time });
            }
        }
    }
    waits
}

/// The member for which another one waits: the last one that comes before it leaves. In a broadcast, members leave before all are there.
/// `parts` are in the order in which they come.
fn awaited<'a>(parts: &'a [Attendance], part: &Attendance) -> Option<&'a Attendance> {
    // Not each with each: that takes minutes for thousands of PEs.
    let before = &parts[..parts.partition_point(|other| other.span.0 <= part.span.1)];
    before.iter().rev().find(|other| other.pe != part.pe)
}

/// Of this many meetings all PEs have kept one.
pub(crate) fn coarsest_stride(job: &RecordedJob) -> u64 {
    // Every PE keeps meetings whose numbers are multiples of its stride, a power of two: all have those of the largest one.
    job.ledgers.iter().map(|ledger| ledger.stride).max().unwrap_or(1)
}

/// The meetings of which every member has kept its part.
pub(crate) fn meetings(job: &RecordedJob, stride: u64) -> BTreeMap<(TeamKey, u64), Vec<Attendance>> {
    let mut meetings: BTreeMap<(TeamKey, u64), Vec<Attendance>> = BTreeMap::new();
    for ledger in &job.ledgers {
        for meeting in ledger.meetings.iter().filter(|meeting| meeting.number.is_multiple_of(stride)) {
            let Some(team) = ledger.teams.get(&meeting.team) else { continue };
            let part = Attendance { pe: ledger.pe, thread: ledger.thread, site: meeting.site, span: meeting.span };
            meetings.entry((team.key, meeting.number)).or_default().push(part);
        }
    }
    meetings.retain(|(team, _), parts| parts.len() == team.size as usize);
    meetings
}

/// A meeting as a member's call shows it: which team, its number, who came last, and how long this member waited.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharedMeeting {
    /// The team.
    pub team: TeamKey,
    /// The number among the collectives of the team.
    pub number: u64,
    /// The member that came last.
    pub last: u32,
    /// Nanoseconds that the member waited: until the last one came, or the last one that came before it left.
    pub waited: u64,
}

/// The meetings that all members have kept, by PE, thread, site and the time of the call.
pub fn shared(job: &RecordedJob) -> BTreeMap<(u32, u32, u32, u64), SharedMeeting> {
    let mut shared = BTreeMap::new();
    for ((team, number), mut parts) in meetings(job, 1).into_iter().filter(|(_, parts)| parts.len() > 1) {
        parts.sort_by_key(|part| part.span.0);
        let Some(last) = parts.last() else { continue };
        for part in &parts {
            let waited = awaited(&parts, part).map_or(0, |reason| reason.span.0.saturating_sub(part.span.0));
            let meeting = SharedMeeting { team, number, last: last.pe, waited };
            shared.insert((part.pe, part.thread, part.site, part.span.0), meeting);
        }
    }
    shared
}

/// A wait for a variable is shared among the PEs that updated it, in proportion to how often they did.
fn for_variables(job: &RecordedJob, blame: &mut Blame) {
    let mut writers: BTreeMap<(u32, SymmetricObject), Vec<(u32, u64)>> = BTreeMap::new();
    for ledger in &job.ledgers {
        for (object, target, updates) in &ledger.updates {
            writers.entry((*target, *object)).or_default().push((ledger.pe, *updates));
        }
    }
    for ledger in &job.ledgers {
        let mut explained = 0.0;
        let mut reasons: BTreeMap<u32, f64> = BTreeMap::new();
        for (object, _, time) in &ledger.waits {
            let Some(writers) = writers.get(&(ledger.pe, *object)) else { continue };
            let all: u64 = writers.iter().map(|(_, updates)| updates).sum();
            for (writer, updates) in writers {
                let waited = time * *updates as f64 / all.max(1) as f64;
                *blame.pairs.entry((ledger.pe, *writer)).or_default() += waited;
                *reasons.entry(*writer).or_default() += waited;
            }
            explained += time;
        }
        reasons.retain(|_, time| *time > 0.0);
        let waiting = ledger.sites.iter().filter(|(_, site)| site.category == RoutineKind::Waiting && site.time > 0.0);
        let all: f64 = waiting.clone().map(|(_, site)| site.time).sum();
        let for_variables: Vec<_> = waiting.filter(|(_, site)| is_for_variables(&site.routine)).collect();
        let at_all: f64 = for_variables.iter().map(|(_, site)| site.time).sum();
        // A ledger says for what was waited and where, but not where for what. Several places have one reason, or one place has all.
        if reasons.len() == 1 || for_variables.len() == 1 {
            for (number, site) in for_variables {
                let at_site = blame.reasons.entry((ledger.pe, ledger.thread, *number)).or_default();
                for (pe, time) in &reasons {
                    *at_site.entry(*pe).or_default() += time * site.time / at_all;
                }
            }
        }
        if !reasons.is_empty() {
            blame.variables.insert((ledger.pe, ledger.thread), reasons);
        }
        let unexplained = all - explained;
        if unexplained > 0.0 {
            *blame.unknown.entry(ledger.pe).or_default() += unexplained;
        }
    }
}

/// Whether a routine that waits does so for variables: it is known which PEs update them. Nothing tells who holds a lock, and for whom a
/// request of a collective waits.
fn is_for_variables(routine: &str) -> bool {
    // Names of Fortran's routines are in capitals.
    let name = routine.to_ascii_lowercase();
    !name.ends_with("_lock") && !name.contains("_req_")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::ledger::{CallLedger, MeetingRecord, SiteRecord, TeamRecord};

    const WORLD: TeamKey = TeamKey { first: 0, stride: 1, size: 3, sum: 0, number: Some(0) };

    /// The record of a PE of three: of each of its meetings the number, when it came, and when it left.
    pub(crate) fn ledger(pe: u32, stride: u64, meetings: &[(u64, u64, u64)]) -> CallLedger {
        let team = TeamRecord { key: WORLD, calls: 0, bytes: 0, time: 0.0 };
        let part =
            |&(number, begin, end): &(u64, u64, u64)| MeetingRecord { team: 0, site: 7, number, span: (begin, end) };
        CallLedger {
            pe,
            pes: 3,
            stride,
            teams: BTreeMap::from([(0, team)]),
            meetings: meetings.iter().map(part).collect(),
            ..CallLedger::default()
        }
    }

    #[test]
    fn the_last_to_come_makes_the_others_wait() {
        let job = RecordedJob::of(vec![
            ledger(0, 1, &[(0, 10, 101), (1, 200, 201)]),
            ledger(1, 1, &[(0, 100, 102), (1, 150, 205)]),
            ledger(2, 1, &[(0, 40, 101), (1, 180, 204)]),
        ]);
        let blame = blame(&job);
        let expected = [((0, 1), 90.0), ((2, 1), 60.0), ((1, 0), 50.0), ((2, 0), 20.0)];
        assert_eq!(blame.pairs, BTreeMap::from(expected));
        assert_eq!(blame.sites[&(2, 0, 7)], 80.0);
    }

    #[test]
    fn a_member_that_left_early_did_not_wait_for_those_who_came_later() {
        let job = RecordedJob::of(vec![
            ledger(0, 1, &[(0, 10, 20)]),
            ledger(1, 1, &[(0, 15, 40)]),
            ledger(2, 1, &[(0, 30, 40)]),
        ]);
        assert_eq!(blame(&job).pairs, BTreeMap::from([((0, 1), 5.0), ((1, 2), 15.0)]));
    }

    #[test]
    fn the_coarsest_stride_counts_for_all_and_stands_for_those_between() {
        let job = RecordedJob::of(vec![
            ledger(0, 1, &[(0, 0, 10), (1, 20, 30), (2, 40, 50)]),
            ledger(1, 2, &[(0, 4, 10), (2, 42, 50)]),
            ledger(2, 1, &[(0, 0, 10), (1, 29, 30), (2, 40, 50)]),
        ]);
        assert_eq!(blame(&job).pairs, BTreeMap::from([((0, 1), 12.0), ((2, 1), 12.0)]));
    }

    #[test]
    fn a_call_of_a_meeting_knows_who_came_last_and_how_long_it_waited() {
        let job = RecordedJob::of(vec![
            ledger(0, 1, &[(1, 120, 205)]),
            ledger(1, 1, &[(1, 130, 131)]),
            ledger(2, 1, &[(1, 200, 204)]),
        ]);
        let shared = shared(&job);
        let meeting = |waited| SharedMeeting { team: WORLD, number: 1, last: 2, waited };
        assert_eq!(shared[&(0, 0, 7, 120)], meeting(80));
        // It left before PE 2 came, and PE 0 was there before it.
        assert_eq!(shared[&(1, 0, 7, 130)], meeting(0));
        assert_eq!(shared[&(2, 0, 7, 200)], meeting(0));
    }

    #[test]
    fn a_wait_for_a_variable_is_shared_among_its_writers() {
        let mut waiter = ledger(0, 1, &[]);
        waiter.waits = vec![(SymmetricObject::Heap(64), 5, 90.0)];
        let mut writers = [ledger(1, 1, &[]), ledger(2, 1, &[])];
        writers[0].updates = vec![(SymmetricObject::Heap(64), 0, 2), (SymmetricObject::Heap(72), 0, 50)];
        writers[1].updates = vec![(SymmetricObject::Heap(64), 0, 1), (SymmetricObject::Heap(64), 1, 50)];
        let [one, two] = writers;
        assert_eq!(
            blame(&RecordedJob::of(vec![waiter, one, two])).pairs,
            BTreeMap::from([((0, 1), 60.0), ((0, 2), 30.0)])
        );
    }

    /// The known reasons by place of PE 0, which waits for variables that PEs 1 and 2 update.
    fn reasons(
        waits: &[(SymmetricObject, u64, f64)],
        sites: &[(&str, f64)],
    ) -> (Blame, BTreeMap<u32, BTreeMap<u32, f64>>) {
        let mut waiter = ledger(0, 1, &[]);
        waiter.waits = waits.to_vec();
        let site = |&(routine, time): &(&str, f64)| SiteRecord::timed_once(routine, RoutineKind::Waiting, time);
        waiter.sites = (0..).zip(sites.iter().map(site)).collect();
        let mut writers = [ledger(1, 1, &[]), ledger(2, 1, &[])];
        writers[0].updates = vec![(SymmetricObject::Heap(64), 0, 1)];
        writers[1].updates = vec![(SymmetricObject::Heap(72), 0, 1)];
        let [one, two] = writers;
        let blame = blame(&RecordedJob::of(vec![waiter, one, two]));
        let known = blame.reasons.iter().map(|(&(_, _, site), reasons)| (site, reasons.clone())).collect();
        (blame, known)
    }

    #[test]
    fn a_place_has_no_reason_of_another_place_and_a_lock_has_none() {
        let [first, second] = [(SymmetricObject::Heap(64), 1, 90.0), (SymmetricObject::Heap(72), 1, 60.0)];
        let of = |pe: u32, time: f64| BTreeMap::from([(pe, time)]);
        let lock = ("shmem_set_lock", 50.0);
        let fortran = ("SHMEM_CLEAR_LOCK", 5.0);
        let request = ("shmem_req_wait", 5.0);
        // One place, and several places that wait for one PE.
        let (blame, known) = reasons(&[first], &[("shmem_long_wait_until", 90.0), lock, fortran, request]);
        assert_eq!((known, &blame.unknown), (BTreeMap::from([(0, of(1, 90.0))]), &of(0, 60.0)));
        let (_, known) = reasons(&[first], &[("shmem_long_wait_until", 30.0), lock, ("shmem_wait", 60.0)]);
        assert_eq!(known, BTreeMap::from([(0, of(1, 30.0)), (2, of(1, 60.0))]));
        let (_, known) = reasons(&[first, second], &[("shmem_long_wait_until", 150.0), lock]);
        assert_eq!(known, BTreeMap::from([(0, BTreeMap::from([(1, 90.0), (2, 60.0)]))]));
        // Nothing tells which of two places waited for which PE. The PE's own sums are known.
        let sites = [("shmem_long_wait_until", 90.0), ("shmem_signal_wait_until", 60.0)];
        let (blame, known) = reasons(&[first, second], &sites);
        assert_eq!((known, &blame.variables[&(0, 0)]), (BTreeMap::new(), &BTreeMap::from([(1, 90.0), (2, 60.0)])));
    }
}
