//! The meeting of all PEs at the end of a heap call.

use oxshmem_base::{Error, planted};

use super::differing;
use crate::calls::order;
use crate::collectives::call::Call;
use crate::collectives::node_exchange;
use crate::collectives::signature::CallKind;
use crate::diagnosis::errors;
use crate::teams::team::TeamHandle;

/// The outcomes of all PEs at the end of a heap call.
#[derive(Default)]
pub(super) struct Agreement {
    /// The first PE that has not succeeded.
    pub(super) failed: Option<u32>,
    /// The most bytes that a PE must back with memory first; 0: none has to.
    pub(super) most_missing: u64,
}

impl Agreement {
    /// With the outcome of one more PE, which must back `missing` bytes.
    fn add(&mut self, pe: u32, succeeded: bool, missing: u64) {
        if !succeeded {
            self.failed = self.failed.or(Some(pe));
        }
        self.most_missing = self.most_missing.max(missing);
    }
}

/// The barrier of a heap call; this PE must back `missing` bytes.
pub(super) fn agree(call: &'static str, bytes: usize, succeeded: bool, fingerprint: u64, missing: u64) -> Agreement {
    let Some(world) = TeamHandle::world().state() else { errors::not_initialised(call) };
    if planted!("heap-call-without-quiet", true, false) {
        // SAFETY: the default context is never destroyed.
        unsafe { order::quiet(crate::InWorld(call)) };
    }
    let meeting = Call::of(world, call, CallKind::Heap);
    let _recorded = meeting.record(0);
    // Nearly always all PEs say the same, and none has to look at the words of each other one.
    if meeting.have_same(&[succeeded.into(), fingerprint, missing]) {
        return Agreement { failed: (!succeeded).then_some(0), most_missing: missing };
    }
    let (mut agreement, mut other) = (Agreement::default(), None);
    node_exchange::exchange(meeting, &[succeeded.into(), fingerprint, missing, bytes as u64], |pe, words| {
        agreement.add(pe, words[0] != 0, words[2]);
        if words[1] != fingerprint {
            other = Some((pe, words[3]));
        }
    });
    if let Some((pe, theirs)) = other {
        errors::fail(
            &Error::new(format!("{call}: PE {pe} made other heap calls than this PE"))
                .because(differing::sizes(call, pe, theirs, bytes as u64))
                .fix(differing::remedy(theirs, bytes as u64)),
        );
    }
    agreement
}

#[cfg(test)]
mod tests {
    use super::Agreement;

    #[test]
    fn the_first_pe_that_fails_counts_and_the_one_that_needs_most() {
        let mut agreement = Agreement::default();
        for (pe, succeeded, missing) in [(0, true, 0), (1, true, 1 << 20), (2, false, 3 << 20), (3, false, 0)] {
            agreement.add(pe, succeeded, missing);
        }
        assert_eq!((agreement.failed, agreement.most_missing), (Some(2), 3 << 20));
    }
}
