//! The rungs of the ladder.

use super::*;
use crate::memory::control;

/// A look may take what it finds: a place of an active set, the turn for memory, room for an operation.
#[test]
fn the_look_that_ends_a_wait_is_its_last_one() {
    control::tests::windows();
    let reason = Reason { call: "test", address: 0, needs: Needs::Anyone };
    let mut slow = SlowWait::begin(Instant::now());
    let mut looks = 0;
    let mut ready = || {
        looks += 1;
        true
    };
    let left = sleep(reason, None, &mut ready, &mut Instant::now(), &mut slow);
    assert!(matches!(left, RungOutcome::Ready));
    assert_eq!(looks, 1);
}
