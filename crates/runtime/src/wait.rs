//! The one place that blocks.
//!
//! A wait climbs a ladder: loads without pause, loads with pause, yields, naps. How long it stays on a rung depends on
//! whether the node's PEs have a processor each. A nap is a futex wait with a timeout that grows with the time already
//! waited, so a sleeper that nobody wakes adds a few percent to its wait and no more, and a waiter costs a processor
//! next to nothing. Where the one who ends the wait is the runtime itself (a barrier's release, a lock's handover), it
//! rings the waiter's [`Bell`] and the nap ends at once.

use core::sync::atomic::{
    AtomicU32 as Setting, Ordering::Acquire, Ordering::Relaxed, Ordering::Release, Ordering::SeqCst,
};
use std::time::{Duration, Instant};

use crate::control::ControlBlock;
use crate::primitive::{AtomicU32, fence, futex};
use crate::{diagnose, hang, life, network};

/// Loads without pause before anything else.
static EAGER_LOOKS: Setting = Setting::new(64);
/// Microseconds of loads with pause that follow. Halved by every wait that outlives them, because then something else
/// has the other's processor and spinning only takes ours away too; doubled again by every wait that does not.
static PATIENCE: Setting = Setting::new(0);
const MOST_PATIENCE: u32 = 64;
/// Whether the node's PEs outnumber its processors.
static CROWDED: Setting = Setting::new(0);

/// How waits behave on this node, decided once at init.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// A processor for every PE: spin long.
    Dedicated,
    /// More PEs than processors: hand the processor over at once.
    Crowded,
}

/// Sets the mode of all waits.
pub(crate) fn set_mode(mode: Mode) {
    let (looks, crowded) = match mode {
        Mode::Dedicated => (4000, 0),
        Mode::Crowded => (16, 1),
    };
    EAGER_LOOKS.store(looks, Relaxed);
    PATIENCE.store(MOST_PATIENCE, Relaxed);
    CROWDED.store(crowded, Relaxed);
}

/// Tells all waits whether they have a network to move on. Then they look at it instead of looking without pause.
pub(crate) fn expect_network(open: bool) {
    if open {
        EAGER_LOOKS.store(16, Relaxed);
    }
}

/// Whether PEs outnumber processors on this node.
#[inline(always)]
#[cfg(not(loom))]
pub(crate) fn crowded() -> bool {
    CROWDED.load(Relaxed) != 0
}

#[cfg(loom)]
pub(crate) use crate::primitive::crowded;

/// What a waiter sleeps on, and what tells others that somebody sleeps.
///
/// The sleeper counts itself in (`sleepers`), looks once more, then sleeps as long as `word` is unchanged. Whoever
/// ends the wait changes the waited-for state, then looks at `sleepers`. Both have a full fence between, so either the
/// ringer sees the sleeper or the sleeper sees the change. `word` changes by ringing only.
#[derive(Clone, Copy)]
pub(crate) struct Bell<'a> {
    /// Changes whenever sleepers should look again.
    pub(crate) word: &'a AtomicU32,
    /// How many sleep or are about to.
    pub(crate) sleepers: &'a AtomicU32,
}

impl Bell<'_> {
    /// Wakes the sleepers, if any, after the caller changed what they wait for.
    pub(crate) fn ring(&self) {
        fence(SeqCst);
        self.nudge();
    }

    /// Rings if it looks as if somebody slept. Without a fence a sleeper may be missed; his nap ends by itself.
    #[inline(always)]
    pub(crate) fn nudge(&self) {
        if self.sleepers.load(Relaxed) != 0 {
            self.wake();
        }
    }

    #[cold]
    #[inline(never)]
    fn wake(&self) {
        self.word.fetch_add(1, Release);
        futex::wake(self.word, u32::MAX >> 1);
    }

    /// Looks once more, then sleeps until it rings, for `most` at most. Returns whether it was `ready` before the nap.
    fn nap(&self, most: Duration, ready: &mut dyn FnMut() -> bool) -> bool {
        self.sleepers.fetch_add(1, Relaxed);
        // A read-modify-write alone would let the loads below pass it on some processors.
        fence(SeqCst);
        // With acquire: who sees a ring also sees what it was rung for.
        let word = self.word.load(Acquire);
        let done = ready();
        if !done {
            futex::wait(self.word, word, Some(most));
        }
        self.sleepers.fetch_sub(1, Relaxed);
        done
    }
}

/// Whom a wait needs, so that it can end with a sentence when that PE is gone.
#[derive(Clone, Copy)]
pub(crate) enum Needs<'a> {
    /// Any PE may end the wait.
    Anyone,
    /// World number of the PE that must act.
    One(u32),
    /// All members must act.
    Team(&'a crate::team::TeamState),
}

/// Who waits for what.
#[derive(Clone, Copy)]
pub(crate) struct Reason<'a> {
    /// The call that waits.
    pub(crate) call: &'static str,
    /// What it looks at.
    pub(crate) address: usize,
    /// Who must act.
    pub(crate) needs: Needs<'a>,
}

/// Returns what `ready` comes up with. `bell` is rung by whoever makes it so, if that one is the runtime.
///
/// `ready` goes by value, so that a loop of loads stays in registers until it becomes a long wait.
#[cfg(not(loom))]
#[inline(always)]
pub(crate) fn until<R>(reason: Reason<'_>, bell: Option<Bell<'_>>, mut ready: impl FnMut() -> Option<R>) -> R {
    for _ in 0..EAGER_LOOKS.load(Relaxed) {
        if let Some(result) = ready() {
            return result;
        }
    }
    wait_long(reason.call, reason.address, reason.needs, bell, ready)
}

/// Under the model checker nobody spins, and no timeout mends a lost wake-up.
#[cfg(loom)]
pub(crate) fn until<R>(_reason: Reason<'_>, bell: Option<Bell<'_>>, mut ready: impl FnMut() -> Option<R>) -> R {
    loop {
        if let Some(result) = ready() {
            return result;
        }
        let Some(bell) = bell else {
            crate::primitive::yield_now();
            continue;
        };
        let mut result = None;
        bell.nap(Duration::MAX, &mut || {
            result = ready();
            result.is_some()
        });
        if let Some(result) = result {
            return result;
        }
    }
}

#[cold]
#[inline(never)]
fn wait_long<R>(
    call: &'static str,
    address: usize,
    needs: Needs<'_>,
    bell: Option<Bell<'_>>,
    mut ready: impl FnMut() -> Option<R>,
) -> R {
    let mut result = None;
    climb(Reason { call, address, needs }, bell, &mut || {
        result = ready();
        result.is_some()
    });
    result.expect("the climb ends when there is a result")
}

/// How a rung was left.
enum Left {
    /// The wait is over.
    Ready,
    /// A peer was served, and may ask for more.
    Served,
    /// Nothing has happened for as long as it stays on this rung.
    Idle,
}

/// The rungs after the first. Whoever serves peers climbs down again: the next message is likely to follow at once.
fn climb(reason: Reason<'_>, bell: Option<Bell<'_>>, ready: &mut dyn FnMut() -> bool) {
    let begin = Instant::now();
    let mut reports = hang::Reports::begin();
    loop {
        if let Left::Ready = spin(ready) {
            return;
        }
        match give_way(bell.is_some(), ready) {
            Left::Ready => return,
            Left::Served => continue,
            Left::Idle => {}
        }
        if let Left::Ready = sleep(reason, bell, ready, begin, &mut reports) {
            return;
        }
    }
}

/// Looks with pause until patience ends. What comes over the network renews it.
fn spin(ready: &mut dyn FnMut() -> bool) -> Left {
    if crowded() {
        return Left::Idle;
    }
    let patience = PATIENCE.load(Relaxed);
    let (mut since, mut served) = (Instant::now(), false);
    while since.elapsed() < Duration::from_micros(patience.into()) {
        for _ in 0..32 {
            if network::progress() {
                (since, served) = (Instant::now(), true);
            }
            if ready() {
                lengthen_patience(patience);
                return Left::Ready;
            }
            core::hint::spin_loop();
        }
    }
    if served {
        lengthen_patience(patience);
        return Left::Served;
    }
    PATIENCE.store((patience / 2).max(1), Relaxed);
    Left::Idle
}

fn lengthen_patience(patience: u32) {
    PATIENCE.store((patience * 2).min(MOST_PATIENCE), Relaxed);
}

/// Yields. A ringer will wake us: a few times. Nobody will: longer, before the blind naps.
fn give_way(rung: bool, ready: &mut dyn FnMut() -> bool) -> Left {
    let yields = if rung || !crowded() { 8 } else { 64 };
    for _ in 0..yields {
        std::thread::yield_now();
        let served = network::progress();
        if ready() {
            return Left::Ready;
        }
        if served {
            lengthen_patience(PATIENCE.load(Relaxed));
            return Left::Served;
        }
    }
    Left::Idle
}

/// The last rung: record the wait, nap, look whether the one who must act still can. What comes over the network ends
/// the nap, unless a ringer of the node is to end it: then the network's own thread serves peers meanwhile.
fn sleep(
    reason: Reason<'_>,
    bell: Option<Bell<'_>>,
    ready: &mut dyn FnMut() -> bool,
    begin: Instant,
    reports: &mut hang::Reports,
) -> Left {
    // Without the library nobody can end the wait, and there is nowhere to sleep.
    let Some(own) = ControlBlock::if_open() else { diagnose::not_initialised(reason.call) };
    let record = own.records.open(&reason);
    let left = loop {
        // Nobody rings for sure: then the nap grows with the time already waited.
        let most = (begin.elapsed() / 16).clamp(Duration::from_micros(20), Duration::from_millis(1));
        let resting = if bell.is_none() { network::rest(most) } else { None };
        let served = match (resting, bell) {
            (Some(served), _) => served,
            (None, Some(bell)) => bell.nap(Duration::from_millis(10), ready) || network::progress(),
            (None, None) => own.bell().nap(most, ready) || network::progress(),
        };
        if ready() {
            break Left::Ready;
        }
        if begin.elapsed() > Duration::from_millis(20) {
            life::end_if_orphaned();
            check_needed(&reason, ready);
            reports.look(begin.elapsed());
        }
        if served {
            break Left::Served;
        }
    };
    own.records.close(record);
    left
}

/// Ends the job with a sentence if the wait can never end.
fn check_needed(reason: &Reason<'_>, ready: &mut dyn FnMut() -> bool) {
    // The PE may have done its part before it went.
    if let Some(gone) = life::gone_among(reason.needs)
        && !ready()
    {
        diagnose::peer_gone(reason.call, gone);
    }
    // Without one of its PEs the job cannot end well, whomever this wait is for.
    if let Some(error) = network::lost()
        && !ready()
    {
        diagnose::fail(&error);
    }
}
