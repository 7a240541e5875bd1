//! PEs of other nodes: the fabric of the job, and one lane of it for each context that has used it.
//!
//! A job on one node has no network; everything here is behind [`is_open`], one relaxed load.

use std::ptr::NonNull;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use oxshmem_base::Error;
use oxshmem_base::knobs::Settings;
use oxshmem_bootstrap::{Circle, Job, wireup};
use oxshmem_transport::{AmoDomain, Cards, Fabric, Features, Lane, LaneOptions, Region, Segment};

use crate::context::Context;
use crate::control;
use crate::diagnose;
use crate::fast::FAST;
use crate::life::{self, Others};
use crate::nodes;
use crate::transports::{self, Chosen, Joining};
use crate::wait::{self, Needs, Reason};
use crate::windows::Windows;

/// The job's fabric between init and the last finalize; null on one node.
static FABRIC: AtomicPtr<Box<dyn Fabric>> = AtomicPtr::new(core::ptr::null_mut());

fn fabric() -> Option<&'static dyn Fabric> {
    // SAFETY: `open` leaks a box into it, and `close` frees it after the last synchronisation of the job.
    unsafe { FABRIC.load(Acquire).as_ref() }.map(AsRef::as_ref)
}

/// Whether the job has PEs on other nodes.
#[inline(always)]
pub(crate) fn is_open() -> bool {
    !FABRIC.load(Relaxed).is_null()
}

/// Whether the network does the atomics of this job, also those on a PE's own node.
static ATOMICS: AtomicBool = AtomicBool::new(false);

/// See [`ATOMICS`].
#[inline(always)]
pub(crate) fn does_atomics() -> bool {
    ATOMICS.load(Relaxed)
}

/// Opens the fabric if the job has several nodes, and registers the caller's windows.
pub(crate) fn open(
    job: &'static Job,
    epoch: u32,
    settings: &Settings,
    windows: &Windows,
    circle: &Circle,
) -> Result<(), Error> {
    transports::check(settings)?;
    if job.node().count < 2 {
        return Ok(());
    }
    if job.size() > nodes::MOST_PES || job.node().count > nodes::MOST_NODES {
        return Err(Error::new(format!("{} PEs on {} nodes", job.size(), job.node().count))
            .because(format!(
                "collectives between nodes serve at most {} PEs on {} nodes",
                nodes::MOST_PES,
                nodes::MOST_NODES
            ))
            .fix("run fewer PEs, for example one for each processor with threads in it"));
    }
    let secret = secret_of_one_program(job, epoch, circle)?;
    let joining = Joining { job, settings, secret: &secret, quarters: windows.quarters() };
    let Chosen { fabric, rejected, crowded, atomics } = transports::choose(&joining, epoch, circle)?;
    windows.share_processors(crowded);
    let (heap, committed) = FAST.heap.own();
    let (statics, statics_len) = FAST.statics.own();
    let segment = |base: usize, len: usize| Segment { base: base as *mut u8, len };
    // What has to have its pages is registered as it gets them.
    let heap_now = if pins(&*fabric) { committed } else { windows.heap_window() };
    fabric.register(Region::Heap, segment(heap, heap_now))?;
    fabric.register(Region::Statics, segment(statics, statics_len))?;
    fabric.register(Region::Control, segment(control::own(), control::REACHED))?;
    wireup::publish(job, epoch, circle, fabric.card())?;
    job.fence()?;
    fabric.connect(Box::new(Published(wireup::Cards::new(job, epoch))))?;
    tracing::debug!(fabric = fabric.describe(), "network");
    ATOMICS.store(fabric.capabilities().amo == AmoDomain::Network, Relaxed);
    let rejected = if rejected.is_empty() { String::new() } else { format!("; rejected: {}", rejected.join(", ")) };
    *REASONS.lock().unwrap_or_else(PoisonError::into_inner) = format!("; atomics by {atomics}{rejected}");
    EPOCH.store(epoch, Relaxed);
    FABRIC.store(Box::into_raw(Box::new(fabric)), Relaxed);
    Ok(())
}

fn pins(fabric: &dyn Fabric) -> bool {
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

/// What `SHMEM_INFO` says of the choice: who does atomics, and why everything else was not chosen.
static REASONS: Mutex<String> = Mutex::new(String::new());

/// Whether the processor of a target serves what is asked of its memory; the same on all PEs.
pub(crate) fn is_served() -> bool {
    fabric().is_some_and(|fabric| !fabric.capabilities().features.contains(Features::ONE_SIDED))
}

/// A word for `SHMEM_INFO`.
pub(crate) fn describe() -> Option<String> {
    fabric().map(|fabric| fabric.describe() + &REASONS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Ends the fabric. All PEs have completed their operations.
pub(crate) fn close(others: Others) {
    ATOMICS.store(false, Relaxed);
    let fabric = FABRIC.swap(core::ptr::null_mut(), AcqRel);
    // SAFETY: `open` leaked it from a box.
    if let (Some(fabric), Others::MayUseStatics) = (unsafe { fabric.as_ref() }, others) {
        // It is closed, and who is in a call learns that; but it stays, and so do its lanes.
        Context::default_context().lane().store(core::ptr::null_mut(), Release);
        OWN.store(core::ptr::null_mut(), Release);
        lanes().clear();
        fabric.close();
    } else if !fabric.is_null() {
        forget_at(&OWN);
        // SAFETY: `open` leaked it from a box, and the standard allows no call that could still use it.
        let fabric = unsafe { Box::from_raw(fabric) };
        fabric.close();
    }
}

/// PE 0 says what all must know: the job's secret, an identity and a key that nobody else has, and its program.
pub(crate) fn announce(job: &Job, epoch: u32) -> Result<(), Error> {
    if job.node().count < 2 || job.rank() > 0 {
        return Ok(());
    }
    let mut secret = [0; SECRET];
    let read =
        std::fs::File::open("/dev/urandom").and_then(|mut file| std::io::Read::read_exact(&mut file, &mut secret));
    read.map_err(|error| {
        Error::new("no random numbers for the job's secret").because(format!("/dev/urandom: {error}"))
    })?;
    wireup::announce(job, epoch, &[&secret, crate::windows::program().as_bytes()].concat())
}

const SECRET: usize = 48;

/// What PE 0 has said: the secret. The leaders compare their programs with PE 0's; inside a node its leader has done so.
fn secret_of_one_program(job: &Job, epoch: u32, circle: &Circle) -> Result<[u8; SECRET], Error> {
    let words = wireup::announced(job, epoch, circle)?;
    let Some((secret, first)) = words.split_first_chunk() else {
        return Err(Error::new("the job's secret has the wrong length").fix("run one version of oxshmem on all PEs"));
    };
    let (mine, first) = (crate::windows::program(), String::from_utf8_lossy(first));
    if job.node().my_index > 0 || oxshmem_os::statics::region().is_err() || first == mine {
        return Ok(*secret);
    }
    Err(Error::new(format!("PE {} runs a different program than PE 0", job.rank()))
        .because(format!("PE {} is {mine}, PE 0 is {first}", job.rank()))
        .fix("start one program on all PEs, or set SHMEM_STATICS=0 if the programs share no static variables"))
}

/// Cards come from the launcher's key-value space, when they are first needed.
struct Published(wireup::Cards<'static>);

impl Cards for Published {
    fn card(&self, pe: u32) -> Result<Vec<u8>, Error> {
        self.0.of(pe)
    }
}

/// Serves what others have asked, and moves on what this PE has asked. Returns whether anything was done.
#[inline]
pub(crate) fn progress() -> bool {
    fabric().is_some_and(|fabric| fabric.progress() > 0)
}

/// Longest put whose source is copied, so that it can be reused at once.
pub(crate) fn inject() -> usize {
    fabric().map_or(0, |fabric| fabric.capabilities().inject)
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

/// The life in which PEs are marked as gone; they are asked for no more often than this.
static EPOCH: AtomicU32 = AtomicU32::new(0);
static ASKED: Mutex<Option<Instant>> = Mutex::new(None);
const ASK_EVERY: Duration = Duration::from_secs(1);

/// The key under which somebody says that it, or anybody, has ended without finalize.
fn gone_key(pe: Option<u32>) -> String {
    let epoch = EPOCH.load(Relaxed);
    pe.map_or_else(|| format!("gone.{epoch}"), |pe| format!("gone.{epoch}.{pe}"))
}

/// This process ends without finalize. PEs of other nodes do not see its state: they are told through our launcher, whose
/// values are there at once; other launchers end the job.
pub(crate) fn leave(job: &Job) {
    let Some(fabric) = fabric() else { return };
    // What waits for company is sent.
    fabric.progress();
    if job.launched_by_us() {
        // If the launcher is gone as well, nobody is left to be told.
        let _ = job.put(&gone_key(Some(job.rank())), &[]).and_then(|()| job.put(&gone_key(None), &[]));
    }
}

/// A PE of another node among `pes` that has ended without finalize.
pub(crate) fn gone_among(job: &Job, mut pes: impl Iterator<Item = u32>) -> Option<u32> {
    if !is_open() || !job.launched_by_us() {
        return None;
    }
    let mut asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    if asked.is_some_and(|asked| asked.elapsed() < ASK_EVERY) {
        return None;
    }
    *asked = Some(Instant::now());
    // Mostly nobody is, which is one question.
    let is_marked = |pe: Option<u32>| job.get(pe.unwrap_or(0), &gone_key(pe)).is_ok();
    if is_marked(None) { pes.find(|&pe| is_marked(Some(pe))) } else { None }
}

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
    /// Something has been issued to a PE of this node, which loads and stores reach as well: a fence waits for it. Changed
    /// while the lane is held.
    near: AtomicBool,
}

impl ContextLane {
    fn new() -> Self {
        let Some(fabric) = fabric() else { unreachable!("lanes are made for PEs of other nodes only") };
        let lane = fabric.lane(LaneOptions::default()).unwrap_or_else(|error| diagnose::fail(&error));
        Self {
            lane: Mutex::new(lane),
            rests: AtomicU64::new(0),
            impatient: AtomicU32::new(0),
            near: AtomicBool::new(false),
        }
    }

    /// For as long as operations are issued.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Box<dyn Lane>> {
        if self.impatient.load(Relaxed) > 0 {
            self.hold_back();
        }
        self.try_lock().unwrap_or_else(|| self.lock_in_turn())
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
        if does_atomics() && life::window_of(pe).is_some() {
            self.near.store(true, Relaxed);
        }
    }

    /// What was issued before takes effect before what comes after: the lane's own operations, and the loads and stores
    /// that reach PEs of this node.
    fn fence(&self, call: &'static str) {
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
    act(&mut **lane_at(&OWN).lock())
}

/// Returns when everything that the runtime has issued is complete.
pub(crate) fn complete(call: &'static str) {
    lane_at(&OWN).drain(call, Needs::Anyone);
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

/// The lane of `context`, made when it is first needed.
pub(crate) fn lane(context: Context) -> &'static ContextLane {
    lane_at(context.lane())
}

fn lane_at(place: &'static AtomicPtr<ContextLane>) -> &'static ContextLane {
    let known = place.load(Acquire);
    if let Some(known) = NonNull::new(known) {
        // SAFETY: stored below from a leaked box; freed with the context or the fabric, which nobody uses then.
        return unsafe { known.as_ref() };
    }
    let new = Box::into_raw(Box::new(ContextLane::new()));
    match place.compare_exchange(core::ptr::null_mut(), new, AcqRel, Acquire) {
        Ok(_) => {
            // SAFETY: leaked, as above.
            let new = unsafe { &*new };
            lanes().push(new);
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

/// Completes what was issued on `context`.
#[cold]
pub(crate) fn quiet(call: &'static str, context: Context) {
    if !context.is_valid() {
        return;
    }
    // SAFETY: as in `lane`.
    if let Some(lane) = unsafe { context.lane().load(Acquire).as_ref() } {
        lane.drain(call, Needs::Anyone);
    }
}

/// Orders what was issued on `context`.
#[cold]
pub(crate) fn fence(call: &'static str, context: Context) {
    if !context.is_valid() {
        return;
    }
    // SAFETY: as in `lane`.
    if let Some(lane) = unsafe { context.lane().load(Acquire).as_ref() } {
        lane.fence(call);
    }
}

/// Frees the lane of a context that ends.
pub(crate) fn forget(context: Context) {
    forget_at(context.lane());
}

fn forget_at(place: &AtomicPtr<ContextLane>) {
    let lane = place.swap(core::ptr::null_mut(), AcqRel);
    if !lane.is_null() {
        lanes().retain(|known| !core::ptr::eq(*known, lane));
        // SAFETY: leaked by `lane_at`, and what it belongs to is not used any more.
        drop(unsafe { Box::from_raw(lane) });
    }
}
