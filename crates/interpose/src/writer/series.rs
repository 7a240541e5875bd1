//! The job's time in equal intervals.

use oxshmem_profile::layout::{RoutineKind, SERIES, head, interval};

use super::{OpenLedger, Timing};

impl OpenLedger {
    /// Adds a call to the intervals of time in which it ran.
    pub(super) fn in_series(&mut self, category: RoutineKind, timing: &Timing) {
        let begin = self.get(head::BEGIN);
        let mut shift = self.get(head::INTERVAL);
        while timing.end.saturating_sub(begin) >> shift >= SERIES.records as u64 {
            self.fold_series();
            shift += 1;
            self.set(head::INTERVAL, shift);
        }
        let group = match category {
            RoutineKind::Transfer | RoutineKind::Atomic => 0,
            RoutineKind::Ordering => 1,
            RoutineKind::Waiting => 2,
            RoutineKind::Collective | RoutineKind::Other => 3,
        };
        let end = timing.end.saturating_sub(begin);
        let start = end.saturating_sub(timing.ticks);
        for number in start >> shift..=end >> shift {
            let part = end.min((number + 1) << shift).saturating_sub(start.max(number << shift));
            self.add(SERIES.at(number as usize) + group, part);
        }
        let last = SERIES.at((end >> shift) as usize);
        self.add(last + group, timing.of_others());
        self.add(last + interval::BYTES, self.pending.0);
        self.add(last + interval::CALLS, self.pending.1);
        self.pending = (0, 0);
    }

    /// Joins pairs of intervals.
    fn fold_series(&self) {
        for number in 0..SERIES.records {
            for word in 0..SERIES.width {
                let of = |number: usize| if number < SERIES.records { self.get(SERIES.at(number) + word) } else { 0 };
                self.set(SERIES.at(number) + word, of(2 * number) + of(2 * number + 1));
            }
        }
    }
}
