//! PEs as threads of one process, for tests: every PE has memory of its own, operations travel over the loopback
//! provider, and one thread runs at a time. Nothing here depends on anything but the seed, so a run can be repeated.
//!
//! [`here`] is all that the calls of the API see of it. It says that there is no such world, without looking, in builds
//! without debug assertions: their code is what it would be if this file did not exist.

pub(crate) mod calls;
pub(crate) mod exchange;
mod store;
mod turns;

use core::cell::{Cell, RefCell};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::rc::Rc;
use std::sync::Arc;

use oxshmem_runtime as runtime;
use oxshmem_transport::loopback::{self, Loopback};
use oxshmem_transport::{AmoDomain, Fabric, Lane, LaneOptions};
use parking_lot::{Mutex, MutexGuard};

use crate::Error;
use crate::own::OwnState;
use exchange::{Meetings, ThreadTeam};
use store::ThreadMemory;
use turns::Turns;

/// Whether this build can have such worlds.
pub(crate) const POSSIBLE: bool = cfg!(any(debug_assertions, miri));

/// The properties of a world of threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) pes: usize,
    pub(crate) seed: Option<u64>,
    pub(crate) delayed: bool,
    pub(crate) bytes: usize,
}

/// The state that the PEs of a world share.
pub(crate) struct SharedJob {
    turns: Turns,
    store: ThreadMemory,
    meetings: Meetings,
    locks: calls::lock::Locks,
}

impl SharedJob {
    pub(crate) fn new(terms: Terms) -> Result<Self, Error> {
        let adversary = terms.delayed.then(|| terms.seed.unwrap_or(0));
        // The adversary's card loses every access to an atomic object that does not go through the card.
        let amo = if adversary.is_some() { AmoDomain::Network } else { AmoDomain::Processor };
        let options = loopback::Options { adversary, amo, ..loopback::Options::default() };
        let fabrics = loopback::fabrics(terms.pes as u32, options);
        let store = ThreadMemory::new(terms.pes, terms.bytes)?;
        for (pe, fabric) in fabrics.iter().enumerate() {
            store.register(pe, fabric)?;
        }
        let (meetings, locks) = (Meetings::default(), calls::lock::Locks::default());
        Ok(Self { turns: Turns::new(fabrics, terms.seed), store, meetings, locks })
    }

    /// Why the world has failed, if it has.
    pub(crate) fn failure(&self) -> Option<String> {
        self.turns.failure()
    }
}

/// One PE, as its thread sees it.
pub(crate) struct ThreadPe {
    job: Arc<SharedJob>,
    me: usize,
    /// No other PE of any world in this process has it.
    pub(crate) id: u64,
    /// State that a process has once otherwise.
    pub(crate) own: OwnState,
    /// The contexts by number; the first is the default one.
    streams: RefCell<Vec<ContextStream>>,
    /// The teams by number; the first is the world, the second that of the node.
    teams: RefCell<Vec<Rc<ThreadTeam>>>,
    /// Looks at own memory since it last let others go on.
    looks: Cell<u32>,
}

/// The operations of a context.
struct ContextStream {
    members: Rc<ThreadTeam>,
    /// Those that the caller does not wait for.
    issued: Box<dyn Lane>,
    /// Those that it waits for: they complete without the others, as on a network.
    asked: Box<dyn Lane>,
    /// Copies of sources that may be reused although the operation is under way.
    kept: Vec<Vec<u8>>,
    /// Whether operations to come must not overtake the issued ones.
    fenced: bool,
}

static IDS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static HERE: RefCell<Option<Rc<ThreadPe>>> = const { RefCell::new(None) };
}

/// The PE that this thread is, in a world of threads.
#[inline(always)]
pub(crate) fn here() -> Option<Rc<ThreadPe>> {
    if POSSIBLE { look_up() } else { None }
}

/// Not inlined: a collective that has been started may be moved on by another thread, whose variable is somewhere else.
#[inline(never)]
fn look_up() -> Option<Rc<ThreadPe>> {
    // A destructor of a variable of the thread may come behind that of this one.
    HERE.try_with(|here| here.borrow().clone()).ok().flatten()
}

/// Lets this thread be PE `me` while `body` runs, from its first turn on. What `body` panics with is the failure of all.
pub(crate) fn be<R>(job: &Arc<SharedJob>, me: usize, body: impl FnOnce() -> R) -> std::thread::Result<R> {
    let world = Rc::new(ThreadTeam::world(job.turns.pes(), me));
    let pe = ThreadPe {
        job: job.clone(),
        me,
        id: IDS.fetch_add(1, Relaxed),
        own: OwnState::new(),
        streams: RefCell::default(),
        teams: RefCell::new(vec![world.clone(), Rc::new(ThreadTeam::predefined(1, job.turns.pes(), me))]),
        looks: Cell::new(0),
    };
    pe.streams.borrow_mut().push(pe.stream(world));
    HERE.set(Some(Rc::new(pe)));
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        job.turns.enter(me);
        body()
    }));
    // Operations that it has left under way complete before its memory goes.
    if let Some(pe) = HERE.take() {
        pe.complete_all();
    }
    job.turns.leave(me, outcome.as_ref().err().map(words_of));
    outcome
}

/// The message of a panic.
pub(crate) fn words_of(panic: &Box<dyn core::any::Any + Send>) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without words").into()
}

impl ThreadPe {
    fn turns(&self) -> &Turns {
        &self.job.turns
    }

    fn fabric(&self) -> &Loopback {
        self.job.turns.fabric(self.me)
    }

    fn stream(&self, members: Rc<ThreadTeam>) -> ContextStream {
        let lane = || match self.fabric().lane(LaneOptions::default()) {
            Ok(lane) => lane,
            Err(error) => self.fail(&error),
        };
        ContextStream { members, issued: lane(), asked: lane(), kept: Vec::new(), fenced: false }
    }

    /// This PE's copy of what begins at `address`: a place in its memory, or a static variable, which all share.
    pub(crate) fn own_copy<T>(&self, address: *mut T) -> *mut T {
        self.job.store.own_copy(self.me, address.cast(), size_of::<T>()).cast()
    }

    /// Between two looks at own memory: others may go on now and then, so that a loop of looks ends.
    pub(crate) fn look(&self) {
        self.looks.set(self.looks.get() + 1);
        if self.looks.get().is_multiple_of(8) {
            self.turns().step(self.me);
        }
    }

    /// A task of this PE waits: others go on.
    pub(crate) fn look_later(&self) {
        self.turns().idle(self.me);
    }

    /// Ends the world with a message: the thread panics, and takes the others along.
    pub(crate) fn fail(&self, error: &Error) -> ! {
        panic!("{error}")
    }
}

/// The objects that handles point to, by their numbers. The runtime sees one only if a thread that is no PE uses a handle
/// that a PE has made; then it finds zeros, which are an object of nothing, and says so.
fn object(number: usize) -> *const HandleObject {
    let mut objects = objects();
    while objects.len() <= number {
        objects.push(Box::leak(Box::new(HandleObject([const { AtomicU64::new(0) }; 8]))));
    }
    objects[number]
}

#[repr(align(64))]
struct HandleObject(#[expect(dead_code, reason = "the runtime reads it")] [AtomicU64; 8]);

const _: () = assert!(
    size_of::<HandleObject>() >= size_of::<runtime::ContextObject>()
        && size_of::<HandleObject>() >= size_of::<runtime::TeamObject>()
);

fn objects() -> MutexGuard<'static, Vec<&'static HandleObject>> {
    static OBJECTS: Mutex<Vec<&HandleObject>> = Mutex::new(Vec::new());
    OBJECTS.lock()
}

/// The number of the object at `address`; more than there are if it is not one.
fn number_of(address: *const HandleObject) -> usize {
    let objects = objects();
    objects.iter().position(|&object| core::ptr::eq(object, address)).unwrap_or(usize::MAX)
}

fn context_handle(number: usize) -> runtime::ContextHandle {
    // SAFETY: a handle is an address; what is there suits the runtime, see `object`.
    unsafe { core::mem::transmute(object(number)) }
}

fn context_number(handle: runtime::ContextHandle) -> usize {
    if handle == runtime::ContextHandle::default_context() {
        return 0;
    }
    // SAFETY: a handle is one address, which a pointer may hold; `number_of` compares it and does not follow it.
    number_of(unsafe { core::mem::transmute::<runtime::ContextHandle, *const HandleObject>(handle) })
}

fn team_handle(number: usize) -> runtime::TeamHandle {
    // SAFETY: a handle is one address, and `object` leaves there what the runtime may read.
    unsafe { core::mem::transmute(object(number)) }
}

fn team_number(handle: runtime::TeamHandle) -> usize {
    if handle == runtime::TeamHandle::world() {
        return 0;
    }
    if handle == runtime::TeamHandle::shared() {
        return 1;
    }
    // SAFETY: a handle is one address, which a pointer may hold; `number_of` compares it and does not follow it.
    number_of(unsafe { core::mem::transmute::<runtime::TeamHandle, *const HandleObject>(handle) })
}
