//! Operations as their issuers want them, and the memory that they name.

use std::ptr;

use oxshmem_libfabric_sys as fi;

/// An operation that is not over.
pub(super) struct MockOperation {
    pub(super) to: usize,
    /// 0: it has no completion.
    pub(super) context: usize,
    pub(super) what: MockEffect,
}

pub(super) enum MockEffect {
    /// Of a copy, or of bytes that stay where they are until completion.
    Put {
        bytes: Result<Vec<u8>, (usize, usize)>,
        address: u64,
        key: u64,
        /// It is complete when its effect is there.
        delivered: bool,
    },
    Get {
        at: usize,
        n: usize,
        address: u64,
        key: u64,
    },
    Message(Vec<u8>),
    Atomic {
        op: fi::fi_op,
        bytes: usize,
        operand: usize,
        compare: usize,
        result: usize,
        address: u64,
        key: u64,
    },
}

/// The value behind an atomic, of an object that had the value `old`.
pub(super) fn behind(op: fi::fi_op, old: u64, operand: u64, compare: u64) -> u64 {
    match op {
        fi::FI_ATOMIC_READ => old,
        fi::FI_ATOMIC_WRITE => operand,
        fi::FI_SUM => old.wrapping_add(operand),
        fi::FI_BAND => old & operand,
        fi::FI_BOR => old | operand,
        fi::FI_BXOR => old ^ operand,
        _ if old == compare => operand,
        _ => old,
    }
}

/// Memory that peers may reach by its key, or callers name by its descriptor.
pub(super) struct Registered {
    pub(super) base: usize,
    pub(super) len: usize,
    pub(super) enabled: bool,
    pub(super) bound: bool,
}

/// While an operation is under way its context is the provider's.
pub(super) fn mark(context: usize) {
    let place: *mut fi::fi_context2 = ptr::with_exposed_provenance_mut(context);
    // SAFETY: `FI_CONTEXT2` promises a context of this size until the completion.
    unsafe { (*place).internal = [ptr::without_provenance_mut(context ^ 0x5A5A); 8] };
}
