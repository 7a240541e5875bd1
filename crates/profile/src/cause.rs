//! Why a PE came late to collectives although it does not work longer than others: it waited for a PE that does.

use std::collections::BTreeMap;

use crate::job::RecordedJob;
use crate::late::LateComer;
use crate::layout::RoutineKind;
use crate::meetings::{self, MeetingWait};
use crate::totals::Totals;

/// The time of a PE outside of the library over the mean of all PEs, from which on its work counts as unevenly divided.
pub const UNEVEN: f64 = 1.2;
/// A wait explains a delay if it is at least this part of it.
const PART: f64 = 0.5;

/// The PE that delayed another one, which then came late to collectives.
#[derive(Clone, Debug, PartialEq)]
pub struct LateCause {
    /// The one that came late, then the PE for which it waited, and so on up to the cause.
    pub chain: Vec<u32>,
    /// Where the first one waited; nothing if that is not known.
    pub site: Option<LedgerSite>,
    /// Nanoseconds that the cause is outside of the library.
    pub outside: f64,
    /// The mean of all PEs.
    pub mean: f64,
}

impl LateCause {
    /// The cause.
    pub fn pe(&self) -> u32 {
        *self.chain.last().expect("a chain begins with the late PE")
    }
}

/// A site of one thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LedgerSite {
    /// The index of the thread's ledger in the job.
    pub ledger: usize,
    /// The site's number in this ledger.
    pub number: u32,
}

/// The waits of a PE for another one.
struct PeWait {
    reason: u32,
    time: f64,
    /// Where it waited longest; nothing if that is not known.
    site: Option<LedgerSite>,
}

/// Follows the waits of a PE that came late. Nothing if it works longer than others itself, or if no such PE is at the end.
pub fn behind(job: &RecordedJob, totals: &Totals, late: &LateComer) -> Option<LateCause> {
    let outside = totals.outside();
    let mean = totals.mean_outside();
    let works = |pe: u32| outside.get(&pe).copied().unwrap_or(0.0);
    let is_uneven = |pe: u32| mean > 0.0 && works(pe) >= UNEVEN * mean;
    let meanwhile = meanwhile(job, late);
    let mut least = PART * late.waited / f64::from(totals.pes.max(2) - 1);
    let mut chain = vec![late.pe];
    let (mut pe, mut site) = (late.pe, None);
    while !is_uneven(pe) {
        let wait = longest_wait(job, totals, pe, &meanwhile).filter(|wait| wait.time >= least)?;
        if chain.contains(&wait.reason) {
            return None;
        }
        (pe, least) = (wait.reason, PART * wait.time);
        if chain.len() == 1 {
            site = wait.site;
        }
        chain.push(pe);
    }
    if chain.len() == 1 {
        return None;
    }
    Some(LateCause { chain, site, outside: works(pe), mean })
}

/// The PE for which a PE waited longest at variables; nothing if no PE is known to be the reason.
pub fn awaited(job: &RecordedJob, totals: &Totals, pe: u32) -> Option<u32> {
    longest_wait(job, totals, pe, &[]).map(|wait| wait.reason)
}

/// The waits in collectives while others waited for the late PE, and how long in that time. A wait at another time does not delay it: all
/// members of a barrier leave it together.
fn meanwhile(job: &RecordedJob, late: &LateComer) -> Vec<MeetingWait> {
    let mut waits = meetings::waits(job);
    waits.retain_mut(|wait| {
        let (begin, end) = wait.span;
        let first = late.spans.partition_point(|span| span.1 <= begin);
        let common = late.spans[first..].iter().take_while(|span| span.0 < end);
        let common: u64 = common.map(|span| span.1.min(end) - span.0.max(begin)).sum();
        wait.time *= common as f64 / (end - begin) as f64;
        common > 0
    });
    waits
}

/// The PE for which a PE waited longest for variables and in these collectives, at all sites together, and the site where it waited longest.
fn longest_wait(job: &RecordedJob, totals: &Totals, pe: u32, meetings: &[MeetingWait]) -> Option<PeWait> {
    let mut reasons: BTreeMap<u32, f64> = BTreeMap::new();
    let ledgers = || job.ledgers.iter().enumerate().filter(|(_, ledger)| ledger.pe == pe);
    for (_, ledger) in ledgers() {
        for (&reason, &time) in totals.blame.variables.get(&(pe, ledger.thread)).into_iter().flatten() {
            if reason != pe {
                *reasons.entry(reason).or_default() += time;
            }
        }
    }
    for wait in meetings.iter().filter(|wait| wait.pe == pe) {
        *reasons.entry(wait.reason).or_default() += wait.time;
    }
    let (reason, time) = reasons.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let mut at_sites: Vec<(f64, LedgerSite)> = Vec::new();
    for (index, ledger) in ledgers() {
        for (&number, _) in ledger.sites.iter().filter(|(_, site)| site.category == RoutineKind::Waiting) {
            let here = totals.blame.reasons.get(&(pe, ledger.thread, number)).and_then(|here| here.get(&reason));
            at_sites.extend(here.map(|time| (*time, LedgerSite { ledger: index, number })));
        }
        let mut in_meetings: BTreeMap<u32, f64> = BTreeMap::new();
        let here = |wait: &&MeetingWait| (wait.pe, wait.thread, wait.reason) == (pe, ledger.thread, reason);
        for wait in meetings.iter().filter(here) {
            *in_meetings.entry(wait.site).or_default() += wait.time;
        }
        at_sites.extend(in_meetings.into_iter().map(|(number, time)| (time, LedgerSite { ledger: index, number })));
    }
    let longest = at_sites.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
    Some(PeWait { reason, time, site: longest.map(|(_, site)| site) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{CallLedger, MeetingRecord, SiteRecord, SymmetricObject, TeamKey, TeamRecord};
    use crate::{late, totals};

    /// PEs that wait in a ring for their left neighbours, and then meet: when each came, and how long it had waited.
    fn cause(pes: &[(u64, f64)]) -> Option<LateCause> {
        let count = pes.len() as u32;
        let site = SiteRecord::timed_once;
        let key = TeamKey { first: 0, stride: 1, size: count, sum: 0, number: Some(0) };
        let ledger = |(pe, &(came, waited)): (u32, &(u64, f64))| CallLedger {
            pe,
            pes: count,
            stride: 1,
            span: (0, 1000),
            teams: BTreeMap::from([(0, TeamRecord { key, calls: 1, bytes: 0, time: 0.0 })]),
            meetings: vec![MeetingRecord { team: 0, site: 0, number: 0, span: (came, 1000) }],
            sites: BTreeMap::from([
                (0, site("shmem_barrier_all", RoutineKind::Collective, (1000 - came) as f64)),
                (1, site("shmem_long_wait_until", RoutineKind::Waiting, waited)),
            ]),
            waits: vec![(SymmetricObject::Heap(8), 1, waited)],
            updates: vec![(SymmetricObject::Heap(8), (pe + 1) % count, 1)],
            ..CallLedger::default()
        };
        let job = RecordedJob::of((0..).zip(pes).map(ledger).collect());
        let late = late::late_comer(&job).expect("somebody comes last");
        behind(&job, &totals::add_up(&job), &late)
    }

    #[test]
    fn a_pe_that_waited_for_a_longer_worker_is_not_the_cause() {
        let found = cause(&[(105, 0.0), (105, 0.0), (605, 0.0), (620, 510.0)]).expect("PE 3 waited for PE 2");
        assert_eq!((found.pe(), &found.chain[..]), (2, &[3, 2][..]));
        assert_eq!(found.site, Some(LedgerSite { ledger: 3, number: 1 }));
        assert_eq!((found.outside, found.mean), (605.0, 231.25));
    }

    #[test]
    fn waits_are_followed_from_pe_to_pe() {
        let found = cause(&[(640, 520.0), (105, 0.0), (605, 0.0), (620, 510.0)]).expect("PE 0 waited for PE 3");
        assert_eq!((&found.chain[..], found.site), (&[0, 3, 2][..], Some(LedgerSite { ledger: 0, number: 1 })));
    }

    #[test]
    fn a_pe_that_works_longer_itself_and_a_circle_of_waits_have_no_other_cause() {
        assert_eq!(cause(&[(105, 0.0), (105, 0.0), (605, 0.0), (620, 10.0)]), None);
        assert_eq!(cause(&[(640, 520.0), (630, 520.0), (605, 500.0), (620, 510.0)]), None);
    }

    /// Four PEs of which 1 and 3 reduce in a team of their own, where PE 1 came at `came` and PE 3 at 600. Then all finalize.
    fn behind_a_team(came: u64) -> Option<LateCause> {
        let site = SiteRecord::timed_once;
        let world = TeamKey { first: 0, stride: 1, size: 4, sum: 0, number: Some(0) };
        let odd = TeamKey { first: 1, stride: 2, size: 2, sum: 4, number: Some(0) };
        let team = |key| TeamRecord { key, calls: 1, bytes: 0, time: 0.0 };
        let meeting = |team: u32, number, span| MeetingRecord { team, site: team, number, span };
        let ledger = |pe: u32, meetings: &[MeetingRecord]| CallLedger {
            pe,
            pes: 4,
            stride: 1,
            span: (0, 1000),
            teams: BTreeMap::from([(0, team(world)), (1, team(odd))]),
            meetings: meetings.to_vec(),
            sites: meetings
                .iter()
                .map(|MeetingRecord { site: number, span, .. }| {
                    (*number, site("shmem_barrier_all", RoutineKind::Collective, (span.1 - span.0) as f64))
                })
                .collect(),
            ..CallLedger::default()
        };
        let job = RecordedJob::of(vec![
            ledger(0, &[meeting(0, 0, (100, 1000))]),
            ledger(1, &[meeting(1, 0, (came, 610)), meeting(0, 0, (620, 1000))]),
            ledger(2, &[meeting(0, 0, (100, 1000))]),
            ledger(3, &[meeting(1, 0, (600, 605)), meeting(0, 0, (610, 1000))]),
        ]);
        let late = late::late_comer(&job).expect("PE 1 comes last");
        assert_eq!((late.pe, &late.spans[..]), (1, &[(100, 620)][..]));
        behind(&job, &totals::add_up(&job), &late)
    }

    #[test]
    fn a_pe_that_waited_in_another_team_is_not_the_cause() {
        let found = behind_a_team(100).expect("PE 1 waited for PE 3");
        assert_eq!((&found.chain[..], found.site), (&[1, 3][..], Some(LedgerSite { ledger: 1, number: 1 })));
        // PE 1 works as long as PE 3.
        assert_eq!(behind_a_team(590), None);
    }
}
