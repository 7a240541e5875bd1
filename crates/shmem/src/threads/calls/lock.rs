//! Locks.

use core::ffi::{c_int, c_long};
use std::collections::BTreeMap;

use oxshmem_runtime as runtime;
use oxshmem_transport::Remote;
use parking_lot::{Mutex, MutexGuard};

use super::order;
use crate::threads::ThreadPe;

/// The numbers that a lock has given out. A call takes the next one, and has the lock when that number is served. So a PE that asks for
/// what it holds waits, as one that asks for a lock of another PE does.
#[derive(Default)]
struct Tickets {
    next: u64,
    served: u64,
}

impl Tickets {
    fn take(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }
}

/// Each lock that has been used, by its address.
#[derive(Default)]
pub(in crate::threads) struct Locks(Mutex<BTreeMap<u64, Tickets>>);

impl ThreadPe {
    fn locks(&self) -> MutexGuard<'_, BTreeMap<u64, Tickets>> {
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
    let mine = here.locks().entry(name).or_default().take();
    here.turns().wait(here.me, "shmem_set_lock", || {
        here.locks().get(&name).is_some_and(|tickets| tickets.served == mine).then_some(())
    });
}

pub(crate) unsafe fn test_lock(here: &ThreadPe, lock: *mut c_long) -> c_int {
    here.turns().step(here.me);
    let name = name(here, lock);
    let mut locks = here.locks();
    let tickets = locks.entry(name).or_default();
    let busy = tickets.next > tickets.served;
    if !busy {
        tickets.take();
    }
    busy.into()
}

pub(crate) unsafe fn clear_lock(here: &ThreadPe, lock: *mut c_long) {
    // SAFETY: the default context is never destroyed.
    unsafe { order::quiet(here, runtime::InWorld("shmem_clear_lock")) };
    let name = name(here, lock);
    here.locks().entry(name).or_default().served += 1;
    here.turns().changed();
}
