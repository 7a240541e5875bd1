//! Locks.

use core::ffi::{c_int, c_long};
use std::collections::{BTreeMap, VecDeque};

use oxshmem_runtime as runtime;
use oxshmem_transport::Remote;
use parking_lot::{Mutex, MutexGuard};

use super::order;
use crate::threads::ThreadPe;

/// The holder and the waiters of each lock, by its address.
#[derive(Default)]
pub(in crate::threads) struct Locks(Mutex<BTreeMap<u64, VecDeque<usize>>>);

impl ThreadPe {
    fn locks(&self) -> MutexGuard<'_, BTreeMap<u64, VecDeque<usize>>> {
        self.job.locks.0.lock()
    }
}

/// Names a lock: its offset, and its region in the top bit.
fn name(here: &ThreadPe, lock: *mut c_long) -> u64 {
    let Remote { region, offset, .. } = here.remote(runtime::InWorld("a lock"), lock.cast(), 8, here.me as c_int);
    offset | (region as u64) << 63
}

pub(crate) unsafe fn set_lock(here: &ThreadPe, lock: *mut c_long) {
    here.turns().step(here.me);
    let name = name(here, lock);
    here.locks().entry(name).or_default().push_back(here.me);
    here.turns().wait(here.me, "shmem_set_lock", || {
        let mine = here.locks().get(&name).and_then(|queue| queue.front().copied()) == Some(here.me);
        mine.then_some(())
    });
}

pub(crate) unsafe fn test_lock(here: &ThreadPe, lock: *mut c_long) -> c_int {
    here.turns().step(here.me);
    let name = name(here, lock);
    let mut locks = here.locks();
    let queue = locks.entry(name).or_default();
    let busy = !queue.is_empty();
    if !busy {
        queue.push_back(here.me);
    }
    busy.into()
}

pub(crate) unsafe fn clear_lock(here: &ThreadPe, lock: *mut c_long) {
    // SAFETY: the default context is never destroyed.
    unsafe { order::quiet(here, runtime::InWorld("shmem_clear_lock")) };
    let name = name(here, lock);
    here.locks().entry(name).or_default().pop_front();
    here.turns().changed();
}
