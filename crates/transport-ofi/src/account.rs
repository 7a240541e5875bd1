//! What of one lane's operations is complete.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use oxshmem_base::Error;

/// Shared by a lane, which issues, and the engine, which completes.
#[derive(Default)]
pub(crate) struct Account {
    /// Stored with Release after the effects of the operation that it counts, loaded with Acquire: who sees the number
    /// sees what the operation has fetched.
    completed: AtomicU64,
    error: Mutex<Option<Error>>,
    /// Stored before the operation that failed is counted.
    failed: AtomicBool,
}

impl Account {
    pub(crate) fn complete(&self, error: Option<Error>) {
        if let Some(error) = error {
            self.fail(error);
        }
        self.completed.fetch_add(1, Ordering::Release);
    }

    /// The first error stays.
    pub(crate) fn fail(&self, error: Error) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.failed.store(true, Ordering::Release);
    }

    pub(crate) fn completed(&self) -> u64 {
        self.completed.load(Ordering::Acquire)
    }

    pub(crate) fn error(&self) -> Option<Error> {
        if !self.failed.load(Ordering::Acquire) {
            return None;
        }
        self.error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
