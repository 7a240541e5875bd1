//! The PE that kept others waiting longest in collectives, and where it was meanwhile.

use std::collections::BTreeMap;

use crate::job::RecordedJob;
use crate::ledger::CallLedger;
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
    /// Of this many meetings one was kept.
    pub stride: u64,
    /// Nanoseconds that others waited for it, together.
    pub waited: f64,
    /// When others waited for it, from the first to the last such time.
    pub spans: Vec<(u64, u64)>,
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
    /// When the first one came that waited for it.
    since: u64,
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
        let stayed = || parts.iter().filter(|part| part.span.1 >= last.span.0);
        let waited: f64 = stayed().map(|part| (last.span.0 - part.span.0) as f64 * stride as f64).sum();
        if waited > 0.0 {
            let of_pe = late.entry(last.pe).or_default();
            of_pe.count += 1;
            of_pe.waited += waited;
            let since = stayed().map(|part| part.span.0).min().unwrap_or(last.span.0);
            let arrival = LateArrival { since, came: last.span.0, waited };
            arrivals.entry((last.pe, last.thread)).or_default().push(arrival);
        }
    }
    let (&pe, latest) = late.iter().max_by(|a, b| a.1.waited.total_cmp(&b.1.waited))?;
    let compared = all.values().filter(|parts| parts.len() > 1).count() as u64;
    let between = if stride == 1 { between(job, pe, &arrivals) } else { None };
    let of_pe = arrivals.iter().filter(|((late, _), _)| *late == pe).flat_map(|(_, arrivals)| arrivals);
    let spans = united(of_pe.map(|arrival| (arrival.since, arrival.came)).collect());
    Some(LateComer { pe, late: latest.count, compared, stride, waited: latest.waited, spans, between })
}

/// The times without what they have in common, in their order.
fn united(mut spans: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    spans.sort_unstable();
    let mut united: Vec<(u64, u64)> = Vec::new();
    for (begin, end) in spans {
        match united.last_mut().filter(|last| begin <= last.1) {
            Some(last) => last.1 = last.1.max(end),
            None => united.push((begin, end)),
        }
    }
    united
}

/// Between which two collectives a PE was longest when others waited for it, weighted by how many did. `arrivals` are by PE and thread.
fn between(job: &RecordedJob, pe: u32, arrivals: &BTreeMap<(u32, u32), Vec<LateArrival>>) -> Option<BetweenSites> {
    let mut weights: BTreeMap<BetweenSites, f64> = BTreeMap::new();
    for (number, ledger) in job.ledgers.iter().enumerate().filter(|(_, ledger)| ledger.pe == pe) {
        let gaps = gaps(ledger);
        for arrival in arrivals.get(&(pe, ledger.thread)).into_iter().flatten() {
            let per_time = arrival.waited / (arrival.came - arrival.since) as f64;
            for (CallGap { from, to, .. }, time) in meanwhile(&gaps, arrival) {
                let place = BetweenSites { ledger: number, from: *from, to: *to };
                *weights.entry(place).or_default() += time as f64 * per_time;
            }
        }
    }
    weights.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(place, _)| place)
}

/// A time that a thread was in no collective, and the sites of those before and behind it.
struct CallGap {
    span: (u64, u64),
    from: Option<u32>,
    to: u32,
}

/// The times between a thread's collectives, in their order.
fn gaps(ledger: &CallLedger) -> Vec<CallGap> {
    let mut calls: Vec<((u64, u64), u32)> =
        ledger.meetings.iter().map(|meeting| (meeting.span, meeting.site)).collect();
    calls.sort_unstable();
    // The time before the first one is counted from before the job: others may have waited for the start of the process.
    let (mut left, mut from) = (0, None);
    let gap = |(span, site): ((u64, u64), u32)| {
        // Clocks of several hosts are aligned with errors, so a call may seem to begin before the one in front of it ends.
        let gap = CallGap { span: (left, span.0.max(left)), from, to: site };
        (left, from) = (span.1.max(gap.span.1), Some(site));
        gap
    };
    calls.into_iter().map(gap).collect()
}

/// The gaps in which a thread was while others waited for it, and for how long. They need not lie in front of its call: members of broadcasts
/// may leave them before it comes there, and wait for it in a later collective.
fn meanwhile<'a>(gaps: &'a [CallGap], arrival: &'a LateArrival) -> impl Iterator<Item = (&'a CallGap, u64)> {
    let first = gaps.partition_point(|gap| gap.span.1 <= arrival.since);
    let overlap = |gap: &CallGap| gap.span.1.min(arrival.came) - gap.span.0.max(arrival.since);
    let in_time = gaps[first..].iter().take_while(|gap| gap.span.0 < arrival.came);
    in_time.map(move |gap| (gap, overlap(gap)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meetings::tests::ledger;

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
        assert_eq!(late.stride, 1);
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

    #[test]
    fn the_work_in_front_of_a_broadcast_that_others_left_is_found() {
        // PE 2 works in front of a broadcast of PE 0. The others leave this one and the next, and wait in the barrier behind them.
        let mut ledgers = [
            ledger(0, 1, &[(0, 10, 20), (1, 21, 22), (2, 23, 24), (3, 25, 130)]),
            ledger(1, 1, &[(0, 10, 20), (1, 21, 23), (2, 24, 25), (3, 26, 130)]),
            ledger(2, 1, &[(0, 10, 20), (1, 120, 121), (2, 122, 123), (3, 127, 130)]),
        ];
        for ledger in &mut ledgers {
            (3..).zip(&mut ledger.meetings).for_each(|(site, meeting)| meeting.site = site);
        }
        let late = late_comer(&RecordedJob::of(ledgers.to_vec())).unwrap();
        assert_eq!((late.pe, late.late, late.compared, late.waited), (2, 1, 4, 102.0 + 101.0));
        assert_eq!(late.between, Some(BetweenSites { ledger: 2, from: Some(3), to: 4 }));
    }
}
