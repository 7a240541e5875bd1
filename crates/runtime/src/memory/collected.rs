//! Programs whose language collects memory. Such programs do not free blocks, and their arrays may outlive the library.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use oxshmem_os::memory::AddressRange;
use parking_lot::Mutex;

use crate::memory::direct::FAST;
use crate::start::job;

static COLLECTED: AtomicBool = AtomicBool::new(false);

/// The language of this program collects memory: blocks that are left at the end are no leaks, and the heaps of the node stay readable
/// until [`release_heap`].
pub fn heap_is_collected() {
    COLLECTED.store(true, Relaxed);
}

/// The heaps of lives that have ended.
static ENDED: Mutex<Vec<AddressRange>> = Mutex::new(Vec::new());

/// Keeps the heaps of a life that ends, if arrays of the program may lie there.
pub(crate) fn keep(heaps: Option<AddressRange>) {
    if is_collected() {
        ENDED.lock().extend(heaps);
    }
}

/// Where the caller's heap begins, during a life.
pub fn heap_start() -> usize {
    FAST.heap.own().0
}

/// Unmaps the heaps of the life in which the caller's began at `start`. Nothing is done while that life goes on, and a second time.
///
/// # Safety
/// The program uses no memory of these heaps any more.
pub unsafe fn release_heap(start: usize) {
    // The child has these heaps as long as it lives: another thread may have held the lock at the moment of the fork.
    if job::is_forked_child() {
        return;
    }
    let mut ended = ENDED.lock();
    let released = ended.iter().position(|heaps| start.wrapping_sub(heaps.base() as usize) < heaps.len());
    let released = released.map(|place| ended.swap_remove(place));
    drop(ended);
    drop(released);
}

pub(crate) fn is_collected() -> bool {
    COLLECTED.load(Relaxed)
}

/// Whether the next allocation is a trial. The thread of the PE's heap calls writes and reads it.
static TRIAL: AtomicBool = AtomicBool::new(false);

/// The next call of C's interface that allocates is a trial: where it is refused, the language frees what the program has dropped, and
/// allocates again. So its refusal is no failure of the program, and nothing is printed.
pub fn try_next_allocation() {
    TRIAL.store(true, Relaxed);
}

/// Whether this allocation is a trial; the one after it is none.
pub(crate) fn takes_trial() -> bool {
    TRIAL.swap(false, Relaxed)
}

#[cfg(test)]
mod tests {
    use oxshmem_os::memory::page_size;

    use super::*;

    #[test]
    fn the_heaps_of_a_life_are_released_once() {
        heap_is_collected();
        let heaps = [2, 3].map(|pages| AddressRange::reserve(pages * page_size(), 1).expect("addresses"));
        let starts = heaps.each_ref().map(|heaps| heaps.base() as usize);
        heaps.into_iter().for_each(|heaps| keep(Some(heaps)));
        keep(None);
        let last = starts[1] + 2 * page_size();
        // SAFETY: nothing is there.
        unsafe {
            release_heap(last);
            release_heap(last);
            release_heap(0);
        }
        let left: Vec<_> = ENDED.lock().drain(..).map(|heaps| heaps.base() as usize).collect();
        assert_eq!(left, [starts[0]]);
    }

    #[test]
    fn one_allocation_is_a_trial() {
        try_next_allocation();
        assert_eq!([takes_trial(), takes_trial()], [true, false]);
    }
}
