//! A call that finds a place in the heap, until it is in force on all PEs, or on none.

use oxshmem_base::Error;
use oxshmem_flight::calls::CallSubject;

use super::agreement::{Agreement, agree};
use super::failed::FailedAllocation;
use super::lock;
use crate::diagnosis::recorder::RecordedCall;
use crate::memory::heap::SymmetricHeap;
use crate::memory::node_limits;
use crate::start::state::LibraryState;

/// A call on which the PEs have not agreed yet.
pub(super) struct Proposal<'a, T> {
    pub(super) life: &'a LibraryState,
    pub(super) call: &'static str,
    pub(super) bytes: usize,
    /// Whether it prints its errors, because the call's own answer is only NULL.
    speaks: bool,
    /// The place that this PE's heap has found.
    pub(super) found: Result<T, Error>,
    /// How many bytes this PE must back with pages before the place can be used.
    pub(super) missing: u64,
    /// The fingerprint of all heap calls up to this one.
    fingerprint: u64,
}

impl<'a, T> Proposal<'a, T> {
    /// Lets this PE's heap `find` a place, and prints why not if it `speaks`.
    pub(super) fn new(
        life: &'a LibraryState,
        call: &'static str,
        bytes: usize,
        speaks: bool,
        find: impl FnOnce(&mut SymmetricHeap) -> Result<T, Error>,
    ) -> Self {
        let (found, missing, fingerprint) = {
            let mut heap = lock(life);
            let found = find(&mut heap);
            (found, heap.missing(node_limits::share), heap.fingerprint())
        };
        if let (true, Err(error)) = (speaks, &found) {
            FailedAllocation::everywhere(error.clone()).say();
        }
        Self { life, call, bytes, speaks, found, missing, fingerprint }
    }

    /// Compares the outcomes of all PEs: after this the call is in force on all of them, or on none. `backed` runs once this PE has its
    /// memory, if any PE had to back some.
    pub(super) fn conclude(self, backed: impl FnOnce()) -> Result<T, FailedAllocation> {
        let Agreement { failed, most_missing } =
            agree(self.call, self.bytes, self.found.is_ok(), self.fingerprint, self.missing);
        let grown = if failed.is_none() && most_missing > 0 { self.grow(most_missing, backed) } else { Ok(()) };
        {
            let mut heap = lock(self.life);
            if failed.is_none() && grown.is_ok() { heap.settle() } else { heap.take_back() }
        }
        let found = self.found.map_err(FailedAllocation::everywhere)?;
        grown?;
        match failed {
            None => Ok(found),
            Some(pe) => Err(FailedAllocation::elsewhere(self.call, self.bytes, pe)),
        }
    }

    /// Backs the missing bytes, which are `most` on some PE, on all PEs or on none.
    fn grow(&self, most: u64, backed: impl FnOnce()) -> Result<(), FailedAllocation> {
        let Self { life, call, bytes, missing, .. } = *self;
        let page = lock(life).page();
        // The kernel may take seconds for many pages, which is no wait.
        let _recorded = RecordedCall::begin_long(call, CallSubject { peer: None, team: None, bytes: bytes as u64 });
        let outcome = match node_limits::ask(call, missing, most, page) {
            Ok(grant) => {
                let outcome = lock(life).back(call, missing, grant.piece, || grant.look());
                grant.end(call);
                outcome.map_err(|error| FailedAllocation { error, mine_to_say: true })
            }
            Err(denial) => {
                let error = lock(life).refused(call, missing, &denial.why);
                Err(FailedAllocation { error, mine_to_say: denial.mine_to_say })
            }
        };
        match &outcome {
            Ok(()) => backed(),
            Err(failed) if self.speaks => failed.say(),
            Err(_) => {}
        }
        let failed = agree(call, bytes, outcome.is_ok(), self.fingerprint, 0).failed;
        outcome.and_then(|()| failed.map_or(Ok(()), |pe| Err(FailedAllocation::elsewhere(call, bytes, pe))))
    }
}
