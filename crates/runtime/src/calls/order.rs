//! Fence, quiet and the barriers of the world.
//!
//! On the node every transfer is a store or a load of the calling thread, complete or in its store buffer when the
//! call returns. So a fence only keeps stores in order, and a quiet empties the store buffer.

use core::ffi::c_int;
use oxshmem_base::planted;

use crate::collectives;
use crate::collectives::call::Call;
use crate::collectives::signature::CallKind;
use crate::diagnosis::errors;
use crate::memory::direct::FAST;
use crate::teams::context::ContextHandle;
use crate::teams::team::TeamHandle;
use crate::teams::via::Via;

/// Keeps earlier stores before later ones, non-temporal ones (ORD-5) included.
#[inline(always)]
fn store_fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of x86-64.
    unsafe {
        core::arch::x86_64::_mm_sfence();
    }
    #[cfg(not(target_arch = "x86_64"))]
    core::sync::atomic::fence(core::sync::atomic::Ordering::Release);
}

/// Makes earlier stores visible to all PEs before any later access.
#[inline(always)]
fn full_fence() {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: the instruction stores the value that it loads, in one step, into this thread's own stack. So nothing changes there, also
    // where the compiler keeps values below the stack pointer, which is all that `nostack` protects. It drains the store and the
    // write-combining buffers as MFENCE does, in half the time.
    unsafe {
        core::arch::asm!("lock or dword ptr [rsp - 8], 0", options(nostack))
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    core::sync::atomic::fence(core::sync::atomic::Ordering::SeqCst);
}

/// Orders earlier operations on the context before later ones, per target PE.
///
/// # Safety
/// The context has not been destroyed.
#[inline(always)]
pub unsafe fn fence<V: Via>(via: V) {
    store_fence();
    if FAST.orders_more() {
        via.context().fence(via.call());
    }
}

/// Completes everything that was issued on the context.
///
/// # Safety
/// See [`fence`].
#[inline(always)]
pub unsafe fn quiet<V: Via>(via: V) {
    full_fence();
    if FAST.orders_more() {
        via.context().quiet(via.call());
    }
}

/// Whether a quiet would return at once.
///
/// # Safety
/// See [`fence`].
pub(crate) unsafe fn is_quiet<V: Via>(via: V) -> bool {
    full_fence();
    !FAST.orders_more() || via.context().is_quiet(via.call())
}

/// Makes a fence if it would return at once. Returns whether it is made.
///
/// # Safety
/// See [`fence`].
pub(crate) unsafe fn try_fence<V: Via>(via: V) -> bool {
    store_fence();
    !FAST.orders_more() || via.context().try_fence(via.call())
}

/// Completes what was issued to `n` PEs.
///
/// # Safety
/// See [`fence`]; `target_pes` has `n` elements.
#[inline(always)]
pub unsafe fn pe_quiet<V: Via>(via: V, target_pes: *const c_int, n: usize) {
    if n == 0 {
        return;
    }
    full_fence();
    if FAST.orders_more() {
        // SAFETY: the caller promises the elements, and that the context has not been destroyed.
        unsafe { pe_quiet_between_nodes(via.call(), via.context(), target_pes, n) }
    }
}

/// A quiet for more PEs than these is one for all: looks at each would take longer than they save.
const MOST_TARGETS: usize = 8;

/// # Safety
/// See [`pe_quiet`].
#[cold]
#[inline(never)]
unsafe fn pe_quiet_between_nodes(call: &'static str, context: ContextHandle, target_pes: *const c_int, n: usize) {
    let mut numbers = [0; MOST_TARGETS];
    let are_known = n <= MOST_TARGETS
        && numbers[..n].iter_mut().enumerate().all(|(i, number)| {
            // SAFETY: the caller promises `n` elements.
            let found = context.published_number(unsafe { *target_pes.add(i) });
            found.is_some_and(|found| {
                *number = found;
                true
            })
        });
    match are_known {
        true => context.quiet_for(call, &numbers[..n]),
        false => context.quiet(call),
    }
}

/// Completes the default context's operations, then waits for all PEs.
///
/// # Safety
/// All PEs call, one thread of each at a time.
#[inline(always)]
pub unsafe fn barrier_all() {
    barrier_all_named("shmem_barrier_all", CallKind::Barrier);
}

/// [`barrier_all`] inside another call, which is named in messages.
#[inline(always)]
pub(crate) fn barrier_all_named(call: &'static str, kind: CallKind) {
    if planted!("barrier-without-quiet", true, false) {
        complete_default(call);
    }
    sync_world(call, kind);
}

/// Completes the operations of the default context, as a barrier does before all meet.
#[inline(always)]
pub(crate) fn complete_default(call: &'static str) {
    store_fence();
    if FAST.orders_more() {
        ContextHandle::default_context().quiet(call);
        errors::check_guards(call);
    }
}

/// Waits for all PEs.
///
/// # Safety
/// See [`barrier_all`].
#[inline(always)]
pub unsafe fn sync_all() {
    sync_world("shmem_sync_all", CallKind::Barrier);
}

/// Stores made before are visible after, because arrival is a release and leaving an acquire.
#[inline(always)]
fn sync_world(call: &'static str, kind: CallKind) {
    match TeamHandle::world().state() {
        Some(world) => {
            let call = match kind {
                CallKind::Finalize | CallKind::InnerFinalize => Call::of(world, call, kind).declare_splits(kind),
                _ => Call::of(world, call, kind),
            };
            let record = call.record_late(0);
            collectives::barrier::meet(call.with_late_record(&record));
        }
        None => errors::not_initialised(call),
    }
}
