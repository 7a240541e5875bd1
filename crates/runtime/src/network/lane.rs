//! A context's lane of the network, for all threads that use the context; and the runtime's own.

mod counters;
mod near;
mod operations;
mod owned;
mod patience;

use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::atomic::{AtomicPtr, AtomicU32};

use oxshmem_transport::{AwaitedState, Capabilities, Failed, Issuer, Lane, LaneOptions, LanesBeneath};
use parking_lot::{Mutex, MutexGuard};

pub(crate) use counters::{Direction, OperationCount, OperationCounters};

use crate::diagnosis::{deadlock, errors};
use crate::network;
use crate::start::{left_behind, threads};
use crate::wait::{self, Needs, Reason};

use near::NearOperations;
use owned::OwnedLane;
use patience::Patience;

/// The lane of one context. The provider takes the only lock of an operation; a thread that finds no room waits here. No two share a line,
/// because threads with a context each write to theirs at once.
#[repr(align(128))]
pub(crate) struct ContextLane {
    lane: &'static dyn Lane,
    /// The lanes that take its puts to PEs without a window, its gets from them, and its atomics, as `lane` would: [`Lane::beneath`].
    puts: &'static dyn Lane,
    gets: &'static dyn Lane,
    atomics: &'static dyn Lane,
    /// Has what these four refer to.
    _owned: OwnedLane,
    /// Those of the fabric, which do not change.
    capabilities: Capabilities,
    /// See [`Lane::copied_with_signal`].
    copied_with_signal: usize,
    /// Threads that have waited long for the lane to be empty or to have room. While there are any, others that issue hold
    /// back, because a stream of operations of one thread must not keep another out (THR-5) or in its quiet (ORD-7) for
    /// ever. So do those of lanes of the same account, whose operations this one waits for as well.
    impatient: AtomicU32,
    /// See [`Lane::keeps_peers_apart`]; not where lanes have an account in common.
    keeps_peers_apart: bool,
    /// Those of the impatient that wait for one peer: its number, once for each thread. Operations to other peers go on.
    peers: Mutex<Vec<u32>>,
    /// See [`Lane::account`].
    account: Option<usize>,
    near: NearOperations,
    counters: OperationCounters,
}

impl ContextLane {
    /// `serialized`: no two threads use it at once, whatever the thread level.
    fn new(options: LaneOptions, serialized: bool) -> Self {
        // Lanes are made for PEs of other nodes only.
        let (Some(lane), Some(capabilities)) = (network::lane(options), network::capabilities().cloned()) else {
            errors::not_initialised("an operation between nodes")
        };
        let lane = lane.unwrap_or_else(|error| errors::fail(&error));
        Self::over(lane, capabilities, serialized)
    }

    fn over(lane: Box<dyn Lane>, capabilities: Capabilities, serialized: bool) -> Self {
        let owned = OwnedLane::new(lane);
        // SAFETY: the references stay in this lane, which has the owner as well.
        let lane = unsafe { owned.lane() };
        let LanesBeneath { puts, gets, atomics } = lane.beneath();
        Self {
            account: lane.account(),
            keeps_peers_apart: lane.account().is_none() && lane.keeps_peers_apart(),
            peers: Mutex::default(),
            copied_with_signal: lane.copied_with_signal(),
            puts: puts.unwrap_or(lane),
            gets: gets.unwrap_or(lane),
            atomics: atomics.unwrap_or(lane),
            lane,
            _owned: owned,
            capabilities,
            impatient: AtomicU32::new(0),
            near: NearOperations::default(),
            counters: OperationCounters::new(serialized || threads::one_calls_at_a_time()),
        }
    }

    /// It is one of the lanes from now on, and holds back for threads of its account that have waited long.
    fn join(self: Arc<Self>, lanes: &mut Vec<Arc<Self>>) {
        if let Some(other) = lanes.iter().find(|other| self.account.is_some() && other.account == self.account) {
            self.impatient.store(other.impatient.load(Relaxed), Relaxed);
        }
        lanes.push(self);
    }

    /// Changes the number of threads that have waited long, of all lanes of the same account. One lock keeps these numbers equal.
    #[cold]
    fn change_impatient(&self, change: impl Fn(&AtomicU32)) {
        let lanes = self.account.map(|_| lanes());
        for other in lanes.iter().flat_map(|lanes| lanes.iter()) {
            if other.account == self.account && !core::ptr::eq(Arc::as_ptr(other), self) {
                change(&other.impatient);
            }
        }
        change(&self.impatient);
    }

    /// Longest put whose source is copied, so that it can be reused at once.
    #[inline]
    pub(crate) fn inject(&self) -> usize {
        self.capabilities.inject
    }

    /// Issues what `act` issues, to a PE if it is for one.
    #[inline]
    pub(crate) fn issue<R>(&self, call: &'static str, pe: Option<u32>, act: impl FnOnce(&Issuer<'_>) -> R) -> R {
        self.begin(call, pe);
        let needs = pe.map_or(Needs::Anyone, Needs::Room);
        let wait = |attempt: &mut dyn FnMut() -> bool| self.wait_for_room(self.reason(call, needs), attempt);
        act(&Issuer::new(self.lane, &self.capabilities, &wait))
    }

    /// Whether all that this thread has issued is known to be complete, without a look at the lane.
    #[inline(always)]
    pub(crate) fn is_settled(&self) -> bool {
        self.counters.are_settled()
    }

    /// Whether everything that this thread has issued is complete.
    #[inline(always)]
    pub(crate) fn is_idle(&self) -> bool {
        self.lane.outstanding() == 0
    }

    fn reason<'n>(&self, call: &'static str, needs: Needs<'n>) -> Reason<'n> {
        Reason { call, address: core::ptr::from_ref(self) as usize, needs }
    }

    #[cold]
    fn wait_for_room(&self, reason: Reason<'_>, attempt: &mut dyn FnMut() -> bool) {
        let mut patience = match reason.needs {
            Needs::Room(pe) => Patience::for_peer(self, pe),
            _ => Patience::new(self),
        };
        wait::until(reason, None, || {
            patience.look();
            attempt().then_some(())
        });
    }

    /// Returns when everything that this thread has issued is complete.
    #[inline(always)]
    pub(crate) fn drain(&self, call: &'static str, needs: Needs<'_>) {
        let issued = self.counters.sum();
        // Mostly the first look is the last.
        if !self.look() {
            self.wait_until_idle(self.reason(call, needs));
        }
        self.counters.settle(issued);
    }

    /// Returns when what this thread has fetched is there; `wait` waits for it.
    #[inline(always)]
    fn await_by(&self, wait: impl FnOnce() -> AwaitedState) {
        let issued = self.counters.sum();
        // Mostly the first look is the last.
        let state = match self.look_at_awaited() {
            AwaitedState::UnderWay => wait(),
            state => state,
        };
        if state == AwaitedState::Idle {
            self.counters.settle(issued);
        }
    }

    /// Whether [`ContextLane::drain`] would return at once.
    #[inline(never)]
    pub(crate) fn is_complete(&self) -> bool {
        let issued = self.counters.sum();
        let is_complete = self.look();
        if is_complete {
            self.counters.settle(issued);
        }
        is_complete
    }

    /// [`ContextLane::drain`], whichever PE must act.
    pub(crate) fn complete(&self, call: &'static str) {
        self.drain(call, Needs::Anyone);
    }

    /// Moves the lane on; returns whether everything that this thread has issued is complete.
    #[inline(always)]
    fn look(&self) -> bool {
        self.lane.poll_completion().unwrap_or_else(|Failed| self.fail())
    }

    /// Moves the lane on, as [`ContextLane::look`] does, for a caller that waits for what it has fetched.
    #[inline(always)]
    fn look_at_awaited(&self) -> AwaitedState {
        self.state_of_awaited(self.lane.poll_awaited())
    }

    #[inline(always)]
    fn state_of_awaited(&self, looked: Result<AwaitedState, Failed>) -> AwaitedState {
        looked.unwrap_or_else(|Failed| {
            self.fail();
            AwaitedState::UnderWay
        })
    }

    /// Ends the job with the lane's error. Returns `false` if the lane has none any more.
    #[cold]
    #[inline(never)]
    fn fail(&self) -> bool {
        self.lane.progress().map_or_else(|error| errors::fail(&error), |_| false)
    }

    #[cold]
    #[inline(never)]
    fn wait_until_idle(&self, reason: Reason<'_>) {
        let mut patience = Patience::new(self);
        wait::until(reason, None, || {
            patience.look();
            self.look().then_some(())
        });
    }

    #[cold]
    #[inline(never)]
    fn wait_until_fetched(&self, call: &'static str, pe: u32) -> AwaitedState {
        let mut patience = Patience::for_peer(self, pe);
        wait::until(self.reason(call, Needs::One(pe)), None, || {
            patience.look();
            let state = self.state_of_awaited(self.lane.poll_awaited_from(pe));
            (state != AwaitedState::UnderWay).then_some(state)
        })
    }

    /// Returns when all that this thread has issued, or if it needs one PE what it has issued to that, is complete locally: the network has
    /// read its sources. Peers may not have the data yet.
    pub(crate) fn complete_locally(&self, call: &'static str, needs: Needs<'_>) {
        let (mut patience, pe) = match needs {
            Needs::One(pe) => (Patience::for_peer(self, pe), Some(pe)),
            _ => (Patience::new(self), None),
        };
        let look = || pe.map_or_else(|| self.lane.poll_local_completion(), |pe| self.lane.poll_local_completion_to(pe));
        wait::until(self.reason(call, needs), None, || {
            let is_free = look().unwrap_or_else(|error| errors::fail(&error));
            patience.look();
            is_free.then_some(())
        });
    }
}

/// The lane of everything that the runtime does between nodes on its own behalf; collectives use no context (COL-6).
static OWN: AtomicPtr<ContextLane> = AtomicPtr::new(core::ptr::null_mut());

/// Collectives wait for each other's signals, and for completion only where the network reads an operand of the caller's.
fn own() -> &'static ContextLane {
    made(&OWN, LaneOptions { rarely_completed: true, unshared: true }, false)
}

/// Issues operations of the runtime on behalf of `call`.
pub(crate) fn issue<R>(call: &'static str, act: impl FnOnce(&Issuer<'_>) -> R) -> R {
    own().issue(call, None, act)
}

/// Returns when everything that the runtime has issued is complete.
pub(crate) fn complete(call: &'static str) {
    own().complete(call);
}

/// [`ContextLane::complete_locally`] for all that the runtime has issued.
pub(crate) fn complete_locally(call: &'static str) {
    own().complete_locally(call, Needs::Anyone);
}

/// All lanes, for calls that complete every one of them. Such a call waits without this lock and keeps the lanes alive meanwhile, because
/// another thread may destroy a context.
static LANES: Mutex<Vec<Arc<ContextLane>>> = Mutex::new(Vec::new());

fn lanes() -> MutexGuard<'static, Vec<Arc<ContextLane>>> {
    LANES.lock()
}

/// Returns when everything that this PE has issued is complete, whatever the context. (INIT-5)
pub(crate) fn complete_all(call: &'static str) {
    let lanes = lanes().clone();
    lanes.iter().for_each(|lane| lane.complete(call));
}

/// Returns when the network has read the sources of everything that this PE has issued before the call, whatever the context. One lane
/// after the other: what another thread issues meanwhile on a lane that has been free does not count.
pub(crate) fn complete_all_locally(call: &'static str) {
    let lanes = lanes().clone();
    lanes.iter().for_each(|lane| lane.complete_locally(call, Needs::Anyone));
}

/// Whether nothing that this PE has issued is under way, as far as can be seen without waiting.
fn is_quiet() -> bool {
    let Some(lanes) = LANES.try_lock() else { return false };
    lanes.iter().all(|lane| lane.lane.progress().is_ok() && lane.is_idle())
}

/// The lane that is kept at `place`, made when it is first needed: for one thread at a time if it is `serialized`, and with
/// [`LaneOptions::unshared`].
#[inline]
pub(crate) fn at(place: &'static AtomicPtr<ContextLane>, serialized: bool, unshared: bool) -> &'static ContextLane {
    made(place, LaneOptions { unshared, ..LaneOptions::default() }, serialized)
}

#[inline]
fn made(place: &'static AtomicPtr<ContextLane>, options: LaneOptions, serialized: bool) -> &'static ContextLane {
    known(place).unwrap_or_else(|| make(place, options, serialized))
}

#[cold]
fn make(place: &'static AtomicPtr<ContextLane>, options: LaneOptions, serialized: bool) -> &'static ContextLane {
    let new = Arc::new(ContextLane::new(options, serialized));
    let kept = Arc::into_raw(new.clone()).cast_mut();
    // A thread that finds the lane at its place and waits for it finds it in the list as well.
    let mut lanes = lanes();
    match place.compare_exchange(core::ptr::null_mut(), kept, AcqRel, Acquire) {
        Ok(_) => {
            new.join(&mut lanes);
            drop(lanes);
            deadlock::ask(is_quiet);
            // SAFETY: `place` keeps the lane until `forget`, when no thread uses it by its place.
            unsafe { &*kept }
        }
        Err(other) => {
            drop(lanes);
            // SAFETY: no other thread has seen `kept`, so it is ours; `place` keeps the other lane until `forget`, when no thread uses it by
            // its place.
            unsafe {
                drop(Arc::from_raw(kept));
                &*other
            }
        }
    }
}

/// The lane that is kept at `place`, if it has been needed.
#[inline(always)]
pub(crate) fn known(place: &AtomicPtr<ContextLane>) -> Option<&'static ContextLane> {
    // SAFETY: stored by `make`, which leaves one owner to the place; freed with the context or the fabric, which no thread uses then.
    unsafe { place.load(Acquire).as_ref() }
}

/// Frees the lane that is kept at `place`: what it belongs to is not used any more. A lane for which another thread still waits with all
/// others stays in the list, so that its account keeps the numbers of [`ContextLane::impatient`]; a later call of this function frees it.
pub(crate) fn forget(place: &AtomicPtr<ContextLane>) {
    let lane = place.swap(core::ptr::null_mut(), AcqRel);
    if !lane.is_null() {
        let mut lanes = lanes();
        // SAFETY: `make` has left this owner to the place, which has just given it up.
        drop(unsafe { Arc::from_raw(lane) });
        let unused: Vec<_> = lanes.extract_if(.., |known| Arc::strong_count(known) == 1).collect();
        drop(lanes);
        drop(unused);
    }
}

/// The network ends: frees the runtime's own lane. Those of contexts that the program has left on its teams stay in memory, and no call
/// looks at them in the next life.
pub(crate) fn forget_all() {
    forget(&OWN);
    lanes().clear();
}

/// Forgets the runtime's own lane, which is the parent's: this process is the child of a fork.
pub(crate) fn leave_to_parent() {
    OWN.store(core::ptr::null_mut(), Relaxed);
}

/// Leaves all lanes to threads that may still be in a call.
pub(crate) fn leave_all() {
    leave_behind(&OWN);
    lanes().clear();
}

/// Leaves the lane that is kept at `place` to threads that may still be in a call.
pub(crate) fn leave_behind(place: &AtomicPtr<ContextLane>) {
    let lane = place.swap(core::ptr::null_mut(), AcqRel);
    if !lane.is_null() {
        let lane = AtomicPtr::new(lane);
        // SAFETY: `make` has left this owner to the place, which has given it up; no thread that could have found it is there any more.
        left_behind::leave(move || drop(unsafe { Arc::from_raw(lane.into_inner()) }));
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
