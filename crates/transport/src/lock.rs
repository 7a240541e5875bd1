//! The lock of a provider, which tests can count.

#[cfg(feature = "suite")]
use std::cell::Cell;

use parking_lot::{Mutex, MutexGuard};

/// The lock under which operations are issued. It is taken once for an operation ([`crate::Lane`]), which the suite counts.
#[derive(Default, Debug)]
pub struct OperationLock<T>(Mutex<T>);

#[cfg(feature = "suite")]
thread_local! {
    static TAKEN: Cell<u64> = const { Cell::new(0) };
}

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
}
