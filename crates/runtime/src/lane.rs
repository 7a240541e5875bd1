//! A context's lane of the network, for all threads that use the context; and the runtime's own.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use oxshmem_transport::Lane;

use crate::wait::{self, Needs, Reason};
use crate::{deadlock, diagnose, job, network};

/// The lane of one context, for all threads that use it.
pub(crate) struct ContextLane {
    lane: Mutex<Box<dyn Lane>>,
    /// How often somebody has seen the lane with nothing outstanding. Counted while the lane is held: a number that has
    /// changed since a thread issued says that what it issued is complete, and what was fetched is there (release,
    /// acquire). So nobody has to be the one who sees the empty lane.
    rests: AtomicU64,
    /// Threads that have waited long for the lane, or for it to be empty. While there are any, those that issue hold back,
    /// because a stream of operations of one thread must not keep another out (THR-5) or in its quiet (ORD-7) for ever.
    impatient: AtomicU32,
    /// Something may be outstanding. Set by whoever issues and cleared by whoever sees the lane empty, both while the lane is
    /// held. So a thread that has issued reads its own store or a later one, and if that is `false` the lane was seen empty
    /// after this thread had let it go. The clearing is a release and the look of a quiet an acquire: what was fetched is
    /// there, as with `rests`.
    busy: AtomicBool,
    /// Something has been issued to a PE of this node, which loads and stores reach as well: a fence waits for it. Changed
    /// while the lane is held.
    near: AtomicBool,
}

impl ContextLane {
    fn new() -> Self {
        let lane = match network::lane() {
            Some(lane) => lane.unwrap_or_else(|error| diagnose::fail(&error)),
            // Lanes are made for PEs of other nodes only.
            None => diagnose::not_initialised("an operation between nodes"),
        };
        Self {
            lane: Mutex::new(lane),
            rests: AtomicU64::new(0),
            impatient: AtomicU32::new(0),
            busy: AtomicBool::new(false),
            near: AtomicBool::new(false),
        }
    }

    /// For as long as operations are issued.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Box<dyn Lane>> {
        if self.impatient.load(Relaxed) > 0 {
            self.hold_back();
        }
        let lane = self.try_lock().unwrap_or_else(|| self.lock_in_turn());
        self.busy.store(true, Relaxed);
        lane
    }

    /// Whether everything that this thread has issued is complete, as far as one can tell without the lane.
    #[inline(always)]
    pub(crate) fn is_idle(&self) -> bool {
        !self.busy.load(Acquire)
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, Box<dyn Lane>>> {
        match self.lane.try_lock() {
            Ok(lane) => Some(lane),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Behind a thread that may issue without pause.
    #[cold]
    fn lock_in_turn(&self) -> MutexGuard<'_, Box<dyn Lane>> {
        let mut patience = Patience::new(self);
        wait::until(self.reason("a call behind another thread's operations", Needs::Anyone), None, || {
            patience.look();
            self.try_lock()
        })
    }

    fn reason<'n>(&self, call: &'static str, needs: Needs<'n>) -> Reason<'n> {
        Reason { call, address: core::ptr::from_ref(self) as usize, needs }
    }

    /// Issues what may be to a PE of this node.
    pub(crate) fn issue_to(&self, pe: u32, act: impl FnOnce(&mut dyn Lane)) {
        let mut lane = self.lock();
        act(&mut **lane);
        if network::does_atomics() && job::window_of(pe).is_some() {
            self.near.store(true, Relaxed);
        }
    }

    /// What was issued before takes effect before what comes after: the lane's own operations, and the loads and stores
    /// that reach PEs of this node.
    pub(crate) fn fence(&self, call: &'static str) {
        let near = {
            let mut lane = self.lock();
            lane.fence();
            self.near.swap(false, Relaxed)
        };
        if near {
            self.drain(call, Needs::Anyone);
        }
    }

    #[cold]
    fn hold_back(&self) {
        let reason = self.reason("a call behind another thread's quiet", Needs::Anyone);
        wait::until(reason, None, || (self.impatient.load(Relaxed) == 0).then_some(()));
    }

    /// Returns when everything that this thread has issued is complete.
    pub(crate) fn drain(&self, call: &'static str, needs: Needs<'_>) {
        let before = self.rests.load(Acquire);
        let mut patience = Patience::new(self);
        wait::until(self.reason(call, needs), None, || {
            if self.rests.load(Acquire) != before {
                return Some(());
            }
            patience.look();
            // Whoever has it moves everything on.
            let mut lane = self.try_lock()?;
            if let Err(error) = lane.progress() {
                drop(lane);
                diagnose::fail(&error);
            }
            (lane.outstanding() == 0).then(|| {
                self.near.store(false, Relaxed);
                self.busy.store(false, Release);
                self.rests.fetch_add(1, Release);
            })
        });
    }
}

/// How long a thread waits for a lane before it makes others hold back, until the wait is over.
struct Patience<'l> {
    lane: &'l ContextLane,
    looks: u32,
    since: Option<Instant>,
    over: bool,
}

impl<'l> Patience<'l> {
    /// A wait that has looked so often begins to count the time.
    const LOOKS: u32 = 8;
    /// It is impatient after so much of it: more than a round trip on a network that answers at once.
    const TIME: Duration = Duration::from_micros(100);

    fn new(lane: &'l ContextLane) -> Self {
        Self { lane, looks: 0, since: None, over: false }
    }

    /// It has looked once more.
    fn look(&mut self) {
        self.looks = self.looks.saturating_add(1);
        if self.looks > Self::LOOKS && !self.over && self.since.get_or_insert_with(Instant::now).elapsed() > Self::TIME
        {
            self.over = true;
            self.lane.impatient.fetch_add(1, Relaxed);
        }
    }
}

impl Drop for Patience<'_> {
    fn drop(&mut self) {
        if self.over {
            self.lane.impatient.fetch_sub(1, Relaxed);
        }
    }
}

/// The lane of everything that the runtime does between nodes on its own behalf; collectives use no context (COL-6).
static OWN: AtomicPtr<ContextLane> = AtomicPtr::new(core::ptr::null_mut());

/// Issues operations of the runtime.
pub(crate) fn issue<R>(act: impl FnOnce(&mut dyn Lane) -> R) -> R {
    act(&mut **at(&OWN).lock())
}

/// Returns when everything that the runtime has issued is complete.
pub(crate) fn complete(call: &'static str) {
    at(&OWN).drain(call, Needs::Anyone);
}

/// All lanes, for the last finalize to complete them.
static LANES: Mutex<Vec<&'static ContextLane>> = Mutex::new(Vec::new());

fn lanes() -> MutexGuard<'static, Vec<&'static ContextLane>> {
    LANES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns when everything that this PE has issued is complete, whatever the context. (INIT-5)
pub(crate) fn complete_all(call: &'static str) {
    let lanes = lanes().clone();
    lanes.iter().for_each(|lane| lane.drain(call, Needs::Anyone));
}

/// Whether nothing that this PE has issued is under way, as far as can be seen without waiting.
fn is_quiet() -> bool {
    let Ok(lanes) = LANES.try_lock() else { return false };
    let is_empty = |lane: &&ContextLane| {
        lane.try_lock().is_some_and(|mut lane| lane.progress().is_ok() && lane.outstanding() == 0)
    };
    lanes.iter().all(is_empty)
}

/// The lane that is kept at `place`, made when it is first needed.
pub(crate) fn at(place: &'static AtomicPtr<ContextLane>) -> &'static ContextLane {
    if let Some(known) = known(place) {
        return known;
    }
    let new = Box::into_raw(Box::new(ContextLane::new()));
    match place.compare_exchange(core::ptr::null_mut(), new, AcqRel, Acquire) {
        Ok(_) => {
            // SAFETY: leaked, as above.
            let new = unsafe { &*new };
            lanes().push(new);
            deadlock::ask(is_quiet);
            new
        }
        Err(other) => {
            // SAFETY: nobody has seen ours; the other is leaked, as above.
            unsafe {
                drop(Box::from_raw(new));
                &*other
            }
        }
    }
}

/// The lane that is kept at `place`, if it has been needed.
pub(crate) fn known(place: &AtomicPtr<ContextLane>) -> Option<&'static ContextLane> {
    // SAFETY: stored by `at` from a leaked box; freed with the context or the fabric, which nobody uses then.
    unsafe { place.load(Acquire).as_ref() }
}

/// Frees the lane that is kept at `place`: what it belongs to is not used any more.
pub(crate) fn forget(place: &AtomicPtr<ContextLane>) {
    let lane = place.swap(core::ptr::null_mut(), AcqRel);
    if !lane.is_null() {
        lanes().retain(|known| !core::ptr::eq(*known, lane));
        // SAFETY: leaked by `at`, and not used any more.
        drop(unsafe { Box::from_raw(lane) });
    }
}

/// Frees the runtime's own lane.
pub(crate) fn forget_own() {
    forget(&OWN);
}

/// Forgets the runtime's own lane, which is the parent's: this process is the child of a fork.
pub(crate) fn leave_to_parent() {
    OWN.store(core::ptr::null_mut(), Relaxed);
}

/// Leaves all lanes to threads that may still be in a call.
pub(crate) fn leave_all() {
    OWN.store(core::ptr::null_mut(), Release);
    lanes().clear();
}
