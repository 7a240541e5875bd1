//! PEs of other nodes: the fabric of the job.
//!
//! A job on one node has no network; everything here is behind [`is_open`], one load.

pub(crate) mod connect;
pub(crate) mod lane;
pub(crate) mod neighbours;
pub(crate) mod vote;

use std::cell::Cell;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64};
use std::time::{Duration, Instant};

use oxshmem_base::Error;
use oxshmem_bootstrap::{Membership, ended_notice};
use oxshmem_os::process;
use oxshmem_transport::{AmoDomain, Capabilities, Fabric, Features, Lane, LaneOptions, Region, Segment, TakesTurns};
use parking_lot::Mutex;

use crate::memory::direct::FAST;

/// The job's fabric between init and the last finalize; null on one node. Stored with release and loaded with acquire, because
/// the box and what it holds are plain memory, which a thread may use that has met the initialising one nowhere else.
static FABRIC: AtomicPtr<Box<dyn Fabric>> = AtomicPtr::new(core::ptr::null_mut());

fn fabric() -> Option<&'static dyn Fabric> {
    // SAFETY: `begin` leaks a box into it, and `connect::close` frees it after the last synchronisation of the job.
    unsafe { FABRIC.load(Acquire).as_ref() }.map(AsRef::as_ref)
}

/// Whether the job has PEs on other nodes.
#[inline(always)]
pub(crate) fn is_open() -> bool {
    // Acquire: the caller goes on to what `begin` made.
    !FABRIC.load(Acquire).is_null()
}

/// Whether the network does the atomics of this job, also those on a PE's own node.
static ATOMICS: AtomicBool = AtomicBool::new(false);

/// See [`ATOMICS`].
#[inline(always)]
pub(crate) fn does_atomics() -> bool {
    ATOMICS.load(Relaxed)
}

/// Whether all nodes are one machine that has fewer processors than the job has PEs.
static CROWDED_HOST: AtomicBool = AtomicBool::new(false);

/// See [`CROWDED_HOST`]; the same on all PEs.
pub(crate) fn is_crowded_host() -> bool {
    CROWDED_HOST.load(Relaxed)
}

/// The job's fabric from now on, and whether its nodes are one [crowded host](CROWDED_HOST); `reasons` for `SHMEM_INFO`.
/// `life` is a number of its own for each life of a job.
pub(crate) fn begin(fabric: Box<dyn Fabric>, life: u64, crowded_host: bool, reasons: String) {
    CROWDED_HOST.store(crowded_host, Relaxed);
    ATOMICS.store(fabric.capabilities().amo == AmoDomain::Network, Relaxed);
    *REASONS.lock() = reasons;
    LIFE_KEY.store(life, Relaxed);
    FABRIC.store(Box::into_raw(Box::new(fabric)), Release);
}

/// There is no network from now on. Returns what `begin` leaked: closed by the caller, and freed if no thread can be in a
/// call.
pub(crate) fn end() -> *mut Box<dyn Fabric> {
    ATOMICS.store(false, Relaxed);
    CROWDED_HOST.store(false, Relaxed);
    FABRIC.swap(core::ptr::null_mut(), AcqRel)
}

/// Forgets the network, which is the parent's: this process is the child of a fork.
pub(crate) fn leave_to_parent() {
    let _ = end();
}

/// A new lane; `None` while there is no network.
pub(crate) fn lane(options: LaneOptions) -> Option<Result<Box<dyn Lane>, Error>> {
    fabric().map(|fabric| fabric.lane(options))
}

/// The properties of the fabric; `None` while there is no network.
pub(crate) fn capabilities() -> Option<&'static Capabilities> {
    fabric().map(Fabric::capabilities)
}

/// Whether memory must have its pages when it is registered.
pub(crate) fn pins(fabric: &dyn Fabric) -> bool {
    fabric.capabilities().features.contains(Features::PINS)
}

/// Whether each growth of the heap is a registration.
pub(crate) fn registers_growth() -> bool {
    fabric().is_some_and(pins)
}

/// The heap has grown to so many bytes.
pub(crate) fn heap_has_grown(len: usize) -> Result<(), Error> {
    match fabric().filter(|fabric| pins(*fabric)) {
        Some(fabric) => fabric.register(Region::Heap, Segment { base: FAST.heap.own().0 as *mut u8, len }),
        None => Ok(()),
    }
}

/// The lines of `SHMEM_INFO` about the choice: which device does atomics, and why everything else was not chosen.
static REASONS: Mutex<String> = Mutex::new(String::new());

/// Whether the processor of a target serves what is asked of its memory; the same on all PEs.
pub(crate) fn is_served() -> bool {
    fabric().is_some_and(|fabric| !fabric.capabilities().features.contains(Features::ONE_SIDED))
}

/// The line of `SHMEM_INFO` about the transport: its name first.
pub(crate) fn describe() -> Option<String> {
    fabric().map(|fabric| fabric.describe() + &REASONS.lock())
}

/// The transport's name.
pub(crate) fn name() -> String {
    let name = fabric().map(|fabric| fabric.describe().split([':', ' ']).next().unwrap_or_default().to_owned());
    name.unwrap_or_else(|| "the network".into())
}

/// Serves what others have asked, and moves on what this PE has asked. Returns whether anything was done.
#[inline]
pub(crate) fn progress() -> bool {
    fabric().is_some_and(|fabric| fabric.progress() > 0)
}

/// Whether PEs take turns: then a wait is over when its turn has come, and no PE sleeps or spins.
pub(crate) fn takes_turns() -> bool {
    fabric().is_some_and(|fabric| fabric.turns().is_some())
}

thread_local! {
    /// The address of the last access of the node's memory, if it read.
    static LAST_READ: Cell<usize> = const { Cell::new(0) };
}

/// A call is about to read the node's memory at `address`, or `changes` it. That is a step where PEs take turns: another PE may be faster,
/// and a PE that reads one place again and again polls it.
#[inline(always)]
pub(crate) fn before_access(address: usize, changes: bool) {
    if FAST.takes_turns() {
        step_before_access(address, changes);
    }
}

#[cold]
#[inline(never)]
fn step_before_access(address: usize, changes: bool) {
    let read = if changes { 0 } else { address };
    if LAST_READ.replace(read) == address && !changes {
        progress();
    } else {
        with_turns(|turns| turns.look(false));
    }
}

/// Tells a network whose PEs take turns, and no other one.
pub(crate) fn with_turns(tell: impl FnOnce(&dyn TakesTurns)) {
    if let Some(turns) = fabric().and_then(Fabric::turns) {
        tell(turns);
    }
}

/// Sleeps until something comes over the network, for `most` at most, and serves it. `None`: there is no network that one
/// can sleep on. Otherwise whether anything was done.
pub(crate) fn rest(most: Duration) -> Option<bool> {
    Some(fabric()?.rest(most)? > 0)
}

/// Why a PE of another node can no longer be reached, if one cannot.
pub(crate) fn lost() -> Option<Error> {
    fabric()?.lost()
}

/// The life in which PEs are marked as gone, by a random number: a script may run several programs one after the other, and the marks of
/// one stay with the launcher.
static LIFE_KEY: AtomicU64 = AtomicU64::new(0);
/// When the launcher was asked for the marks last.
static ASKED: Mutex<Option<Instant>> = Mutex::new(None);
/// The least time between two questions.
const ASK_EVERY: Duration = Duration::from_secs(1);

/// The key by which a PE publishes that it, or another PE, has ended without finalize.
fn gone_key(pe: Option<u32>) -> String {
    let life = LIFE_KEY.load(Relaxed);
    pe.map_or_else(|| format!("gone.{life:016x}"), |pe| format!("gone.{life:016x}.{pe}"))
}

/// A process that ends without finalize serves its peers until nothing has come for the first time span, but for the second
/// one at most.
const DRAIN: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(200));

/// Whether a thread of [`drain_before_exit`] may still use the fabric. Stored with release when it does not any more.
static DRAINS: AtomicBool = AtomicBool::new(false);

/// The steps before this process ends without finalize. Coalesced messages are flushed, and messages that have arrived are
/// taken: a connection that ends with something in it is broken off, and there are libraries (`ofi_rxm`) that lose their own
/// process over that.
///
/// A handler of a signal may have interrupted a call that holds a lock of the network, and have called `exit`. No call can take that lock
/// any more, so the steps are those of a thread that has a limit. Where PEs take turns, it would be one more that waits for its turn.
pub(crate) fn drain_before_exit() {
    let Some(fabric) = fabric() else { return };
    if fabric.turns().is_some() {
        return drain(fabric);
    }
    DRAINS.store(true, Relaxed);
    let begun = process::for_at_most(2 * DRAIN.1, move || {
        drain(fabric);
        DRAINS.store(false, Release);
    });
    if !begun {
        DRAINS.store(false, Relaxed);
        drain(fabric);
    }
}

/// Whether the fabric has to stay, because a thread before the exit of the process may still use it.
pub(crate) fn is_draining() -> bool {
    DRAINS.load(Acquire)
}

fn drain(fabric: &dyn Fabric) {
    let (begin, mut last) = (Instant::now(), Instant::now());
    while last.elapsed() < DRAIN.0 && begin.elapsed() < DRAIN.1 {
        match fabric.progress() {
            0 => std::thread::sleep(Duration::from_micros(100)),
            _ => last = Instant::now(),
        }
    }
}

/// How long the launcher may take to hear that this process ends. It sees the end itself, a little later.
const DISCONNECT: Duration = Duration::from_secs(5);

/// This process ends without finalize. PEs of other nodes do not see its state: they are told through our launcher, whose
/// values are there at once; other launchers end the job. As in [`drain_before_exit`], an interrupted call may hold the connection to
/// the launcher.
pub(crate) fn say_gone(job: &'static Membership) {
    if is_open() && job.launched_by_us() {
        // If the launcher is gone as well, no process is left to be told.
        let say = move || drop(job.put(&gone_key(Some(job.rank())), &[]).and_then(|()| job.put(&gone_key(None), &[])));
        if !process::for_at_most(DISCONNECT, say) {
            say();
        }
    }
}

/// A PE of another node among `pes` that has ended without finalize.
pub(crate) fn gone_among(job: &Membership, mut pes: impl Iterator<Item = u32>) -> Option<u32> {
    if !is_open() || !job.launched_by_us() {
        return None;
    }
    let mut asked = ASKED.lock();
    if asked.is_some_and(|asked| asked.elapsed() < ASK_EVERY) {
        return None;
    }
    *asked = Some(Instant::now());
    // Usually none is. Finding that takes two questions: which PEs have said so themselves, and which the launcher knows to
    // have ended.
    let is_there = |pe: Option<u32>, key: &str| job.get(pe.unwrap_or(0), key).is_ok();
    let ways: [fn(Option<u32>) -> String; 2] = [gone_key, ended_notice::key];
    let ways = ways.map(|key| is_there(None, &key(None)).then_some(key));
    pes.find(|&pe| ways.iter().flatten().any(|key| is_there(Some(pe), &key(Some(pe)))))
}
