//! The lock of a provider, which tests can count.

use std::cell::Cell;

use parking_lot::{Mutex, MutexGuard};

/// The lock under which operations are issued. It is taken once for an operation ([`crate::Lane`]), which the suite counts.
#[derive(Default, Debug)]
pub struct OperationLock<T>(Mutex<T>);

#[cfg(feature = "suite")]
thread_local! {
    static TAKEN: Cell<u64> = const { Cell::new(0) };
}

thread_local! {
    /// How often in a row this thread has found such a lock taken, in [`OperationLock::look`].
    static IN_VAIN: Cell<u32> = const { Cell::new(0) };
}

/// Looks in vain before one that waits. Chosen.
const MOST_IN_VAIN: u32 = 16;

/// How many of these locks this thread has taken so far.
#[cfg(feature = "suite")]
pub(crate) fn taken() -> u64 {
    TAKEN.get()
}

impl<T> OperationLock<T> {
    /// Protects `value`.
    pub fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    /// Waits for the lock. Its holder does a bounded amount of work.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        #[cfg(feature = "suite")]
        TAKEN.set(TAKEN.get() + 1);
        self.0.lock()
    }

    /// Takes the lock if it is free.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock()
    }

    /// Takes the lock for a caller that looks again and again until what it waits for is there. Mostly it does not wait: threads that wait
    /// for the lock at each look would stand in line. After some looks in vain it does, because others may have the lock nearly always.
    pub fn look(&self) -> Option<MutexGuard<'_, T>> {
        let in_vain = IN_VAIN.get();
        let guard = self.0.try_lock().or_else(|| (in_vain >= MOST_IN_VAIN).then(|| self.0.lock()));
        IN_VAIN.set(if guard.is_some() { 0 } else { in_vain + 1 });
        guard
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_look_waits_for_a_lock_that_others_have_all_the_time() {
        let (lock, in_vain) = (OperationLock::new(()), AtomicU32::new(0));
        let held = lock.lock();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while lock.look().is_none() {
                    in_vain.fetch_add(1, Ordering::Relaxed);
                }
            });
            while in_vain.load(Ordering::Relaxed) < MOST_IN_VAIN {
                std::thread::yield_now();
            }
            // The other thread may not look in vain any more. One that does has the time to show it.
            let start = Instant::now();
            while in_vain.load(Ordering::Relaxed) == MOST_IN_VAIN && start.elapsed() < Duration::from_millis(50) {
                std::thread::yield_now();
            }
            drop(held);
        });
        assert_eq!(in_vain.load(Ordering::Relaxed), MOST_IN_VAIN);
        assert!(lock.look().is_some());
    }
}
