//! The state between the first init and the last finalize, which may come more than once.

use std::ffi::c_int;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

use oxshmem_base::knobs::Settings;
use parking_lot::Mutex;

use crate::collectives::choice::Choice;
use crate::memory::direct::FAST;
use crate::memory::heap::SymmetricHeap;
use crate::memory::windows::Windows;
use crate::start::left_behind;

/// The current life; null between lives. Stored with release and loaded with acquire, so that a thread which has met the
/// initialising one nowhere else finds the life whole.
static LIFE: AtomicPtr<LibraryState> = AtomicPtr::new(core::ptr::null_mut());
/// How many lives there have been.
static LIVES: AtomicU32 = AtomicU32::new(0);

/// Everything that one life owns.
pub(crate) struct LibraryState {
    /// The environment variables, as read at init.
    pub(crate) settings: Settings,
    /// The thread level that was granted.
    pub(crate) thread_level: c_int,
    /// Which collectives run which schedule.
    pub(crate) choice: Choice,
    pub(crate) heap: Mutex<SymmetricHeap>,
    /// Where the node's memory is mapped.
    pub(crate) windows: Windows,
}

impl Drop for LibraryState {
    fn drop(&mut self) {
        // The heap and control windows of a life vanish from this process with it; static data stays.
        self.windows.close();
    }
}

/// The number of the life that begins.
pub(crate) fn next() -> u32 {
    LIVES.fetch_add(1, Relaxed)
}

/// Makes it the current one.
pub(crate) fn begin(life: LibraryState) {
    LIFE.store(Box::into_raw(Box::new(life)), Release);
}

/// The calls that threads may still be in when the last finalize ends a life.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OtherCalls {
    /// None of the library: what the standard asks of programs.
    Done,
    /// Using static variables: safe Rust cannot tell which threads do. What such a call touches stays where it is until all threads have
    /// ended that are there now ([`left_behind`]).
    MayUseStatics,
}

/// Ends the current life.
///
/// # Safety
/// `begin` has been called, and no other call runs now but what `others` says.
pub(crate) unsafe fn end(others: OtherCalls) {
    let life = LIFE.swap(core::ptr::null_mut(), Acquire);
    match others {
        // SAFETY: `begin` leaked it from a box, and no thread uses it any more.
        OtherCalls::Done => drop(unsafe { Box::from_raw(life) }),
        OtherCalls::MayUseStatics => {
            // SAFETY: `begin` leaked it from a box, and it is not freed before this function returns.
            let left = unsafe { &*life };
            left.windows.leave();
            left.heap.lock().close();
            let life = AtomicPtr::new(life);
            // SAFETY: `begin` leaked it from a box, and no thread that could have found it is there any more.
            left_behind::leave(move || drop(unsafe { Box::from_raw(life.into_inner()) }));
        }
    }
}

/// Forgets the current life, which is the parent's: this process is the child of a fork.
pub(crate) fn leave_to_parent() {
    LIFE.store(core::ptr::null_mut(), Relaxed);
}

pub(crate) fn current() -> Option<&'static LibraryState> {
    // SAFETY: `begin` leaks a box into it; `end` takes it out after the last synchronisation, when the standard allows no
    // call that could still hold the reference.
    unsafe { LIFE.load(Acquire).as_ref() }
}

/// Whether the library is initialised.
pub(crate) fn is_open() -> bool {
    !LIFE.load(Acquire).is_null()
}

/// Whether every call is to be checked: `SHMEM_CHECK=2` and above.
pub(crate) fn is_checked() -> bool {
    current().is_some_and(|life| life.settings.check >= 2)
}

/// Whether any collective of this life runs a schedule.
pub(crate) fn wants_schedules() -> bool {
    current().is_some_and(|life| life.choice.has_rows())
}

/// Whether a life has begun in this process. Together with `!is_open()`: whether it has ended.
pub(crate) fn has_begun_a_life() -> bool {
    LIVES.load(Relaxed) > 0
}

/// The end of the highest block that the caller's heap has ever had; 0 outside of a life.
pub fn heap_high_water() -> u64 {
    current().map_or(0, |life| life.heap.lock().high_water())
}

/// Whether `address` lies in the part of the caller's heap that is reserved, allocated or not.
pub(crate) fn in_heap_reservation(address: usize) -> bool {
    let (start, _) = FAST.heap.own();
    current().is_some_and(|life| {
        let heap = life.heap.lock();
        (address.wrapping_sub(start) as u64) < heap.capacity()
    })
}
