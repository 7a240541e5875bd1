//! The curves over time: the intervals of all ledgers, added up.

use crate::ledger::{CallLedger, Interval};

/// More intervals than this are joined: a page draws far fewer.
const MOST_INTERVALS: f64 = 1024.0;

/// The intervals of all ledgers, in those of the coarsest one: each is a power of two of ticks long.
pub(super) fn series(ledgers: &[CallLedger]) -> (f64, Vec<Interval>) {
    let mut longest = ledgers.iter().map(|ledger| ledger.series.0).fold(0.0, f64::max);
    let mut sums: Vec<Interval> = Vec::new();
    let begin = ledgers.iter().map(|ledger| ledger.span.0).min().unwrap_or(0);
    let end = |ledger: &CallLedger| (ledger.span.0 - begin) as f64 + ledger.series.1.len() as f64 * ledger.series.0;
    let all = ledgers.iter().map(end).fold(0.0, f64::max);
    // Threads that came late have short intervals, however far behind the first one they lie.
    while longest > 0.0 && all / longest > MOST_INTERVALS {
        longest *= 2.0;
    }
    for ledger in ledgers {
        let (length, intervals) = &ledger.series;
        for (number, interval) in intervals.iter().enumerate() {
            let from_begin = (ledger.span.0 - begin) as f64 + (number as f64 + 0.5) * length;
            let at = if longest > 0.0 { (from_begin / longest) as usize } else { 0 };
            if sums.len() <= at {
                sums.resize(at + 1, Interval::default());
            }
            let sum = &mut sums[at];
            sum.time.iter_mut().zip(interval.time).for_each(|(sum, more)| *sum += more);
            sum.bytes += interval.bytes;
            sum.calls += interval.calls;
        }
    }
    (longest, sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_came_an_hour_later_takes_no_more_intervals() {
        let calls = |begin: u64| CallLedger {
            span: (begin, begin + 1000),
            series: (100.0, vec![Interval { calls: 3, ..Interval::default() }; 10]),
            ..CallLedger::default()
        };
        let (length, intervals) = series(&[calls(7), calls(3_600_000_000_007)]);
        assert!(intervals.len() as f64 <= MOST_INTERVALS + 1.0 && length > 3e9, "{length}: {}", intervals.len());
        assert_eq!(intervals.iter().map(|interval| interval.calls).sum::<u64>(), 60);
        assert_eq!(series(&[calls(7), calls(1007)]).1.len(), 20);
    }
}
