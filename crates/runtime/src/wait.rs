//! The one place that blocks.
//!
//! A wait climbs a ladder: loads without pause, loads with pause, yields, naps. How long it stays on a rung depends on
//! whether the node's PEs have a processor each. A nap is a futex wait with a timeout that grows with the time already
//! waited, so a sleeper that nobody wakes adds a few percent to its wait and no more, and a waiter costs a processor
//! next to nothing. Where the one who ends the wait is the runtime itself (a barrier's release, a lock's handover), it
//! rings the waiter's [`Bell`] and the nap ends at once.

use std::time::{Duration, Instant};

use crate::bell::Bell;
use crate::control::{ControlBlock, State};
use crate::hang;
use crate::members::Members;
use crate::{diagnose, job, network, pace};

/// Whom a wait needs, so that it can end with a sentence when that PE is gone.
#[derive(Clone, Copy)]
pub(crate) enum Needs<'a> {
    /// Any PE may end the wait.
    Anyone,
    /// World number of the PE that must act.
    One(u32),
    /// All these must act: so many of the members.
    All(&'a Members, u32),
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
    for _ in 0..pace::eager_looks() {
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
    if pace::crowded() {
        return Left::Idle;
    }
    let patience = pace::patience();
    let (mut since, mut served) = (Instant::now(), false);
    while since.elapsed() < Duration::from_micros(patience.into()) {
        for _ in 0..32 {
            if network::progress() {
                (since, served) = (Instant::now(), true);
            }
            if ready() {
                pace::lengthen_patience(patience);
                return Left::Ready;
            }
            core::hint::spin_loop();
        }
    }
    if served {
        pace::lengthen_patience(patience);
        return Left::Served;
    }
    pace::shorten_patience(patience);
    Left::Idle
}

/// Yields. A ringer will wake us: a few times. Nobody will: longer, before the blind naps.
fn give_way(rung: bool, ready: &mut dyn FnMut() -> bool) -> Left {
    let yields = if rung || !pace::crowded() { 8 } else { 64 };
    for _ in 0..yields {
        std::thread::yield_now();
        let served = network::progress();
        if ready() {
            return Left::Ready;
        }
        if served {
            pace::lengthen_patience(pace::patience());
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
    let peer = if let Needs::One(pe) = reason.needs { Some(pe) } else { None };
    let record = own.records.open(reason.call, reason.address, peer);
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
            job::end_if_orphaned();
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
    if let Some(gone) = gone_among(reason.needs)
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

/// A PE among those that a wait needs which has ended without finalize.
fn gone_among(needs: Needs<'_>) -> Option<u32> {
    match needs {
        Needs::Anyone => None,
        Needs::One(pe) => gone(std::iter::once(pe)),
        Needs::All(members, size) => gone((0..size).map(|member| members.world(member))),
    }
}

fn gone(pes: impl Iterator<Item = u32> + Clone) -> Option<u32> {
    let is_gone = |window: u32| ControlBlock::of(window).state() == State::Gone;
    let on_node = pes.clone().find(|pe| job::window_of(*pe).is_some_and(is_gone));
    on_node.or_else(|| network::gone_among(job::joined()?, pes.filter(|pe| job::window_of(*pe).is_none())))
}
