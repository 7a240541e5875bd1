//! The PE that kept others waiting longest in collectives, and where it was meanwhile.

use std::collections::BTreeMap;

use crate::job::RecordedJob;
use crate::meetings;

/// The PE for which others waited the most in collectives.
#[derive(Clone, Debug, PartialEq)]
pub struct LateComer {
    /// The PE.
    pub pe: u32,
    /// In how many meetings it came last and others waited.
    pub late: u64,
    /// How many meetings of several PEs were compared.
    pub compared: u64,
    /// Nanoseconds that others waited for it, together.
    pub waited: f64,
    /// Between which two of its collectives it was when the others waited most. Nothing if only some of its meetings are known.
    pub between: Option<BetweenSites>,
}

/// The part of a thread's time between two of its collectives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BetweenSites {
    /// The index of the thread's ledger in the job.
    pub ledger: usize,
    /// The site of the earlier one; nothing if there was none before.
    pub from: Option<u32>,
    /// The site of the later one.
    pub to: u32,
}

/// The meetings to which a PE came last while others waited.
#[derive(Default)]
struct LateMeetings {
    count: u64,
    /// Nanoseconds that others waited, together.
    waited: f64,
}

/// When a thread came last to a meeting.
struct LateArrival {
    came: u64,
    /// Nanoseconds that others waited for it, together.
    waited: f64,
}

/// Finds the PE that kept others waiting longest in collectives, if any did.
pub fn late_comer(job: &RecordedJob) -> Option<LateComer> {
    let stride = meetings::coarsest_stride(job);
    let all = meetings::meetings(job, stride);
    let mut late: BTreeMap<u32, LateMeetings> = BTreeMap::new();
    let mut arrivals: BTreeMap<(u32, u32), Vec<LateArrival>> = BTreeMap::new();
    for parts in all.values().filter(|parts| parts.len() > 1) {
        let Some(last) = parts.iter().max_by_key(|part| part.span.0) else { continue };
        let stayed = parts.iter().filter(|part| part.span.1 >= last.span.0);
        let waited: f64 = stayed.map(|part| (last.span.0 - part.span.0) as f64 * stride as f64).sum();
        if waited > 0.0 {
            let of_pe = late.entry(last.pe).or_default();
            of_pe.count += 1;
            of_pe.waited += waited;
            let arrival = LateArrival { came: last.span.0, waited };
            arrivals.entry((last.pe, last.thread)).or_default().push(arrival);
        }
    }
    let (&pe, latest) = late.iter().max_by(|a, b| a.1.waited.total_cmp(&b.1.waited))?;
    let compared = all.values().filter(|parts| parts.len() > 1).count() as u64;
    let between = if stride == 1 { between(job, pe, &arrivals) } else { None };
    Some(LateComer { pe, late: latest.count, compared, waited: latest.waited, between })
}

/// Between which two collectives a PE was when others waited for it, weighted by how long they did. `arrivals` are by PE and thread.
fn between(job: &RecordedJob, pe: u32, arrivals: &BTreeMap<(u32, u32), Vec<LateArrival>>) -> Option<BetweenSites> {
    let mut weights: BTreeMap<BetweenSites, f64> = BTreeMap::new();
    for (number, ledger) in job.ledgers.iter().enumerate().filter(|(_, ledger)| ledger.pe == pe) {
        let mut entries: Vec<(u64, u32)> =
            ledger.meetings.iter().map(|meeting| (meeting.span.0, meeting.site)).collect();
        entries.sort_unstable();
        for arrival in arrivals.get(&(pe, ledger.thread)).into_iter().flatten() {
            let at = entries.partition_point(|(when, _)| *when < arrival.came);
            if let Some((_, to)) = entries.get(at) {
                let from = at.checked_sub(1).map(|earlier| entries[earlier].1);
                *weights.entry(BetweenSites { ledger: number, from, to: *to }).or_default() += arrival.waited;
            }
        }
    }
    weights.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{CallLedger, MeetingRecord, TeamKey, TeamRecord};

    const WORLD: TeamKey = TeamKey { first: 0, stride: 1, size: 3, sum: 0, number: Some(0) };

    fn ledger(pe: u32, stride: u64, meetings: &[(u64, u64, u64)]) -> CallLedger {
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
    fn the_late_comer_is_the_pe_that_kept_others_longest_and_where_it_was_is_known() {
        let at = |mut ledger: CallLedger, sites: &[u32]| {
            ledger.meetings.iter_mut().zip(sites).for_each(|(meeting, site)| meeting.site = *site);
            ledger
        };
        let job = RecordedJob::of(vec![
            at(ledger(0, 1, &[(0, 10, 101), (1, 120, 205), (2, 210, 305)]), &[3, 4, 5]),
            at(ledger(1, 1, &[(0, 100, 102), (1, 130, 205), (2, 300, 305)]), &[3, 4, 5]),
            at(ledger(2, 1, &[(0, 40, 101), (1, 200, 204), (2, 220, 305)]), &[3, 4, 5]),
        ]);
        // PE 1 came last in meetings 0 and 2, and others waited longest before the last one.
        let late = late_comer(&job).unwrap();
        assert_eq!((late.pe, late.late, late.compared, late.waited), (1, 2, 3, 150.0 + 170.0));
        assert_eq!(late.between, Some(BetweenSites { ledger: 1, from: Some(4), to: 5 }));
        assert_eq!(late_comer(&RecordedJob::of(vec![ledger(0, 1, &[])])), None);
    }

    #[test]
    fn a_pe_that_came_late_to_its_first_meeting_was_in_none_before() {
        let job = RecordedJob::of(vec![
            ledger(0, 1, &[(0, 10, 301), (1, 400, 421)]),
            ledger(1, 1, &[(0, 300, 302), (1, 420, 421)]),
            ledger(2, 1, &[(0, 40, 301), (1, 410, 421)]),
        ]);
        let late = late_comer(&job).unwrap();
        assert_eq!((late.pe, late.late), (1, 2));
        assert_eq!(late.between, Some(BetweenSites { ledger: 1, from: None, to: 7 }));
    }
}
