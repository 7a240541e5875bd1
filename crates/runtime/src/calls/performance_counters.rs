//! Performance counters of Sandia OpenSHMEM: the operations that a context has given to the network.

use crate::network::lane::{OperationCount, OperationCounters};
use crate::teams::context::ContextHandle;

/// A `shmemx_pcntr_t`.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
#[allow(missing_docs, reason = "the names are those of the header")]
pub struct AllCounters {
    pub pending_put: u64,
    pub pending_get: u64,
    pub completed_put: u64,
    pub completed_get: u64,
    pub target: u64,
}

fn of(call: &str, context: ContextHandle) -> OperationCount {
    // The handle is judged as for an operation.
    context.live_team(call);
    context.known_lane().map_or_else(OperationCount::default, OperationCounters::read)
}

/// Operations that write, issued so far.
///
/// # Safety
/// `value` is writable. The functions below ask the same.
pub unsafe fn issued_write(context: ContextHandle, value: *mut u64) {
    // SAFETY: the caller promises that `value` is writable.
    unsafe { value.write(of("shmemx_pcntr_get_issued_write", context).issued_writes) }
}

/// Operations that read, issued so far.
///
/// # Safety
/// See [`issued_write`].
pub unsafe fn issued_read(context: ContextHandle, value: *mut u64) {
    // SAFETY: the caller promises that `value` is writable.
    unsafe { value.write(of("shmemx_pcntr_get_issued_read", context).issued_reads) }
}

/// Operations that write, known to be complete.
///
/// # Safety
/// See [`issued_write`].
pub unsafe fn completed_write(context: ContextHandle, value: *mut u64) {
    // SAFETY: the caller promises that `value` is writable.
    unsafe { value.write(of("shmemx_pcntr_get_completed_write", context).completed_writes) }
}

/// Operations that read, known to be complete.
///
/// # Safety
/// See [`issued_write`].
pub unsafe fn completed_read(context: ContextHandle, value: *mut u64) {
    // SAFETY: the caller promises that `value` is writable.
    unsafe { value.write(of("shmemx_pcntr_get_completed_read", context).completed_reads) }
}

/// Operations of others on this PE's memory. They read 0: stores of the node and writes of cards do not involve this PE's
/// processor.
///
/// # Safety
/// See [`issued_write`].
pub unsafe fn completed_target(value: *mut u64) {
    // SAFETY: the caller promises that `value` is writable.
    unsafe { value.write(0) }
}

/// All counts.
///
/// # Safety
/// `all` is writable.
pub unsafe fn all(context: ContextHandle, all: *mut AllCounters) {
    let count = of("shmemx_pcntr_get_all", context);
    let counters = AllCounters {
        pending_put: count.issued_writes - count.completed_writes,
        pending_get: count.issued_reads - count.completed_reads,
        completed_put: count.completed_writes,
        completed_get: count.completed_reads,
        target: 0,
    };
    // SAFETY: the caller promises that `all` is writable.
    unsafe { all.write(counters) }
}
