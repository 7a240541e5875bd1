//! Lanes that complete their operations together.

use super::*;
use oxshmem_base::Error;
use oxshmem_transport::{AmoDomain, AtomicArguments, Busy, Features, GetArguments, PutArguments, Remote, SignalUpdate};

/// A lane of this account, on which nothing is ever under way.
struct IdleLane(Option<usize>);

// SAFETY: it touches no memory.
unsafe impl Lane for IdleLane {
    unsafe fn put(&self, _put: &PutArguments) -> usize {
        0
    }

    unsafe fn put_nbi(&self, _put: &PutArguments) -> usize {
        0
    }

    unsafe fn get_nbi(&self, _get: &GetArguments) -> usize {
        0
    }

    unsafe fn amo(&self, _atomic: &AtomicArguments) -> Result<(), Busy> {
        Ok(())
    }

    unsafe fn put_signal(
        &self,
        _to: Remote,
        _source: *const u8,
        _n: usize,
        _signal: Remote,
        _update: SignalUpdate,
    ) -> Result<(), Busy> {
        Ok(())
    }

    fn fence(&self) -> Result<(), Busy> {
        Ok(())
    }

    fn outstanding(&self) -> u64 {
        0
    }

    fn account(&self) -> Option<usize> {
        self.0
    }

    fn has_failed(&self) -> bool {
        false
    }

    fn progress(&self) -> Result<usize, Error> {
        Ok(0)
    }
}

fn lane(account: Option<usize>) -> &'static ContextLane {
    let capabilities = Capabilities { features: Features::empty(), amo: AmoDomain::Processor, inject: 0, signal: None };
    let lane: &'static ContextLane = Box::leak(Box::new(ContextLane::over(Box::new(IdleLane(account)), capabilities)));
    lane.join(&mut lanes());
    lane
}

/// A thread that has waited long for a lane.
fn waits_long(lane: &ContextLane) -> Patience<'_> {
    let mut patience = Patience::new(lane);
    while !patience.over {
        patience.look();
    }
    patience
}

/// A stream of operations on one context would keep the quiet of another one from ending, where both complete together.
#[test]
fn who_waits_long_holds_back_all_lanes_of_the_account() {
    let [one, other, stranger, alone] = [Some(7), Some(7), Some(8), None].map(lane);
    let number = |lane: &ContextLane| lane.impatient.load(Relaxed);
    let numbers = || [one, other, stranger, alone].map(number);
    let first = waits_long(one);
    assert_eq!(numbers(), [1, 1, 0, 0]);
    // A context that is made meanwhile holds back, too.
    let late = lane(Some(7));
    assert_eq!(number(late), 1);
    let [second, third] = [late, alone].map(waits_long);
    assert_eq!((numbers(), number(late)), ([2, 2, 0, 1], 2));
    drop([first, second, third]);
    assert_eq!((numbers(), number(late)), ([0; 4], 0));
    let ours = [one, other, stranger, alone, late];
    lanes().retain(|lane| !ours.iter().any(|own| core::ptr::eq(*own, *lane)));
}

#[test]
fn a_lane_of_one_thread_counts_as_one_of_many_does() {
    for counters in [false, true].map(OperationCounters::new) {
        counters.note(Direction::Write);
        counters.note(Direction::Read);
        assert_eq!((counters.sum(), counters.are_settled()), (2, false));
        counters.settle(2);
        assert!(counters.are_settled());
        counters.note(Direction::Read);
        assert!(!counters.are_settled());
    }
}
