//! Records of calls without a library behind them.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use oxshmem_profile::layout::{self, RoutineKind, SERIES, SITES, TEAMS, Table, WAITS, head, site, team};

use super::{OpenLedger, SHORT, Timing};
use crate::library::CallerLine;
use crate::routine::{Begun, WrappedRoutine};
use crate::teams::TeamEntry;

static WAIT: WrappedRoutine = WrappedRoutine::of(c"shmem_long_wait_until", RoutineKind::Waiting);
static PUT: WrappedRoutine = WrappedRoutine::of(c"shmem_long_p", RoutineKind::Transfer);

/// The ledger of one PE, in memory alone.
fn ledger() -> OpenLedger {
    let (peers, events) = (layout::peers(1), layout::events(1, 16));
    let words: Vec<AtomicU64> = (0..events.end()).map(|_| AtomicU64::new(0)).collect();
    OpenLedger {
        words: words.leak(),
        peers,
        events,
        next_event: 0,
        sites: vec![(0, 0); SITES.records].into_boxed_slice(),
        cost: 0,
        random: 1,
        line: CallerLine::of_nothing(),
        module: &(0..0),
        pending: (0, 0),
        last: None,
    }
}

#[test]
fn a_wait_is_under_way_again_when_a_call_inside_of_it_has_ended() {
    let mut ledger = ledger();
    let wait = ledger.begin(&WAIT, 0x100);
    let open = ledger.get(head::OPEN);
    assert_ne!(open, 0);
    for caller in [0x200, 0x300] {
        let put = ledger.begin(&PUT, caller);
        assert!(![0, open].contains(&ledger.get(head::OPEN)));
        ledger.finish(put, RoutineKind::Transfer, 8, Some(0));
        assert_eq!(ledger.get(head::OPEN), open, "the call of a handler is over, and the wait is not");
    }
    // A handler may leave a call by a jump; the wait around it ends all the same.
    ledger.begin(&PUT, 0x400);
    ledger.finish(wait, RoutineKind::Waiting, 0, None);
    assert_eq!(ledger.get(head::OPEN), 0);
    assert_eq!(ledger.get(head::EVENTS), 3);
}

#[test]
fn a_call_that_lost_its_processor_is_long_once_and_not_for_all_that_passed_untimed() {
    let mut ledger = ledger();
    let (weight, lost) = (64, 20_000_000);
    // Two samples of 64 calls: the first is short, and the second one lost its processor. Intervals are of 2^20 ticks.
    ledger.set(head::INTERVAL, 20);
    let short = Timing { end: 1_000_000, ticks: 100, weight };
    let long = Timing { end: 60_000_000, ticks: lost, weight };
    let expected = 64 * 100 + lost + 63 * SHORT;
    assert_eq!([short, long].map(|timing| timing.total()).iter().sum::<u64>(), expected);
    for timing in [short, long] {
        ledger.in_series(RoutineKind::Transfer, &timing);
        ledger.wait(0x40, Some(timing));
        ledger.of_team(&TeamEntry::of_nobody(), 0, Some(timing));
    }
    let sum = |table: Table, word: usize| (0..table.records).map(|n| ledger.get(table.at(n) + word)).sum::<u64>();
    assert_eq!([sum(SERIES, 0), sum(WAITS, 2), sum(TEAMS, team::TICKS)], [expected; 3]);

    // A put that began 20,000,000 ticks ago, after 63 that passed untimed.
    let put = ledger.begin(&PUT, 0x100);
    let record = ledger.record::<{ SITES.width }>(SITES, put.site as usize - 1);
    record[site::PASSED].store(63, Relaxed);
    let start = crate::ticks::now() - lost;
    ledger.finish(Begun { start, ..put }, RoutineKind::Transfer, 8, Some(0));
    let ticks = record[site::TICKS].load(Relaxed);
    assert_eq!(ticks, record[site::LONGEST].load(Relaxed) + 63 * SHORT);
}
