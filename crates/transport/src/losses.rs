//! Why the job cannot go on, for waits on all lanes: an error of one lane alone is seen by callers that complete something on it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use oxshmem_base::Error;

/// The first failure of the network that this PE has met. Errors of callers, such as a range outside of a peer's memory, are none.
#[derive(Default)]
pub struct Losses {
    first: OnceLock<Error>,
    /// This PE has said good-bye: peers that it has told may close their connections.
    leaving: AtomicBool,
}

impl Losses {
    /// This PE has met an error.
    pub fn note(&self, error: &Error) {
        // Relaxed: a connection of a peer closes after the peer has our good-bye, and this thread or the one before it under the lock of
        // the channel has sent that.
        if !self.leaving.load(Ordering::Relaxed) {
            // The first one tells enough.
            let _ = self.first.set(error.clone());
        }
    }

    /// The first error.
    pub fn first(&self) -> Option<&Error> {
        self.first.get()
    }

    /// From now on connections that close are no failures.
    pub fn begin_leaving(&self) {
        self.leaving.store(true, Ordering::Relaxed);
    }
}
