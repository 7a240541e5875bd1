//! The life of the library in a process: from the first init to the last finalize, perhaps more than once.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use oxshmem_base::Error;
use oxshmem_base::knobs::{self, Settings};
use oxshmem_bootstrap::Job;
use oxshmem_os::process;

use crate::context::Context;
use crate::control::{self, ControlBlock, State};
use crate::executor::{self, Choice};
use crate::fast::FAST;

use crate::memory::SymmetricHeap;
use crate::team::{Members, Team, TeamState};
use crate::wait::Needs;
use crate::{leasing, network, wait, windows};

/// The job this process belongs to: joined once, left when the process ends.
static JOB: OnceLock<Job> = OnceLock::new();
/// What exists between the first init and the last finalize; null otherwise. Written under `INITS`.
static LIFE: AtomicPtr<Life> = AtomicPtr::new(core::ptr::null_mut());
/// How many inits are not yet finalized.
static INITS: Mutex<u32> = Mutex::new(0);
/// How many lives there have been.
static EPOCH: AtomicU32 = AtomicU32::new(0);
/// Process that joined the job; a forked child has another number and must not act as the PE.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// Whether `start_pes` began this life, so that process exit ends it.
static ENDS_AT_EXIT: AtomicBool = AtomicBool::new(false);
static FIRST_OF_NODE: AtomicU32 = AtomicU32::new(0);
/// Whether the world numbers of the node's PEs have gaps.
static SCATTERED: AtomicBool = AtomicBool::new(false);

/// World number of the caller, and how many there are; -1 while not initialised.
pub(crate) static MY_PE: AtomicI32 = AtomicI32::new(-1);
/// See [`MY_PE`].
pub(crate) static N_PES: AtomicI32 = AtomicI32::new(-1);

/// Everything that one life owns.
pub(crate) struct Life {
    /// The environment variables, as read at init.
    pub(crate) settings: Settings,
    /// The thread level that was granted.
    pub(crate) thread_level: c_int,
    /// Which collectives run which schedule.
    pub(crate) choice: Choice,
    /// The symmetric heap.
    pub(crate) heap: Mutex<SymmetricHeap>,
    windows: windows::Windows,
}

/// The current life.
pub(crate) fn life() -> Option<&'static Life> {
    // SAFETY: `begin` leaks a box into it; `end` takes it out after the last synchronisation, when the standard allows no
    // call that could still hold the reference.
    unsafe { LIFE.load(Relaxed).as_ref() }
}

/// Whether the library is initialised.
pub(crate) fn is_open() -> bool {
    !LIFE.load(Relaxed).is_null()
}

/// Whether an earlier life has ended.
pub(crate) fn was_finalized() -> bool {
    EPOCH.load(Relaxed) > 0
}

/// Number of this PE and of all, once the job is joined.
pub(crate) fn identity() -> Option<(u32, u32)> {
    JOB.get().map(|job| (job.rank(), job.size()))
}

/// World number of the PE in window 0.
#[inline(always)]
pub(crate) fn first_of_node() -> u32 {
    FIRST_OF_NODE.load(Relaxed)
}

/// Whether the world numbers of the node's PEs have gaps, so that windows must be looked up.
#[inline(always)]
pub(crate) fn is_scattered() -> bool {
    SCATTERED.load(Relaxed)
}

/// The number of the node that world number `pe` is on.
pub(crate) fn node_of(pe: u32) -> u32 {
    JOB.get().map_or(0, |job| job.places().node_of(pe))
}

/// The number of the caller's node.
pub(crate) fn my_node() -> u32 {
    JOB.get().map_or(0, |job| job.node().index)
}

/// How many PEs the caller's node has.
pub(crate) fn pes_on_node() -> u32 {
    JOB.get().map_or(1, |job| job.node().members.len() as u32)
}

/// Begins a life or deepens it. Returns the granted thread level.
pub(crate) fn init(requested: c_int) -> Result<c_int, Error> {
    let mut inits = inits();
    if *inits > 0 {
        *inits += 1;
        return Ok(life().map_or(requested, |life| life.thread_level));
    }
    let (settings, warnings) = Settings::from_env()?;
    let job = join(&settings)?;
    if job.rank() == 0 {
        greet(&settings, &warnings);
    }
    begin(job, settings, requested).unwrap_or_else(|error| crate::diagnose::fail(&error));
    *inits = 1;
    Ok(requested)
}

/// Joins the job, in the first life only.
fn join(settings: &Settings) -> Result<&'static Job, Error> {
    if let Some(job) = JOB.get() {
        return Ok(job);
    }
    let job = JOB.get_or_init({
        let job = Job::join(settings)?;
        || job
    });
    PROCESS.store(process::pid(), Relaxed);
    // SAFETY: `leave` is a function of this library, which is never unloaded.
    unsafe { libc::atexit(leave) };
    Ok(job)
}

/// What PE 0 prints at the start (INIT-13), and the warnings about the environment.
fn greet(settings: &Settings, warnings: &[String]) {
    for warning in warnings {
        eprintln!("oxshmem: {warning}");
    }
    if settings.version {
        println!("{} (OpenSHMEM {}.{})", crate::VENDOR, crate::MAJOR_VERSION, crate::MINOR_VERSION);
    }
    if settings.info {
        print!("{}", knobs::listing());
    }
}

fn begin(job: &'static Job, settings: Settings, thread_level: c_int) -> Result<(), Error> {
    let epoch = EPOCH.fetch_add(1, Relaxed);
    crate::debug::enable(settings.debug, job.rank());
    let node = job.node();
    let first = node.members[0];
    let even = node.members.windows(2).all(|pair| pair[1] == pair[0] + 1);
    FIRST_OF_NODE.store(first, Relaxed);
    SCATTERED.store(!even, Relaxed);
    oxshmem_reduce::select();
    let choice = Choice::new(&settings)?;
    network::announce(job, epoch)?;
    let (windows, heap, circle) = windows::open(job, epoch, &settings)?;
    network::open(job, epoch, &settings, &windows, &circle)?;
    wait::expect_network(network::is_open());
    let info = settings.info;
    let heap_words = heap.describe();
    let checked = settings.check >= 2;
    let alone = thread_level < crate::calls::setup::MULTIPLE;
    crate::active_set::begin(node.members.len() as u32, node.my_index as u32, alone);
    crate::nodes::begin();
    LIFE.store(
        Box::into_raw(Box::new(Life { settings, thread_level, choice, heap: Mutex::new(heap), windows })),
        Relaxed,
    );
    let n = job.size();
    let whole = |slot| TeamState::new(Members::Triplet { start: 0, stride: 1 }, n, job.rank(), slot, 0);
    let of_node = |slot| {
        let members = Members::of(node.members.clone().into_boxed_slice());
        TeamState::new(members, node.members.len() as u32, node.my_index as u32, slot, 0)
    };
    let world = Team::world().fill(Box::new(whole(0).holding(leasing::begin())));
    // The two first leases of the world, on all PEs alike.
    for team in [Team::shared(), Team::node()] {
        if let Some(lease) = leasing::pop("shmem_init", world) {
            team.fill(Box::new(of_node(lease.slot.into())));
        }
    }
    Context::default_context().fill(world);
    MY_PE.store(job.rank() as i32, Relaxed);
    N_PES.store(n as i32, Relaxed);
    if !checked && even {
        FAST.open(first, node.members.len() as u32, !network::does_atomics());
    }
    ControlBlock::own().set_state(State::Running);
    executor::agree(world, "shmem_init");
    if info && job.rank() == 0 {
        let between = network::describe().map_or_else(String::new, |network| format!("; between nodes: {network}"));
        let launcher = job.protocol();
        println!(
            "oxshmem: {n} PEs on {} node(s); launcher: {launcher}; on the node: {heap_words}{between}",
            node.count
        );
        println!("oxshmem: {}", crate::placement::describe());
        println!("{}", executor::describe(n));
    }
    tracing::debug!(pes = n, epoch, "initialised");
    Ok(())
}

/// What threads may still be doing when the last finalize ends a life.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Others {
    /// Nothing that concerns the library: what the standard asks of programs.
    Done,
    /// Using static variables, because safe Rust cannot say who does. What such a call touches stays where it is.
    MayUseStatics,
}

/// Takes back one init; the last one ends the life.
pub(crate) fn finalize(others: Others) {
    let mut inits = inits();
    match *inits {
        0 => {}
        1 => {
            // Who has passed the barrier serves nobody any more.
            network::complete_all("shmem_finalize");
            crate::calls::order::barrier_all_named("shmem_finalize");
            end(others);
            *inits = 0;
        }
        _ => {
            crate::calls::order::barrier_all_named("shmem_finalize");
            *inits -= 1;
        }
    }
}

/// Frees everything that `begin` made. The caller has synchronised the world.
fn end(others: Others) {
    ENDS_AT_EXIT.store(false, Relaxed);
    if network::is_open() {
        // What the last synchronisation has sent must arrive, and be acknowledged, before anybody stops serving.
        network::quiet("shmem_finalize", Context::default_context());
        network::complete("shmem_finalize");
        if let Some(Err(error)) = JOB.get().map(Job::fence) {
            crate::diagnose::fail(&error);
        }
        network::close(others);
    }
    ControlBlock::own().set_state(State::Finalized);
    crate::active_set::end();
    control::close();
    FAST.close();
    MY_PE.store(-1, Relaxed);
    N_PES.store(-1, Relaxed);
    Context::default_context().clear();
    for team in [Team::world(), Team::shared(), Team::node()] {
        // SAFETY: after the last finalize no call may use a team or a context (the standard calls it undefined); who
        // uses statics may still look at the world's, which stays in memory then.
        let state = unsafe { team.delist() };
        if others == Others::MayUseStatics {
            state.map(Box::leak);
        }
    }
    let life = LIFE.swap(core::ptr::null_mut(), Relaxed);
    match others {
        // SAFETY: `begin` leaked it from a box; the caller holds `INITS`, and no other call may run now.
        Others::Done => drop(unsafe { Box::from_raw(life) }),
        // SAFETY: as above, and it stays.
        Others::MayUseStatics => unsafe { &*life }.windows.close_heap(),
    }
    tracing::debug!("finalized");
}

impl Drop for Life {
    fn drop(&mut self) {
        // The heap and control windows of a life vanish from this process with it; static data stays.
        self.windows.close();
    }
}

fn inits() -> MutexGuard<'static, u32> {
    INITS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the library is between the first init and the last finalize, also while another thread is in one of them.
pub(crate) fn initialised() -> bool {
    is_open()
}

/// `start_pes` began this life.
pub(crate) fn end_at_exit() {
    ENDS_AT_EXIT.store(true, Relaxed);
}

/// Runs when the process exits by `exit` or by returning from `main`. Runs no collective, except for the programs of
/// `start_pes`, which have no finalize (INIT-8).
extern "C" fn leave() {
    if PROCESS.load(Relaxed) != process::pid() {
        return;
    }
    if is_open() && ENDS_AT_EXIT.load(Relaxed) {
        finalize(Others::Done);
    }
    if is_open() {
        ControlBlock::own().set_state(State::Gone);
        if let Some(job) = JOB.get() {
            network::leave(job);
        }
    } else if let Some(job) = JOB.get() {
        job.done();
    }
}

/// Ends the whole job: prints `message` unless it is empty, flushes the C library's output.
pub(crate) fn abort(status: c_int, message: &str) -> ! {
    if life().is_some_and(|life| life.settings.trap_on_abort) {
        eprintln!("{message}");
        std::process::abort();
    }
    match JOB.get() {
        Some(job) => job.abort(status, message),
        None => {
            if !message.is_empty() {
                eprintln!("{message}");
            }
            process::exit_now(status)
        }
    }
}

/// The window of world number `pe`, if it is on this node.
pub(crate) fn window_of(pe: u32) -> Option<u32> {
    let members = &JOB.get()?.node().members;
    members.binary_search(&pe).ok().map(|index| index as u32)
}

/// Ends this process if its launcher is gone: nobody else would, and those it waits for are ending too.
pub(crate) fn end_if_orphaned() {
    if let Some(job) = JOB.get() {
        job.end_if_orphaned();
    }
}

/// A PE among those that a wait needs which has ended without finalize.
pub(crate) fn gone_among(needs: Needs<'_>) -> Option<u32> {
    match needs {
        Needs::Anyone => None,
        Needs::One(pe) => gone(std::iter::once(pe)),
        Needs::Team(team) => gone((0..team.size).map(|member| team.world(member))),
    }
}

fn gone(pes: impl Iterator<Item = u32> + Clone) -> Option<u32> {
    let is_gone = |window: u32| ControlBlock::of(window).state() == State::Gone;
    let on_node = pes.clone().find(|pe| window_of(*pe).is_some_and(is_gone));
    on_node.or_else(|| network::gone_among(JOB.get()?, pes.filter(|pe| window_of(*pe).is_none())))
}

/// Whether `address` lies in the part of the caller's heap that is reserved, allocated or not.
pub(crate) fn in_heap_reservation(address: usize) -> bool {
    let (start, _) = FAST.heap.own();
    life().is_some_and(|life| {
        let heap = life.heap.lock().unwrap_or_else(PoisonError::into_inner);
        (address.wrapping_sub(start) as u64) < heap.capacity()
    })
}

/// At `SHMEM_CHECK=2`: the object must lie inside one allocated block.
pub(crate) fn check_block(call: &'static str, address: usize, bytes: usize) {
    let Some(life) = life().filter(|life| life.settings.check >= 2) else { return };
    let (start, _) = FAST.heap.own();
    let heap = life.heap.lock().unwrap_or_else(PoisonError::into_inner);
    let problem = heap.outside_block((address - start) as u64, bytes as u64);
    drop(heap);
    if let Some(why) = problem {
        crate::diagnose::fail(
            &Error::new(format!("{call}: {bytes} bytes at {address:#x} are not inside one allocated block"))
                .because(why)
                .fix("check the length of the transfer against the size that was allocated"),
        );
    }
}
