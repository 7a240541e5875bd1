//! The beginning, and the level of threads that the program asks for: whether its threads call as the level allows.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

use oxshmem_os::process;
use oxshmem_race::{LastCall, Site};
use parking_lot::Mutex;

use crate::hooks::{hook, site, with};
use crate::standard::WatchedLibrary;
use crate::{forks, node, report, standard, threads};

const SINGLE: c_int = 0;
const FUNNELED: c_int = 1;
const SERIALIZED: c_int = 2;

/// The level of `shmem_init_thread`; any other value allows everything.
static LEVEL: AtomicI32 = AtomicI32::new(-1);
/// The last call of any thread.
static LAST: Mutex<Option<LastCall>> = Mutex::new(None);

/// The library is initialised.
///
/// # Safety
/// `library` points to a table that is filled and lives as long as the process. All PEs call, one thread of each.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn race_begin_with(library: *const WatchedLibrary) {
    // SAFETY: the caller promises that the library is filled and lives as long as the process.
    unsafe { standard::watch(library) };
    if node::current().is_some() {
        return;
    }
    forks::begin();
    *LAST.lock() = None;
    threads::forget_all();
    node::open();
    threads::begin_first();
    let mut level = -1;
    // SAFETY: the library answers into our variable.
    unsafe { standard::pshmem_query_thread(&mut level) };
    LEVEL.store(level, Relaxed);
}

/// The library is initialised, and the detector was not called.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
extern "C" fn race_unwatched() {
    let why =
        "the program has called init by its profiling name, such as pshmem_init, and the detector begins in shmem_init";
    process::say(&format!("oxshmem: {}\n", node::unchecked(why)));
}

hook! {
    fn race_called(pc: *const c_void, call: u16) |node, strand| {
        match LEVEL.load(Relaxed) {
            level @ (SINGLE | FUNNELED) if !threads::is_first() => {
                let level = if level == SINGLE { "SHMEM_THREAD_SINGLE" } else { "SHMEM_THREAD_FUNNELED" };
                report::level(node, level, strand.name(), site(node, pc, call), None);
            }
            SERIALIZED => {
                let site: Site = site(node, pc, call);
                let earlier = strand.call_alone(&mut LAST.lock(), site);
                if let Some(earlier) = earlier {
                    report::level(node, "SHMEM_THREAD_SERIALIZED", strand.name(), site, Some(earlier));
                }
            }
            _ => {}
        }
    }
}
