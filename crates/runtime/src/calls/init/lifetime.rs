//! The life of the library in a process: from the first init to the last finalize, perhaps more than once.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use oxshmem_base::knobs::{self, Settings};
use oxshmem_base::{Error, planted};
use oxshmem_bootstrap::Membership;
use oxshmem_flight::calls::RingWriters;
use oxshmem_os::{bystanders, descriptors, process, signals, statics};
use oxshmem_transport::{Features, progress_thread};
use parking_lot::{Mutex, MutexGuard};

use crate::calls::{order, request};
use crate::collectives::choice::Choice;
use crate::collectives::signature::CallKind;
use crate::collectives::{active_set, missed_broadcasts};
use crate::diagnosis::{deadlock, debug, errors, outside};
use crate::memory::control::{self, ControlBlock, State};
use crate::memory::direct::FAST;
use crate::memory::windows;
use crate::network::{connect, lane};
use crate::start::job::{self, MY_PE, N_PES};
use crate::start::left_behind;
use crate::start::placement;
use crate::start::state::{self, LibraryState, OtherCalls};
use crate::start::threads::{self, MULTIPLE};
use crate::teams::context::ContextHandle;
use crate::teams::members::Members;
use crate::teams::team::{TeamHandle, TeamLeases, TeamState};
use crate::teams::{leasing, live_contexts, live_teams, valid_handles};
use crate::wait::pace;
use crate::{collectives, network};

/// Records the PE's calls from now on if that is `wanted`, and `SHMEM_RECORDER` does not forbid it.
pub(crate) fn record(wanted: bool) {
    let Some(life) = state::current() else { return };
    ControlBlock::own().call_words().calls.begin_recording(match life.thread_level {
        _ if !wanted || !life.settings.recorder => RingWriters::Nobody,
        MULTIPLE => RingWriters::Many,
        _ => RingWriters::One,
    });
}

/// How many inits are not yet finalized.
static INITS: Mutex<u32> = Mutex::new(0);
/// The number of the thread that is in an init or a finalize; 0: none is. A thread compares it with its own number alone.
static INSIDE: AtomicU32 = AtomicU32::new(0);
/// Whether `start_pes` began this life, so that process exit ends it.
static ENDS_AT_EXIT: AtomicBool = AtomicBool::new(false);
/// Whether the process has begun to exit.
static EXITS: AtomicBool = AtomicBool::new(false);
/// Whether it has begun to exit while a thread was in an init or a finalize, which may not end any more.
static EXITS_INSIDE: AtomicBool = AtomicBool::new(false);

/// Begins a life or deepens it. Returns the granted thread level.
pub(crate) fn init(requested: c_int) -> Result<c_int, Error> {
    // Another thread may have held the lock at the moment of the fork.
    if job::is_forked_child() {
        return Err(errors::forked("shmem_init"));
    }
    let Some(mut inits) = InitCount::of_caller() else {
        return Err(Error::new("shmem_init: this thread is in shmem_init or shmem_finalize already")
            .because("a handler of a signal has interrupted that call, which cannot end before the handler does")
            .fix("let handlers of signals make no calls of OpenSHMEM but shmem_global_exit"));
    };
    if *inits.0 > 0 {
        *inits.0 += 1;
        return Ok(state::current().map_or(requested, |life| life.thread_level));
    }
    // The program may have closed them since it was started.
    descriptors::occupy_standard_streams();
    let (settings, warnings) = Settings::from_env()?;
    let before = deadlock::before_init();
    let job = job::join(&settings, leave, super::forked_child::leave_to_parent)?;
    if job.rank() == 0 {
        greet(&settings, &warnings);
    }
    begin(job, settings, requested).unwrap_or_else(|error| errors::fail(&error));
    deadlock::after_init(before);
    *inits.0 = 1;
    Ok(requested)
}

/// How many inits are not yet finalized, for a thread that is in an init or a finalize.
struct InitCount(MutexGuard<'static, u32>);

impl InitCount {
    /// `None`: the calling thread is in one already, and would wait for itself. A handler of a signal has interrupted it.
    fn of_caller() -> Option<Self> {
        let me = bystanders::thread_number();
        if INSIDE.load(Relaxed) == me {
            return None;
        }
        let count = Self(INITS.lock());
        INSIDE.store(me, Relaxed);
        Some(count)
    }
}

impl Drop for InitCount {
    fn drop(&mut self) {
        INSIDE.store(0, Relaxed);
    }
}

/// The lines that PE 0 prints at the start (INIT-13), and the warnings about the environment.
fn greet(settings: &Settings, warnings: &[String]) {
    for warning in warnings {
        errors::note(warning);
    }
    if settings.version {
        let (major, minor) = (crate::MAJOR_VERSION, crate::MINOR_VERSION);
        process::print(&format!("{} (OpenSHMEM {major}.{minor})\n", crate::VENDOR));
    }
    if settings.info_lists {
        process::print(&knobs::listing());
    }
}

fn begin(job: &'static Membership, settings: Settings, thread_level: c_int) -> Result<(), Error> {
    let epoch = state::next();
    left_behind::collect();
    process::prefer_as_victim();
    debug::enable(settings.debug, job.rank());
    job.hand_on(false);
    let node = job.node();
    oxshmem_reduce::select();
    let choice = Choice::new(&settings)?;
    connect::announce(job, epoch)?;
    statics::refuse_harmful_forks_by(errors::fail);
    let (windows, heap, circle) = windows::open(job, epoch, &settings)?;
    connect::open(job, epoch, &settings, &windows, &circle)?;
    if let Some(capabilities) = network::capabilities() {
        pace::expect_network(capabilities.features.contains(Features::COSTLY_LOOKS));
    }
    // The nodes of one machine share its processors. How many PEs they have together is not known, and all are the most.
    let sharing = if network::is_crowded_host() { job.size() as usize } else { node.members.len() };
    let processors = windows.quarters().processors();
    pace::share_processors(sharing, processors);
    progress_thread::share_processors(sharing > processors);
    threads::begin(thread_level);
    live_contexts::begin();
    live_teams::begin();
    active_set::begin(node.members.len() as u32, node.my_index as u32);
    state::begin(LibraryState { settings, thread_level, choice, heap: Mutex::new(heap), windows });
    let world = fill_predefined_handles(job);
    MY_PE.store(job.rank() as i32, Relaxed);
    N_PES.store(job.size() as i32, Relaxed);
    let checked = state::is_checked();
    if !checked {
        FAST.believe_handles();
    }
    if checked || network::is_open() {
        FAST.order_more();
    }
    if network::takes_turns() {
        FAST.take_turns();
    } else if !checked && !job::is_scattered() {
        FAST.open(job::first_of_node(), node.members.len() as u32, !network::does_atomics());
    }
    deadlock::begin();
    record(true);
    ControlBlock::own().set_state(State::Running);
    collectives::agree_on_choice(world, "shmem_init");
    crate::calls::memory::agree_on_capacity(world, "shmem_init");
    print_info(job);
    tracing::debug!(pes = job.size(), epoch, "initialised");
    Ok(())
}

/// Makes the predefined teams and the default context. Returns the world.
fn fill_predefined_handles(job: &Membership) -> &'static TeamState {
    let node = job.node();
    let all = TeamState::new(Members::Triplet { start: 0, stride: 1 }, job.size(), job.rank(), 0, 0);
    let world = TeamHandle::world().fill(Box::new(all.holding(leasing::begin())));
    // The two first leases of the world, on all PEs alike, with what the world hands down to the children of these teams.
    for team in [TeamHandle::shared(), TeamHandle::node()] {
        if let Some(mut lease) = leasing::lease_beyond_limit("shmem_init", world, true) {
            let held = TeamLeases::inherited(&mut lease);
            let members = Members::of(node.members.clone().into_boxed_slice());
            let (size, my) = (node.members.len() as u32, node.my_index as u32);
            team.fill(Box::new(TeamState::new(members, size, my, lease.slot.into(), 0).holding(held)));
        }
    }
    ContextHandle::default_context().fill(world);
    world
}

/// The lines of `SHMEM_INFO`, which PE 0 prints: the job, its memory and network, where the PEs are, the choice of collectives.
fn print_info(job: &Membership) {
    let Some(life) = state::current().filter(|life| life.settings.info && job.rank() == 0) else { return };
    let (n, count) = (job.size(), job.node().count);
    let (pes, nodes) = (if n == 1 { "PE" } else { "PEs" }, if count == 1 { "node" } else { "nodes" });
    let (launcher, heap) = (job.protocol(), crate::calls::memory::describe());
    let between = network::describe().map_or_else(String::new, |network| format!("; between nodes: {network}"));
    process::print(&format!(
        "oxshmem: {n} {pes} on {count} {nodes}; launcher: {launcher}; on the node: {heap}{between}\n"
    ));
    process::print(&format!("oxshmem: {}\n", placement::describe()));
    process::print(&format!("{}\n", life.choice.describe(n, count)));
}

/// Takes back one init; the last one ends the life. The child of a fork has none to end: it gets a message, and goes on.
pub(crate) fn finalize(call: &'static str, others: OtherCalls) {
    if job::is_forked_child() {
        return errors::ignored_in_child(call);
    }
    if EXITS_INSIDE.load(Relaxed) {
        return;
    }
    // Nothing is said either: what the handler has interrupted may hold the lock of the standard error.
    let Some(mut inits) = InitCount::of_caller() else { return };
    match *inits.0 {
        // The exit has been the finalize of a program that began with `start_pes`.
        0 if EXITS.load(Relaxed) => {}
        0 => {
            // The exit of the process, meanwhile, would take the lock for that of an init or a finalize.
            drop(inits);
            outside::nothing_to_end(call);
        }
        1 => {
            request::complete_all(call);
            // After this barrier a PE no longer serves its peers.
            lane::complete_all(call);
            if planted!("leaves-without-meeting", true, false) {
                order::barrier_all_named(call, CallKind::Finalize);
                missed_broadcasts::demand_all_taken(call);
                active_set::demand_all_taken(call);
            }
            crate::calls::memory::list_leaks(call);
            end(others);
            request::end_all();
            *inits.0 = 0;
        }
        _ => {
            order::barrier_all_named(call, CallKind::InnerFinalize);
            *inits.0 -= 1;
        }
    }
}

/// Frees everything that `begin` made. The caller has synchronised the world.
fn end(others: OtherCalls) {
    ENDS_AT_EXIT.store(false, Relaxed);
    let has_network = network::is_open();
    if has_network {
        deadlock::end();
        // The messages of the last synchronisation must arrive, and be acknowledged, before any PE stops serving.
        ContextHandle::default_context().quiet("shmem_finalize");
        lane::complete("shmem_finalize");
        network::with_turns(|turns| turns.step_out());
        let met = job::joined().filter(|_| planted!("leaves-without-meeting", true, false)).map(Membership::last_fence);
        if let Some(Err(error)) = met {
            errors::fail(&error);
        }
    }
    if let Some(job) = job::joined() {
        job.leaves();
    }
    if has_network {
        connect::close(others);
    }
    if let Some(job) = job::joined() {
        job.hand_on(true);
    }
    ControlBlock::own().set_state(State::Finalized);
    active_set::end();
    FAST.close();
    control::close();
    MY_PE.store(-1, Relaxed);
    N_PES.store(-1, Relaxed);
    ContextHandle::default_context().clear();
    for team in [TeamHandle::world(), TeamHandle::shared(), TeamHandle::node()] {
        // SAFETY: after the last finalize no call may use a team or a context (the standard calls it undefined); a thread that uses
        // statics may still look at the world's, which is left to it then.
        let state = unsafe { team.delist("shmem_finalize") };
        if let (Some(state), OtherCalls::MayUseStatics) = (state, others) {
            left_behind::leave(move || drop(state));
        }
    }
    live_teams::end().into_iter().for_each(|team| team.handle().abandon());
    valid_handles::end_all("shmem_finalize");
    // SAFETY: `begin` has stored a life, because one init is not finalized, and this thread holds `INITS`. The program promises for its
    // last finalize that no other call runs but what `others` says.
    unsafe { state::end(others) };
    left_behind::settle();
    tracing::debug!("finalized");
}

/// `start_pes` began this life.
pub(crate) fn end_at_exit() {
    ENDS_AT_EXIT.store(true, Relaxed);
}

/// Whether the program has begun to exit before its last finalize. The thread that runs the functions of `atexit` writes and reads it.
static LEFT_OPEN: AtomicBool = AtomicBool::new(false);

/// The loader calls what stands in this section before `main`, and before the constructors of the program.
#[used]
#[unsafe(link_section = ".init_array.00099")]
static BEFORE_MAIN: extern "C" fn() = watch_the_end;

/// Has [`leave_last`] called at the exit of the process. What is registered first is called last, so it comes after everything that
/// the program registers before its init: functions of `atexit`, destructors of C++.
extern "C" fn watch_the_end() {
    // SAFETY: `leave_last` is a function of this library, which is never unloaded.
    unsafe { libc::atexit(leave_last) };
}

/// How long a PE that exits with a failure waits in the finalize of `start_pes` for the others. If the program has come to its end, they
/// are about to come. If not, they may wait for this PE, which they would do for ever. The launcher lets others outlive a PE that fails
/// after its finalize for as long.
const LAST_MEETING: Duration = Duration::from_secs(2);

/// The finalize of a program of `start_pes`, which exits with this status. Where that is a failure and the others do not come, the process
/// ends without having met them.
fn finalize_at_exit(status: c_int) {
    let (meeting, is_over) = mpsc::channel::<()>();
    let watch = move || {
        if is_over.recv_timeout(LAST_MEETING) == Err(RecvTimeoutError::Timeout) {
            process::exit_now(status);
        }
    };
    // Parents read 8 bits of a status.
    let is_failure = status & 0xff != 0;
    if is_failure && signals::keeping_signals(|| std::thread::Builder::new().spawn(watch)).is_err() {
        return;
    }
    finalize("shmem_finalize", OtherCalls::Done);
    drop(meeting);
}

/// Runs when the process exits by `exit` or by returning from `main`. Runs no collective, except for the programs of
/// `start_pes`, which have no finalize (INIT-8).
extern "C" fn leave(status: c_int, _: *mut c_void) {
    if !job::is_this_process() {
        return;
    }
    // Another thread is in an init or a finalize, or a handler of a signal has interrupted one. It may hold this lock and that of the
    // launcher's wire for ever. The PE has not ended properly then, which its peers and its launcher see by themselves. What the program
    // has registered before its init, as destructors of C++, may finalize still.
    if INITS.is_locked() {
        EXITS_INSIDE.store(true, Relaxed);
        return;
    }
    EXITS.store(true, Relaxed);
    if state::is_open() && ENDS_AT_EXIT.load(Relaxed) {
        finalize_at_exit(status);
    }
    if state::is_open() {
        // Functions that the program has registered before its init may finalize still.
        network::drain_before_exit();
        LEFT_OPEN.store(true, Relaxed);
    } else if let Some(job) = job::joined() {
        job.done();
    }
}

/// Runs when nothing of the program can finalize any more.
extern "C" fn leave_last() {
    if !LEFT_OPEN.load(Relaxed) || !job::is_this_process() {
        return;
    }
    let Some(job) = job::joined() else { return };
    if state::is_open() {
        ControlBlock::own().set_state(State::Gone);
        network::say_gone(job);
    } else {
        job.done();
    }
}
