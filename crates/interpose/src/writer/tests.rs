//! Records of calls without a library behind them.

use std::sync::atomic::AtomicU64;

use oxshmem_profile::layout::{self, RoutineKind, SITES, head};

use super::OpenLedger;
use crate::library::CallerLine;
use crate::routine::WrappedRoutine;

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
