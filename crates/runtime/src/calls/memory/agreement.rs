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
pub(super) struct Agreement {
    /// The first PE that has not succeeded.
    pub(super) failed: Option<u32>,
    /// A PE must back memory first.
    pub(super) growing: bool,
}

/// The barrier at the end of a heap call; this PE must back `missing` bytes.
pub(super) fn agree(call: &'static str, bytes: usize, succeeded: bool, sequence: u64, missing: u64) -> Agreement {
    let Some(world) = TeamHandle::world().state() else { errors::not_initialised(call) };
    if planted!("heap-call-without-quiet", true, false) {
        // SAFETY: the default context is never destroyed.
        unsafe { order::quiet(crate::InWorld(call)) };
    }
    let meeting = Call::of(world, call, CallKind::Heap);
    let _recorded = meeting.record(0);
    // Nearly always all PEs say the same, and none has to look at the words of each other one.
    if meeting.have_same(&[succeeded.into(), sequence, missing]) {
        return Agreement { failed: (!succeeded).then_some(0), growing: missing != 0 };
    }
    let (mut failed, mut growing, mut other) = (None, false, None);
    node_exchange::exchange(meeting, &[succeeded.into(), sequence, missing, bytes as u64], |pe, words| {
        if words[0] == 0 {
            failed = failed.or(Some(pe));
        }
        growing |= words[2] != 0;
        if words[1] != sequence {
            other = Some((pe, words[3]));
        }
    });
    if let Some((pe, theirs)) = other {
        errors::fail(
            &Error::new(format!("{call}: PE {pe} made other heap calls than this PE"))
                .because(differing::sizes(pe, theirs, bytes as u64))
                .fix(differing::remedy(theirs, bytes as u64)),
        );
    }
    Agreement { failed, growing }
}
