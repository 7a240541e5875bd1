//! Loops of the program over tests, which are waits that the library does not see. Each test that fails moves the network on, and asks now
//! and then whether the loop can ever end.

use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};

use super::{Needs, gone, pace, suspended};
use crate::diagnosis::errors;
use crate::memory::control::ControlBlock;
use crate::network;
use crate::start::job;
use crate::sync::Apart;
use oxshmem_os::time;

/// [`time::cycles`] from one look at the network to the next one of tests that fail: half a microsecond to two. A look takes as long over
/// sockets, where it is a call of the kernel, and a test some nanoseconds.
const BETWEEN_LOOKS: u64 = 2_000;
/// A delay of the next look, 100 to 400 microseconds. It shows that the PE does other work, or that other programs have its processor.
/// Then the progress thread answers sooner. It does not serve peers while callers look.
const AWAY: u64 = 400_000;
/// The time for which the network is left to the progress thread then: 5 to 20 milliseconds.
const LEFT_TO_THE_THREAD: u64 = 20_000_000;

/// When a test that fails looks at the network again. Relaxed: the threads of a PE look once too often at worst. Apart, because each look
/// of each thread writes it.
static NEXT_LOOK: Apart<AtomicU64> = Apart(AtomicU64::new(0));

/// Tests that fail between two readings of the clock. A reading takes as long as some tests. Chosen.
const TESTS_PER_CLOCK: u32 = 32;
/// [`time::cycles`] between two questions: 10 to 40 milliseconds.
const BETWEEN_QUESTIONS: u64 = 40_000_000;

/// Tests that have failed. Relaxed, as all words of this file: a count of another thread may be lost. Apart, because each such test of
/// each thread writes it, and words that all calls read would lie beside it.
static FAILED: Apart<AtomicU32> = Apart(AtomicU32::new(0));
/// When the next question is due; 0 before the first look at the clock.
static NEXT_QUESTION: AtomicU64 = AtomicU64::new(0);
/// The last answer that named somebody: a PE that is gone (plus one), or [`LOST`]. PEs of other nodes are not asked for at each question.
static MISSING: AtomicU32 = AtomicU32::new(0);
/// A PE of another node can no longer be reached.
const LOST: u32 = u32::MAX;

/// A test that fails will be called again. It moves the network and suspended calls on, as a wait does: others may have asked this PE
/// for something, or need its part of a collective. Where PEs outnumber processors, it lets the one that is waited for run. Now and
/// then it asks whether the loop can ever end.
#[inline(always)]
pub(crate) fn test_failed(call: &'static str, needs: Needs<'_>) {
    if pace::crowded() {
        let_others_run();
    } else if network::is_open() {
        look_at_the_network();
    }
    if suspended::any() {
        suspended::move_on();
    }
    count_failure(call, needs);
}

#[cold]
fn look_at_the_network() {
    // The clock decides nothing where PEs take turns.
    if network::takes_turns() {
        network::progress();
        return;
    }
    let now = time::cycles();
    let late = now.wrapping_sub(NEXT_LOOK.0.load(Relaxed)).cast_signed();
    if late > AWAY.cast_signed() {
        NEXT_LOOK.0.store(now.wrapping_add(LEFT_TO_THE_THREAD), Relaxed);
    } else if late >= 0 {
        network::progress();
        NEXT_LOOK.0.store(time::cycles().wrapping_add(BETWEEN_LOOKS), Relaxed);
    }
}

#[cold]
fn let_others_run() {
    if network::takes_turns() {
        network::progress();
    } else {
        std::thread::yield_now();
    }
}

/// Counts a test that has failed. It would have succeeded if the PEs that it needs had acted.
#[inline(always)]
fn count_failure(call: &'static str, needs: Needs<'_>) {
    let failed = FAILED.0.load(Relaxed).wrapping_add(1);
    FAILED.0.store(failed, Relaxed);
    if failed.is_multiple_of(TESTS_PER_CLOCK) && is_due() {
        ask(call, needs);
    }
}

/// Whether it is time for a question, which then counts as asked.
#[cold]
#[inline(never)]
fn is_due() -> bool {
    let (now, due) = (time::cycles(), NEXT_QUESTION.load(Relaxed));
    if due != 0 && now.wrapping_sub(due).cast_signed() < 0 {
        return false;
    }
    NEXT_QUESTION.store(now.wrapping_add(BETWEEN_QUESTIONS), Relaxed);
    due != 0
}

/// Ends the job with a message if what the test needs can never come.
#[cold]
fn ask(call: &'static str, needs: Needs<'_>) {
    if ControlBlock::if_open().is_none() {
        // The child of a fork has no peers. Worlds of threads, whose PEs loop over tests too, have no window either.
        if job::is_forked_child() {
            errors::not_initialised(call);
        }
        return;
    }
    job::end_if_orphaned();
    let (gone, lost) = (gone::among(needs), network::lost());
    let missing = gone.map_or(if lost.is_some() { LOST } else { 0 }, |pe| pe + 1);
    if !is_certain(missing) {
        return;
    }
    if let Some(gone) = gone {
        errors::tested_peer_gone(call, gone);
    }
    if let Some(error) = lost {
        errors::fail(&error);
    }
}

/// Whether a test that has failed shows that `missing` has not done its part; 0 is nobody. A PE may have acted between the test and its
/// end. If an earlier question has named it, the test came after the end.
fn is_certain(missing: u32) -> bool {
    missing != 0 && MISSING.swap(missing, Relaxed) == missing
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn only_a_test_behind_the_end_of_a_pe_shows_that_it_has_not_acted() {
        let answers = [0, 0, 3, 5, 0, 5, LOST, 0, 3].map(is_certain);
        assert_eq!(answers, [false, false, false, false, false, true, false, false, false]);
        MISSING.store(0, Relaxed);
    }
}
