//! How many operations of a lane are issued and complete, and its first error.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use oxshmem_base::Error;
use parking_lot::Mutex;

use crate::{Busy, NotIssued};

/// Shared by a lane, which issues operations, and the threads that complete them. No two share a line, because threads with a lane each
/// count at once.
#[derive(Default, Debug)]
#[repr(align(128))]
pub struct Account {
    /// Counted before the operation can complete, so that `completed` is never ahead of it.
    issued: AtomicU64,
    /// Added with release after the effects of the operations that it counts, loaded with acquire: a thread that sees the
    /// number sees what the operations have fetched.
    completed: AtomicU64,
    error: Mutex<Option<Error>>,
    /// Stored with release after the error, so that no thread takes the lock while there is none.
    failed: AtomicBool,
}

impl Account {
    /// Counts operations that are about to be issued.
    #[inline]
    pub fn issue(&self, count: u64) {
        self.issued.fetch_add(count, Ordering::Relaxed);
    }

    /// [`Account::issue`] without a locked instruction, where one lock covers all threads that count here.
    #[inline]
    pub fn issue_locked(&self, count: u64) {
        self.issued.store(self.issued.load(Ordering::Relaxed).wrapping_add(count), Ordering::Relaxed);
    }

    /// Takes back [`Account::issue_locked`] of one operation, which could not be issued.
    #[inline]
    pub fn withdraw_locked(&self) {
        self.issued.store(self.issued.load(Ordering::Relaxed).wrapping_sub(1), Ordering::Relaxed);
    }

    /// [`Account::complete`] without a locked instruction, where one lock covers all threads that count here. A thread
    /// that sees the number sees what was complete under the lock before.
    #[inline]
    pub fn complete_locked(&self, count: u64) {
        self.completed.store(self.completed.load(Ordering::Relaxed).wrapping_add(count), Ordering::Release);
    }

    /// Counts operations that are complete, or never will be and touch no buffer any more.
    #[inline]
    pub fn complete(&self, count: u64) {
        self.completed.fetch_add(count, Ordering::Release);
    }

    /// An operation has failed. The first error stays.
    pub fn fail(&self, error: Error) {
        self.error.lock().get_or_insert(error);
        self.failed.store(true, Ordering::Release);
    }

    /// The result of a lane's call: an error is kept here, and the call returns as if it had issued `all`.
    #[inline]
    pub fn settle<T>(&self, issued: Result<T, NotIssued>, all: T) -> Result<T, Busy> {
        match issued {
            Ok(issued) => Ok(issued),
            Err(NotIssued::Busy) => Err(Busy),
            Err(NotIssued::Failed(error)) => {
                self.fail(*error);
                Ok(all)
            }
        }
    }

    /// Operations that were ever issued, modulo 2^64.
    #[inline]
    pub fn issued(&self) -> u64 {
        self.issued.load(Ordering::Relaxed)
    }

    /// Operations that are not complete. `completed` is read first: between the two loads the difference can only become
    /// larger than it was, so zero means that all that were issued before the first load are complete. A thread reads its
    /// own `issue` or a later one.
    #[inline]
    pub fn outstanding(&self) -> u64 {
        let completed = self.completed.load(Ordering::Acquire);
        self.issued.load(Ordering::Relaxed).wrapping_sub(completed)
    }

    /// Whether an operation has failed.
    #[inline]
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// The first error, if there is one.
    pub fn error(&self) -> Option<Error> {
        if !self.has_failed() {
            return None;
        }
        self.error.lock().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_count_until_they_are_complete_and_the_first_error_stays() {
        let account = Account::default();
        account.issue(3);
        account.complete(1);
        assert_eq!((account.outstanding(), account.error()), (2, None));
        account.issue_locked(1);
        account.withdraw_locked();
        assert_eq!(account.outstanding(), 2);
        account.fail(Error::new("the first"));
        account.fail(Error::new("the second"));
        account.complete(2);
        assert_eq!(account.outstanding(), 0);
        assert_eq!(account.error().map(|error| error.what().to_owned()).as_deref(), Some("the first"));
    }

    /// One thread issues, another completes: the count is never below what is under way.
    #[test]
    fn the_count_is_never_too_low() {
        const MANY: u64 = if cfg!(miri) { 100 } else { 20_000 };
        let account = Account::default();
        let under_way = AtomicU64::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..MANY {
                    account.issue(1);
                    under_way.fetch_add(1, Ordering::Release);
                }
            });
            let completer = scope.spawn(|| {
                for _ in 0..MANY {
                    while under_way.load(Ordering::Acquire) == 0 {
                        std::thread::yield_now();
                    }
                    under_way.fetch_sub(1, Ordering::Relaxed);
                    account.complete(1);
                }
            });
            while !completer.is_finished() {
                // A count that completes before it is issued would wrap.
                assert!(account.outstanding() <= MANY, "an operation completed before it was issued");
                std::thread::yield_now();
            }
        });
        assert_eq!(account.outstanding(), 0);
    }
}
