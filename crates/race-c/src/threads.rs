//! The strand that the caller is.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed, Ordering::Release, fence};

use oxshmem_race::JoinableThreads;
use parking_lot::Mutex;

use crate::node::{self, RaceNode};
use crate::standard;

/// The strand that a thread is in one life of the library. Threads may live longer than that.
#[derive(Clone, Copy)]
struct StrandOfLife {
    strand: usize,
    life: u32,
}

/// No life has this number.
const NO_LIFE: u32 = 0;

thread_local! {
    static STRAND: Cell<StrandOfLife> = const { Cell::new(StrandOfLife { strand: 0, life: NO_LIFE }) };
    /// The life that the thread has begun by initialising the library.
    static BEGUN: Cell<u32> = const { Cell::new(NO_LIFE) };
    /// Whether the thread is in the detector, where it may hold locks.
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// The caller is in the detector while this lives.
pub(crate) struct InsideDetector(());

/// Steps into the detector. `None`: the thread is there already. Then a handler of a signal has interrupted it, and calls: it must not wait
/// for a lock that the thread holds.
#[inline]
pub(crate) fn step_inside() -> Option<InsideDetector> {
    if IS_INSIDE.replace(true) {
        return None;
    }
    Some(InsideDetector(()))
}

impl Drop for InsideDetector {
    fn drop(&mut self) {
        // The program's next store comes behind what the detector has written: a PE that has awaited its value looks for that.
        fence(Release);
        IS_INSIDE.set(false);
    }
}

/// Not 0 as soon as the PE has had several strands: the shim looks at it before it tells of the program's own synchronisation.
// SAFETY: no other object has this name; the shim reads it as the atomic it is.
#[unsafe(no_mangle)]
static race_threaded: AtomicU32 = AtomicU32::new(0);

/// The strands of threads that may be joined, by the thread's handle.
static THREADS: Mutex<Option<JoinableThreads>> = Mutex::new(None);

/// The caller is in the detector meanwhile: a handler of a signal on a thread that is no strand yet would make it one, and wait for the lock.
fn with_threads<R>(work: impl FnOnce(&mut JoinableThreads) -> R) -> R {
    let _inside = step_inside();
    let mut threads = THREADS.lock();
    work(threads.get_or_insert_default())
}

/// The number of the present life.
fn life() -> u32 {
    node::current().map_or(NO_LIFE, |node| node.life)
}

/// The number of the caller's strand.
#[inline]
pub(crate) fn current(node: &RaceNode) -> usize {
    match STRAND.get() {
        own if own.life == node.life => own.strand,
        _ => adopt(node),
    }
}

/// A thread of which nothing is known in this life becomes a strand. It is older than the life, so no call has named its strand.
#[cold]
fn adopt(node: &RaceNode) -> usize {
    let before = STRAND.get();
    // If an OpenMP runtime does not report its threads, they count as the first thread, in each life. A thread that has begun an earlier
    // life itself is another one now.
    if before.life != NO_LIFE && before.strand == 0 && BEGUN.get() == NO_LIFE {
        STRAND.set(StrandOfLife { strand: 0, life: node.life });
        return 0;
    }
    // The detector does not see the locks of Rust's library, so its threads count as one: it does not report what they may order.
    if standard::in_rust() {
        STRAND.set(StrandOfLife { strand: 0, life: node.life });
        return 0;
    }
    are_several();
    let strand = node.detector.adopt();
    STRAND.set(StrandOfLife { strand, life: node.life });
    add_this(strand as u32);
    strand
}

/// The caller is another strand from now on. Returns its number before, or one that no strand has if it was none.
pub(crate) fn become_strand(strand: usize) -> usize {
    // A handler of a signal in between gives the shim no view of the strand that was before.
    let _inside = step_inside();
    standard::is_another();
    let life = life();
    let before = STRAND.replace(StrandOfLife { strand, life });
    if before.life == life { before.strand } else { usize::MAX }
}

/// The PE has several strands.
pub(crate) fn are_several() {
    race_threaded.store(1, Relaxed);
}

/// Leaves the strands to the parent of this process, the child of a fork: the shim tells nothing more of the program's synchronisation.
pub(crate) fn leave_to_parent() {
    race_threaded.store(0, Relaxed);
}

/// The caller has initialised the library, and this life has begun.
pub(crate) fn begin_first() {
    // A handler of a signal may have made the thread a strand since the life was opened. In between it makes none.
    let _inside = step_inside();
    standard::is_another();
    let life = life();
    STRAND.set(StrandOfLife { strand: 0, life });
    BEGUN.set(life);
    // It need not be the program's first thread, so another thread may join it.
    add_this(0);
}

/// The caller may be joined by its handle.
fn add_this(strand: u32) {
    with_threads(|threads| threads.add(standard::this_thread(), strand));
}

/// Whether the caller has initialised the library, in whatever strand it is now.
pub(crate) fn is_first() -> bool {
    BEGUN.get() == life()
}

/// A thread that may be joined has this handle, says the thread itself as it begins, or the one that has made it. Returns whether the caller
/// is the second of both.
///
/// # Safety
/// `is_known` is false at first, stays until both have called, and is used by nobody else.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
unsafe extern "C" fn race_thread_made(thread: u64, strand: u32, is_known: *mut bool) -> bool {
    // SAFETY: the caller promises that it is there, and that only this function uses it: one thread at a time, under the lock.
    with_threads(|threads| threads.add_once(thread, strand, unsafe { &mut *is_known }))
}

/// The thread with this handle is about to be detached.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
extern "C" fn race_thread_detached(thread: u64) {
    with_threads(|threads| threads.forget(thread));
}

/// The thread that the caller is about to join, as far as it is known.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
extern "C" fn race_thread_known(thread: u64) -> u64 {
    with_threads(|threads| threads.known(thread))
}

/// The strand of a thread that the caller has joined; `known` is the answer of [`race_thread_known`] before that.
pub(crate) fn joined(thread: u64, known: u64) -> Option<u32> {
    with_threads(|threads| threads.joined(thread, known))
}

/// Forgets the threads of another life.
pub(crate) fn forget_all() {
    with_threads(JoinableThreads::forget_all);
}
