//! The functions that wrappers call. Each thread has a ledger of its own, whose address the wrappers keep in a variable of the thread.

use std::ffi::{c_int, c_void};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::Release};

use oxshmem_base::{Error, output, size};
use oxshmem_os::process;
use oxshmem_profile::layout::{self, RoutineKind};
use parking_lot::Mutex;

use crate::folder::{LedgerFolder, folder};
use crate::library::{self, library};
use crate::routine::{Begun, WrappedRoutine};
use crate::teams::{self, TeamEntry};
use crate::ticks;
use crate::writer::{OpenLedger, Timing};

/// The most ledgers of a PE.
const MOST_THREADS: u64 = 256;

/// Whether ledgers can be opened: the library has been initialised, and the first of them could be made.
static ALIVE: AtomicBool = AtomicBool::new(false);
/// Whether [`begin`] has run in this process.
static BEGUN: AtomicBool = AtomicBool::new(false);
/// Whether the program has switched recording off.
static PAUSED: AtomicBool = AtomicBool::new(false);
static THREADS: AtomicU64 = AtomicU64::new(0);
/// The first call of init, before there is a ledger: routine and caller.
static FIRST: Mutex<Option<(&'static WrappedRoutine, usize)>> = Mutex::new(None);

unsafe extern "C" {
    /// Takes the ledger from the calling thread.
    fn oxprof_detach();
}

extern "C" fn in_child() {
    // The ledgers are the parent's.
    ALIVE.store(false, Relaxed);
    // SAFETY: the function sets a variable of this thread.
    unsafe { oxprof_detach() }
}

/// The ledger of the calling thread, or null as long as there is nothing to be recorded. Finds the library's routines first. A thread
/// whose first call comes after the last finalize has none: the library does not know its PE any more.
///
/// A program may define the routine of init itself, as the standard lets tools do, and call it by its profiling name. Then the first call
/// that finds the library initialised begins the records, unless an init that is recorded is under way.
#[unsafe(no_mangle)]
extern "C" fn oxprof_attach() -> *mut OpenLedger {
    let library = library();
    let Some(folder) = folder().filter(|_| library.is_initialized()) else { return std::ptr::null_mut() };
    // Another thread may be in the middle of that init.
    if !BEGUN.load(Relaxed) && FIRST.lock().is_none() && library.has_teams() {
        know_predefined_teams();
        begin(folder);
    }
    if ALIVE.load(Relaxed) { open(folder) } else { std::ptr::null_mut() }
}

/// They come before all that splits make.
fn know_predefined_teams() {
    for team in library().predefined() {
        teams::of_team(team);
    }
}

/// Lets ledgers be opened.
fn begin(folder: &LedgerFolder) {
    BEGUN.store(true, Relaxed);
    if !ALIVE.swap(true, Relaxed) {
        folder.keep_for_this_process();
        // SAFETY: the function is part of this library, which is never unloaded.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        if library::has_race_detector() {
            tell_unwatched();
        }
    }
}

/// A new ledger.
fn open(folder: &LedgerFolder) -> *mut OpenLedger {
    let thread = THREADS.fetch_add(1, Relaxed);
    if thread >= MOST_THREADS {
        // Reported once: the thread asks again at its next call, and gets a higher number.
        if thread == MOST_THREADS {
            tell_left_out();
        }
        return std::ptr::null_mut();
    }
    let since = if thread == 0 { folder.since } else { ticks::both() };
    match OpenLedger::create(&folder.path, library(), thread, folder.room, since) {
        Ok(ledger) => Box::into_raw(Box::new(ledger)),
        Err(error) => {
            unrecorded(folder, thread, &error);
            ALIVE.store(false, Relaxed);
            std::ptr::null_mut()
        }
    }
}

/// Says that the race detector, with which the program was linked, sees none of its calls: the wrappers come first, and call the library.
#[cold]
fn tell_unwatched() {
    if library().place().0 == 0 {
        let message = Error::new("races are not looked for in this job")
            .because("its calls are recorded, and the race detector sees none of them")
            .fix("run it without --profile and --trace to find races, and record it compiled without --race: the detector takes time");
        process::say(&format!("oxshmem: {message}\n"));
    }
}

/// Says that calls of further threads are in no ledger.
#[cold]
fn tell_left_out() {
    let (pe, _) = library().place();
    let message = Error::new(format!("PE {pe} is recorded in part"))
        .because(format!("more than {MOST_THREADS} of its threads call the library, and each has a file of its own"))
        .fix("let the program use the same threads again and again, as a pool does");
    process::say(&format!("oxshmem: {message}\n"));
}

/// How there is room for a ledger.
fn remedy(folder: &Path, error: &std::io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EFBIG) => "raise the limit of file sizes (ulimit -f)",
        // The directory that the user has named takes the records only when the job ends.
        _ if layout::is_gathering_folder(folder) => {
            "make room there, or set TMPDIR to a directory with room, on every host: there agents keep records until the job ends"
        }
        _ => "make room there, or name another directory: oshrun --profile=DIR, or --trace=DIR/FILE",
    }
}

/// Says that a thread has no ledger, and leaves a file whose name tells it to the launcher.
#[cold]
fn unrecorded(folder: &LedgerFolder, thread: u64, error: &std::io::Error) {
    let (pe, pes) = library().place();
    let bytes = 8 * layout::events(pes as usize, folder.room).end() as u64;
    let (fix, path) = (remedy(&folder.path, error), folder.path.display());
    let message = Error::new(format!("PE {pe} is not recorded"))
        .because(format!("a file of {} for its calls cannot be kept in {path}: {error}", size::display(bytes)))
        .fix(fix);
    process::say(&format!("oxshmem: {message}\n"));
    let number = error.raw_os_error().unwrap_or(libc::EIO);
    let name = format!("pe.{pe}.{thread}.{number}.{}", layout::UNRECORDED);
    // If even the name cannot be kept, the message above is the only report.
    let _ = output::fresh(&folder.path.join(name));
}

/// Begins the record of a call.
#[unsafe(no_mangle)]
extern "C" fn oxprof_begin(
    mine: Option<&mut OpenLedger>,
    routine: &'static WrappedRoutine,
    caller: *const c_void,
) -> Begun {
    match mine {
        Some(ledger) if !PAUSED.load(Relaxed) => ledger.begin(routine, caller as usize),
        _ => Begun::default(),
    }
}

/// Begins the record of a call of init, before which there is no ledger.
#[unsafe(no_mangle)]
extern "C" fn oxprof_open(
    mine: Option<&mut OpenLedger>,
    routine: &'static WrappedRoutine,
    caller: *const c_void,
) -> Begun {
    library();
    if mine.is_some() {
        return oxprof_begin(mine, routine, caller);
    }
    if folder().is_some() {
        *FIRST.lock() = Some((routine, caller as usize));
    }
    Begun { start: ticks::now(), ..Begun::default() }
}

/// Ends the record of init, and opens the ledger. Returns it.
#[unsafe(no_mangle)]
extern "C" fn oxprof_begin_life(mine: Option<&mut OpenLedger>, call: Begun) -> *mut OpenLedger {
    let Some(folder) = folder() else { return std::ptr::null_mut() };
    if !library().is_initialized() {
        // `shmem_init_thread` has failed and said why. The PE is in no job: it has no number, and meets nobody.
        *FIRST.lock() = None;
        let Some(ledger) = mine else { return std::ptr::null_mut() };
        ledger.finish(call, RoutineKind::Collective, 0, None);
        return ledger;
    }
    know_predefined_teams();
    if let Some(ledger) = mine {
        ledger.go_on();
        meet(ledger, call, teams::of_team(library().world()), 0);
        return ledger;
    }
    begin(folder);
    let address = open(folder);
    // SAFETY: `open` returns null or a ledger that no other thread has.
    if let (Some(ledger), Some((routine, caller))) = (unsafe { address.as_mut() }, FIRST.lock().take()) {
        let begun = ledger.begin(routine, caller);
        meet(ledger, Begun { start: call.start, ..begun }, teams::of_team(library().world()), 0);
    }
    address
}

/// Ends the record of finalize. After the last one of a life no handle is valid.
#[unsafe(no_mangle)]
extern "C" fn oxprof_end_life(mine: Option<&mut OpenLedger>, call: Begun) {
    let is_over = !library().is_initialized();
    if let Some(ledger) = mine {
        meet(ledger, call, teams::of_team(library().world()), 0);
        if is_over {
            ledger.end();
        }
    }
    if is_over {
        teams::forget_all();
    }
}

/// The process exits. A life that `start_pes` has begun is over then, and the program has made no call that says so.
#[unsafe(no_mangle)]
extern "C" fn oxprof_leave(mine: Option<&mut OpenLedger>) {
    if let Some(ledger) = mine.filter(|ledger| !ledger.has_ended() && !library().is_initialized()) {
        ledger.end();
    }
}

/// Records a call that ends the job.
#[unsafe(no_mangle)]
extern "C" fn oxprof_exit(mine: Option<&mut OpenLedger>, call: Begun) {
    let Some(ledger) = mine else { return };
    ledger.finish(call, RoutineKind::Other, 0, None);
    ledger.end();
}

/// Ends the record of a call of which only the number of bytes is known.
#[unsafe(no_mangle)]
extern "C" fn oxprof_call(mine: Option<&mut OpenLedger>, call: Begun, category: u32, bytes: u64) {
    if let Some(ledger) = mine {
        ledger.finish(call, RoutineKind::of(category.into()).unwrap_or(RoutineKind::Other), bytes, None);
    }
}

/// The team of a context. It is a function of its own, so that calls on the default context save no registers for it.
#[inline(never)]
fn team_of(ledger: &mut OpenLedger, context: usize) -> Option<&'static TeamEntry> {
    ledger.team(context, || teams::of_context(context))
}

/// Ends the record of a transfer or an atomic. `word`: the address that its target may wait for.
#[unsafe(no_mangle)]
extern "C" fn oxprof_transfer(
    mine: Option<&mut OpenLedger>,
    call: Begun,
    context: *const c_void,
    pe: c_int,
    way: u32,
    bytes: u64,
    word: *const c_void,
) {
    let Some(ledger) = mine else { return };
    if call.site == 0 {
        return;
    }
    let context = context as usize;
    let (team, peer) = if library().is_default(context) {
        (None, Some(pe as u32))
    } else {
        let team = team_of(ledger, context);
        (team, teams::world_number(team, pe))
    };
    let category = if way == 2 { RoutineKind::Atomic } else { RoutineKind::Transfer };
    let timing = ledger.finish(call, category, bytes, peer);
    if let Some(team) = team {
        ledger.of_team(team, bytes, timing);
    }
    let Some(peer) = peer else { return };
    ledger.traffic(peer, way as usize, bytes, timing);
    if !word.is_null() {
        ledger.update(peer, word as u64);
    }
}

/// Ends the record of a collective of a team.
#[unsafe(no_mangle)]
extern "C" fn oxprof_team(mine: Option<&mut OpenLedger>, call: Begun, team: *const c_void, bytes: u64) {
    let Some(ledger) = mine else { return };
    let handle = team as usize;
    let team = ledger.team(handle, || teams::of_team(handle));
    meet(ledger, call, team, bytes);
}

/// Ends the record of a collective of an active set.
#[unsafe(no_mangle)]
extern "C" fn oxprof_set(
    mine: Option<&mut OpenLedger>,
    call: Begun,
    start: c_int,
    stride: c_int,
    size: c_int,
    bytes: u64,
) {
    if let Some(ledger) = mine {
        meet(ledger, call, teams::of_set(start, stride, size), bytes);
    }
}

/// Ends the record of a meeting of all PEs. `address`: that of a block of the heap.
#[unsafe(no_mangle)]
extern "C" fn oxprof_world(mine: Option<&mut OpenLedger>, call: Begun, bytes: u64, address: *const c_void) {
    let Some(ledger) = mine else { return };
    if !address.is_null() {
        ledger.heap(address as u64, library().heap_high_water());
    }
    let world = library().world();
    let team = ledger.team(world, || teams::of_team(world));
    meet(ledger, call, team, bytes);
}

/// Counts the meeting, recorded or not: all members give it the same number.
fn meet(ledger: &mut OpenLedger, call: Begun, team: Option<&'static TeamEntry>, bytes: u64) {
    let number = team.map(|team| team.meetings.fetch_add(1, Relaxed));
    let timing: Option<Timing> = ledger.finish(call, RoutineKind::Collective, bytes, None);
    if let (Some(team), Some(number), true) = (team, number, call.site != 0) {
        ledger.of_team(team, bytes, timing);
        ledger.meeting(team, call, number, timing);
    }
}

/// Ends the record of a wait for a variable; null if it is not known which one of several has ended it.
#[unsafe(no_mangle)]
extern "C" fn oxprof_wait(mine: Option<&mut OpenLedger>, call: Begun, address: *const c_void) {
    if let Some(ledger) = mine.filter(|_| call.site != 0) {
        let timing = ledger.finish(call, RoutineKind::Waiting, 0, None);
        if !address.is_null() {
            ledger.wait(address as u64, timing);
        }
    }
}

/// A split has made a team, or none. Teams of the same members get their numbers in the order of their splits, which is the same on
/// all members, and not in that of their first uses.
#[unsafe(no_mangle)]
extern "C" fn oxprof_born(mine: Option<&mut OpenLedger>, team: *const c_void) {
    if mine.is_some() {
        teams::of_team(team as usize);
    }
}

/// Forgets a handle that the program is about to give back.
#[unsafe(no_mangle)]
extern "C" fn oxprof_forget(handle: *const c_void) {
    teams::forget(handle as usize);
}

/// `shmem_pcontrol`: level 0 switches recording off, every other one on.
#[unsafe(no_mangle)]
extern "C" fn oxprof_control(level: c_int) {
    PAUSED.store(level == 0, Release);
}

/// The handle that a Fortran program's integer stands for.
#[unsafe(no_mangle)]
extern "C" fn oxprof_fortran_team(handle: i64) -> *const c_void {
    library().fortran_team(handle) as *const c_void
}

/// How many members a team has.
#[unsafe(no_mangle)]
extern "C" fn oxprof_members(team: *const c_void) -> c_int {
    library().size(team as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_for_records_is_made_where_they_are_kept() {
        let full = || std::io::Error::from_raw_os_error(libc::ENOSPC);
        let told = |folder: &str| remedy(Path::new(folder), &full());
        assert!(told("profile").contains("--profile=DIR"));
        let of_an_agent = Path::new("/mnt").join(layout::gathering_folder("0123.1"));
        let told = remedy(&of_an_agent, &full());
        assert!(told.contains("TMPDIR") && !told.contains("--profile"), "{told}");
    }
}
