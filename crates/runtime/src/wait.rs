//! The one place that blocks.
//!
//! A wait climbs a ladder: looks at its condition alone, looks that also serve peers, yields, sleeps. How long it stays on a rung
//! depends on whether the node's PEs have a processor each, and on how long recent waits have lasted ([`pace`]). A sleep is a futex
//! wait, or one on the network, with a timeout that grows with the time already waited. So a sleeper without a wake-up adds only a
//! few percent to its wait, and a waiter costs a processor next to nothing. If the runtime itself ends the wait (a barrier's
//! release, a lock's handover), it rings the waiter's [`Bell`] and the sleep ends at once.

pub(crate) mod bell;
pub(crate) mod deaths;
mod gone;
mod limits;
mod needs;
pub(crate) mod pace;
pub(crate) mod polls;
mod private_variable;
pub(crate) mod reason;
pub(crate) mod suspended;
mod yields;

use std::time::{Duration, Instant};

use crate::diagnosis::deadlock::LongWait;
use crate::diagnosis::recorder::RecordedCall;
use crate::diagnosis::{errors, intruder};
use crate::memory::control::ControlBlock;
use crate::network;
use crate::start::job;
use crate::wait::bell::Bell;
use crate::wait::reason::WaitReason;
use oxshmem_flight::calls::CallSubject;
use oxshmem_flight::waits::{AwaitedCollectives, CallName, Subject};
use oxshmem_os::interrupts;

pub(crate) use needs::{Collectives, Gathering, Needs, Reason};

/// Returns the value that `ready` returns. If the runtime makes `ready` true, it rings `bell`.
///
/// `ready` goes by value, so that a loop of loads stays in registers until it becomes a long wait.
#[inline(always)]
pub(crate) fn until<R>(reason: Reason<'_>, bell: Option<Bell<'_>>, ready: impl FnMut() -> Option<R>) -> R {
    until_interrupted(reason, bell, ready).expect("only waits for the program's variables are interrupted")
}

/// As [`until`]; `None`: an interpreter has to end the program's call, which can only be a wait for [`Needs::Variables`].
#[cfg(not(loom))]
#[inline(always)]
pub(crate) fn until_interrupted<R>(
    reason: Reason<'_>,
    bell: Option<Bell<'_>>,
    mut ready: impl FnMut() -> Option<R>,
) -> Option<R> {
    let looks = pace::eager_looks();
    for _ in 0..looks.count() {
        if let Some(result) = ready() {
            return Some(result);
        }
        looks.pause();
    }
    wait_long(reason.call, reason.address, reason.needs, bell, ready)
}

/// Under the model checker no thread spins, and no timeout mends a lost wake-up.
#[cfg(loom)]
pub(crate) fn until_interrupted<R>(
    _reason: Reason<'_>,
    bell: Option<Bell<'_>>,
    mut ready: impl FnMut() -> Option<R>,
) -> Option<R> {
    loop {
        if let Some(result) = ready() {
            return Some(result);
        }
        let Some(bell) = bell else {
            crate::sync::yield_now();
            continue;
        };
        let mut result = None;
        bell.sleep(Duration::MAX, &mut || {
            result = ready();
            result.is_some()
        });
        if result.is_some() {
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
) -> Option<R> {
    let _recorded = match needs {
        Needs::Variables(..) | Needs::Lock(_) if ControlBlock::if_open().is_some() => {
            let peer = if let Needs::Lock(pe) = needs { Some(pe) } else { None };
            Some(RecordedCall::begin(call, CallSubject { peer, team: None, bytes: 0 }))
        }
        // A call that waits for others has been recorded as a whole.
        _ => None,
    };
    let mut result = None;
    let mut look = || {
        result = ready();
        result.is_some()
    };
    if !suspended::until(|| Reason { call, address, needs }.describe(), &mut look) {
        climb(Reason { call, address, needs }, bell, &mut look);
    }
    result
}

/// How a rung was left.
enum RungOutcome {
    /// The wait is over.
    Ready,
    /// A peer was served, and may ask for more.
    Served,
    /// Nothing has happened for as long as it stays on this rung.
    Idle,
}

/// The rungs after the first. A waiter that serves peers climbs down again: the next message is likely to follow at once.
///
/// Most waits end in the first looks, which do without a clock and whatever else only a longer wait needs.
fn climb(reason: Reason<'_>, bell: Option<Bell<'_>>, ready: &mut dyn FnMut() -> bool) {
    if network::takes_turns() {
        return take_turns(reason, ready);
    }
    let mut slow: Option<SlowWait> = None;
    loop {
        // Where PEs share processors no wait spins, and the clock is read only before a sleep and when a peer was served.
        let mut since = None;
        if !pace::crowded() {
            let Some(silent_since) = spin(ready) else { return };
            since = Some(silent_since);
        }
        let mut in_vain = since.map(|_| Instant::now());
        let left = match give_way(bell.is_some(), ready) {
            RungOutcome::Idle => {
                let in_vain = in_vain.get_or_insert_with(Instant::now);
                let slow = slow.get_or_insert_with(|| SlowWait::begin(since.unwrap_or(*in_vain)));
                sleep(reason, bell, ready, in_vain, slow)
            }
            RungOutcome::Served => {
                let slow = slow.get_or_insert_with(|| SlowWait::begin(since.unwrap_or_else(Instant::now)));
                if slow.check_now_and_then(&reason, ready) { RungOutcome::Ready } else { RungOutcome::Served }
            }
            RungOutcome::Ready => RungOutcome::Ready,
        };
        if let (Some(since), Some(in_vain)) = (since, in_vain) {
            pace::note_outlived(in_vain - since, since.elapsed());
        }
        if let RungOutcome::Ready = left {
            return;
        }
    }
}

/// The ladder where PEs take turns: a look in vain passes the turn on, and there is no sleep.
#[cold]
fn take_turns(reason: Reason<'_>, ready: &mut dyn FnMut() -> bool) {
    let mut slow = SlowWait::begin(Instant::now());
    let mut again = false;
    loop {
        network::with_turns(|turns| turns.look(again));
        again = true;
        suspended::move_on();
        if ready() || slow.check_now_and_then(&reason, ready) {
            return;
        }
    }
}

/// Ends the job if the wait can never end, and reports one that takes long. Returns whether the wait is over or interrupted.
fn check_long_wait(
    reason: &Reason<'_>,
    own: &'static ControlBlock,
    watch: &mut LongWait,
    waited: Duration,
    ready: &mut dyn FnMut() -> bool,
) -> bool {
    if ControlBlock::if_open().is_none() {
        errors::not_initialised(reason.call);
    }
    job::end_if_orphaned();
    if end_if_peer_is_missing(reason, ready) {
        return true;
    }
    let mut counted = || {
        if let Needs::FirstMember(_, whole) = reason.needs {
            whole.set(true);
        }
        ready()
    };
    if watch.look(own, || reason.describe(), waited, &mut counted) {
        return true;
    }
    intruder::look_for(reason.call, own);
    // A wait for the program's variables leaves nothing half done.
    matches!(reason.needs, Needs::Variables(..)) && interrupts::end_call()
}

/// A wait that has outlived its first looks.
struct SlowWait {
    begin: Instant,
    /// When it has last asked outside of a sleep whether it can ever end.
    checked: Instant,
    watch: LongWait,
}

impl SlowWait {
    fn begin(begin: Instant) -> Self {
        Self { begin, checked: begin, watch: LongWait::begin() }
    }

    /// Asks now and then whether the wait can ever end. Its sleeps ask as well, but a peer that is served again and again keeps the wait
    /// from them, and where PEs take turns there are none. Returns whether it is over, or interrupted.
    fn check_now_and_then(&mut self, reason: &Reason<'_>, ready: &mut dyn FnMut() -> bool) -> bool {
        if self.checked.elapsed() < limits::CHECK_EVERY {
            return false;
        }
        self.checked = Instant::now();
        let Some(own) = ControlBlock::if_open() else { errors::not_initialised(reason.call) };
        check_long_wait(reason, own, &mut self.watch, self.begin.elapsed(), ready)
    }
}

/// Spins until patience ends, with a pause of the processor behind each look. What comes over the network renews the patience, for
/// [`limits::CHECK_EVERY`] at most. Returns since when nothing has come; `None`: the wait is over.
fn spin(ready: &mut dyn FnMut() -> bool) -> Option<Instant> {
    let (mut since, mut begin) = (None, None);
    let looks = pace::looks_per_clock();
    loop {
        for _ in 0..looks {
            let served = network::progress();
            suspended::move_on();
            if ready() {
                pace::note_caught();
                return None;
            }
            if served {
                since = None;
                pace::note_caught();
            }
            core::hint::spin_loop();
        }
        let now = Instant::now();
        let (since, begin) = (*since.get_or_insert(now), *begin.get_or_insert(now));
        if now - since >= Duration::from_micros(pace::patience().into()) || now - begin >= limits::CHECK_EVERY {
            return Some(since);
        }
    }
}

/// Yields: a few times if a ringer will wake us or there are enough processors, otherwise for longer, before sleeps without a
/// wake-up. A wait with a processor of its own whose looks are calls of the kernel yields for longer, too: while nobody else wants the
/// processor, it costs nobody anything. If a bell or that network ends the sleep, and another process wants the
/// processor, it sleeps at once ([`yields`]).
fn give_way(has_bell: bool, ready: &mut dyn FnMut() -> bool) -> RungOutcome {
    let is_costly = pace::has_costly_looks() && !pace::crowded();
    let is_woken = has_bell || is_costly;
    let most = if is_costly || !has_bell && pace::crowded() { limits::MANY_YIELDS } else { limits::FEW_YIELDS };
    for _ in 0..most {
        let goes_on = pace::yields().give_way(is_woken);
        let served = network::progress();
        suspended::move_on();
        if ready() {
            return RungOutcome::Ready;
        }
        if served {
            return RungOutcome::Served;
        }
        if !goes_on {
            break;
        }
    }
    RungOutcome::Idle
}

/// The last rung: sleep, look whether the PE that must act still can, have a long wait watched. What comes over the network ends
/// the sleep, unless a ringer of the node is to end it: then the network's own thread serves peers meanwhile. `in_vain` is when the
/// wait was last known to go on.
fn sleep(
    reason: Reason<'_>,
    bell: Option<Bell<'_>>,
    ready: &mut dyn FnMut() -> bool,
    in_vain: &mut Instant,
    SlowWait { begin, watch, .. }: &mut SlowWait,
) -> RungOutcome {
    // Without the library no PE can end the wait, and there is nowhere to sleep.
    let Some(own) = ControlBlock::if_open() else { errors::not_initialised(reason.call) };
    loop {
        // Without a bell nothing is certain to end the sleep, so it grows with the time already waited.
        *in_vain = Instant::now();
        let most = ((*in_vain - *begin) / limits::SLEEP_SHARE).clamp(limits::SHORT_SLEEP, limits::LONG_SLEEP);
        let most = if bell.is_some() { limits::BELL_SLEEP } else { most };
        // Other PEs may wait for a collective that has been suspended here.
        let most = if suspended::any() { limits::SHORT_SLEEP } else { most };
        let resting = if bell.is_none() { network::rest(most) } else { None };
        let served = match resting {
            Some(served) => served,
            // Its look was the last one: a look may take what it finds.
            None if bell.unwrap_or(own.bell()).sleep(most, ready) => return RungOutcome::Ready,
            None => network::progress(),
        };
        let now = Instant::now();
        if now - *in_vain < most {
            // The sleep was cut short by what ends the wait.
            *in_vain = now;
        }
        suspended::move_on();
        if ready() {
            return RungOutcome::Ready;
        }
        if begin.elapsed() > limits::CHECK_EVERY && check_long_wait(&reason, own, watch, begin.elapsed(), ready) {
            return RungOutcome::Ready;
        }
        if served {
            return RungOutcome::Served;
        }
    }
}

impl Reason<'_> {
    /// The reason as a record tells it.
    fn describe(&self) -> WaitReason {
        let subject = match self.needs {
            Needs::Anyone => Subject::Operation { peer: None },
            Needs::One(pe) => Subject::Operation { peer: Some(pe) },
            Needs::Room(pe) => Subject::Room { peer: pe },
            Needs::FirstMember(pe, _) => Subject::FirstMember { pe },
            Needs::Lock(pe) => Subject::Lock { after: pe },
            Needs::All(circle) => Subject::Meeting(circle.meeting()),
            Needs::Variables(count, wanted) => Subject::Variables { count, wanted, seen: 0 },
            Needs::Collectives(collectives) => Subject::Collectives(collectives.describe()),
        };
        WaitReason { call: self.call, address: self.address, subject }
    }
}

impl Collectives<'_> {
    fn describe(self) -> AwaitedCollectives {
        let (call, ahead, team) = match self {
            Self::All(_) => ("", suspended::count(), None),
            Self::Of(team, key) => ("", suspended::pending(key), Some(team)),
            Self::One(team, key, call, number) => (call, suspended::ahead(key, number), Some(team)),
        };
        AwaitedCollectives { call: CallName::of(call), ahead: ahead as u64, team: team.map(Gathering::meeting) }
    }
}

/// Ends the job with a message if a wait that other code makes can never end, as it would if it were made here: one of a task, for which
/// no thread is in a call. `ready` only looks.
pub(crate) fn end_if_hopeless(reason: Reason<'_>, mut ready: impl FnMut() -> bool) {
    if ControlBlock::if_open().is_some() {
        job::end_if_orphaned();
        end_if_peer_is_missing(&reason, &mut ready);
    }
}

/// Ends the job with a message if the wait can never end. Returns whether it is over: what is missing now may have done its part
/// before.
fn end_if_peer_is_missing(reason: &Reason<'_>, ready: &mut dyn FnMut() -> bool) -> bool {
    private_variable::check(reason, ready);
    if let Some(gone) = gone::among(reason.needs) {
        if ready() {
            return true;
        }
        errors::peer_gone(reason.call, gone);
    }
    // Without one of its PEs the job cannot end well, whichever PE this wait is for.
    if let Some(error) = network::lost() {
        if ready() {
            return true;
        }
        errors::fail(&error);
    }
    false
}

#[cfg(all(test, not(loom)))]
mod tests;
