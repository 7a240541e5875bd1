//! Where the calls of a thread lie in a timeline.

use std::cmp::Reverse;

use crate::ledger::EventRecord;

/// A call as it is drawn, in nanoseconds from the first record of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DrawnCall {
    /// Its place among the events of its ledger.
    pub(crate) event: usize,
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// The calls of a thread in the order of their beginnings, a call in front of those that are made inside of it: a handler of signals
/// makes calls while its thread waits. Two calls follow each other, or one lies inside of the other; rounding must not change that.
///
/// `events` stand in the order of their ends. So of two that overlap the later one is the outer call if it began first, and otherwise
/// the overlap is one of rounding.
pub(crate) fn drawn(events: &[EventRecord], begin: u64) -> Vec<DrawnCall> {
    let mut order: Vec<usize> = (0..events.len()).collect();
    order.sort_by_key(|number| (events[*number].begin, Reverse(*number)));
    let mut drawn = Vec::with_capacity(events.len());
    let mut around: Vec<DrawnCall> = Vec::new();
    // From here on the innermost call that has not ended has room for another one.
    let mut free = 0;
    for number in order {
        while let Some(before) = around.pop_if(|call| call.event < number) {
            free = before.end;
        }
        let room = around.last().map_or(u64::MAX, |outer| outer.end);
        let event = &events[number];
        let start = event.begin.saturating_sub(begin).max(free).min(room);
        let call = DrawnCall { event: number, start, end: start.saturating_add(event.time).min(room) };
        free = start;
        around.push(call);
        drawn.push(call);
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events of these beginnings and lengths, as they are drawn: number, start and end.
    fn drawn_of(events: &[(u64, u64)]) -> Vec<(usize, u64, u64)> {
        let event = |&(begin, time): &(u64, u64)| EventRecord { begin, time, site: 0, peer: None, bytes: 0 };
        let events: Vec<EventRecord> = events.iter().map(event).collect();
        drawn(&events, 1000).iter().map(|call| (call.event, call.start, call.end)).collect()
    }

    #[test]
    fn a_call_that_follows_another_one_begins_behind_it() {
        assert_eq!(drawn_of(&[(1000, 200), (1199, 2), (1200, 1)]), [(0, 0, 200), (1, 200, 202), (2, 202, 203)]);
        // An event from before the first record of the job.
        assert_eq!(drawn_of(&[(990, 5)]), [(0, 0, 5)]);
    }

    #[test]
    fn a_call_inside_of_another_one_moves_neither_it_nor_what_follows() {
        let calls = drawn_of(&[(1300, 10), (1500, 20), (1100, 900), (2000, 5)]);
        assert_eq!(calls, [(2, 100, 1000), (0, 300, 310), (1, 500, 520), (3, 1000, 1005)]);
        // One with one of its own, and two of which the second one was rounded into the first one.
        let calls = drawn_of(&[(1201, 5), (1200, 50), (1249, 4), (1100, 200)]);
        assert_eq!(calls, [(3, 100, 300), (1, 200, 250), (0, 201, 206), (2, 250, 254)]);
    }

    #[test]
    fn a_call_inside_of_another_one_ends_in_it_whatever_was_rounded() {
        assert_eq!(drawn_of(&[(1100, 101), (1100, 100), (1201, 1)]), [(1, 100, 200), (0, 100, 200), (2, 201, 202)]);
        assert_eq!(drawn_of(&[(1201, 3), (1100, 100)]), [(1, 100, 200), (0, 200, 200)]);
    }
}
