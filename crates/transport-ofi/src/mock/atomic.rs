//! An atomic of the mock: what it does when it happens. Atomics are of the network's domain: a processor that updates what they
//! update would be found out, because a card reads and writes in two steps.

use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use oxshmem_libfabric_sys as fi;

/// An atomic under way. Operands and result belong to its issuer until it is complete.
pub(super) struct MockAtomic {
    pub(super) op: fi::fi_op,
    pub(super) bytes: usize,
    pub(super) operand: usize,
    /// 0 if there is none, as for the result.
    pub(super) compare: usize,
    pub(super) result: usize,
    pub(super) address: u64,
    pub(super) key: u64,
}

impl MockAtomic {
    /// Whether it reads, so that more than the order of writes keeps its place.
    pub(super) fn reads(&self) -> bool {
        self.result != 0
    }
    /// It happens, to the object at this address.
    ///
    /// # Safety
    /// `at` is an aligned object of its length inside a registration, and nothing but the mock's network writes it now.
    pub(super) unsafe fn happen(&self, at: usize) {
        let &Self { op, bytes, operand, compare, result, .. } = self;
        // SAFETY: local objects belong to the issuer until completion, and are as long and aligned as was checked.
        let local = |at: usize| if at == 0 { 0 } else { unsafe { load(at, bytes) } };
        let (operand, cond) = (local(operand), local(compare));
        // SAFETY: the object is aligned and inside a registration, by the caller's promise.
        let old = unsafe { load(at, bytes) };
        let new = match op {
            fi::FI_ATOMIC_READ => old,
            fi::FI_ATOMIC_WRITE => operand,
            fi::FI_SUM => old.wrapping_add(operand),
            fi::FI_BAND => old & operand,
            fi::FI_BOR => old | operand,
            fi::FI_BXOR => old ^ operand,
            _ if old == cond => operand,
            _ => old,
        };
        // SAFETY: the object is inside a registration, and the result belongs to the issuer. A read writes nothing.
        unsafe {
            if op != fi::FI_ATOMIC_READ {
                store(at, bytes, new);
            }
            if result != 0 {
                store(result, bytes, old);
            }
        }
    }
}

/// # Safety
/// `at` is an aligned object of 4 or 8 bytes.
unsafe fn load(at: usize, bytes: usize) -> u64 {
    // SAFETY: the object is aligned and there, by the caller's promise.
    unsafe {
        match bytes {
            4 => AtomicU32::from_ptr(ptr::with_exposed_provenance_mut(at)).load(Ordering::Acquire).into(),
            _ => AtomicU64::from_ptr(ptr::with_exposed_provenance_mut(at)).load(Ordering::Acquire),
        }
    }
}

/// # Safety
/// `at` is an aligned object of 4 or 8 bytes.
unsafe fn store(at: usize, bytes: usize, value: u64) {
    // SAFETY: the object is aligned and there, by the caller's promise.
    unsafe {
        match bytes {
            4 => AtomicU32::from_ptr(ptr::with_exposed_provenance_mut(at)).store(value as u32, Ordering::Release),
            _ => AtomicU64::from_ptr(ptr::with_exposed_provenance_mut(at)).store(value, Ordering::Release),
        }
    }
}
