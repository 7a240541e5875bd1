//! The collective heap calls.
//!
//! Each has a meeting of the world that is its barrier, at the end where it allocates and at the beginning where it frees. There the PEs
//! compare words: whether the PE has a place for the block, a fingerprint of all heap calls so far, how many bytes it must back with pages
//! first; where these differ, also the bytes that it asks for. So all PEs fail together (HEAP-5), and PEs whose calls differ are told. If any
//! PE must back pages, the PEs ask their nodes' accounts for the memory, and a second meeting tells whether all have it.

mod agreement;
mod differing;
mod failed;
mod misplaced;
mod proposal;
mod resize;

use core::ffi::{c_long, c_void};
use core::ops::Range;
use core::ptr::null_mut;

use oxshmem_base::Error;
use oxshmem_flight::calls::CallSubject;
use oxshmem_heap::MIN_ALIGN;
use parking_lot::MutexGuard;

use crate::collectives::active_set::freed;
use crate::collectives::call::Call;
use crate::collectives::node_exchange;
use crate::collectives::signature::CallKind;
use crate::diagnosis::errors;
use crate::diagnosis::recorder::RecordedCall;
use crate::memory::collected;
use crate::memory::direct::FAST;
use crate::memory::heap::SymmetricHeap;
use crate::network;
use crate::start::job;
use crate::start::state::{self, LibraryState};
use crate::teams::team::TeamState;
use crate::transfers::length;
use agreement::agree;
use failed::{FailedAllocation, warn};
use misplaced::no_block;
use proposal::Proposal;
pub use resize::realloc;

fn open_life(call: &'static str) -> &'static LibraryState {
    state::current().unwrap_or_else(|| errors::not_initialised(call))
}

fn lock(life: &LibraryState) -> MutexGuard<'_, SymmetricHeap> {
    life.heap.lock()
}

/// Nodes may have different memory; the same calls must find the same places everywhere.
pub(super) fn agree_on_capacity(world: &TeamState, call: &'static str) {
    if world.span.is_none() {
        return;
    }
    let life = open_life(call);
    let (mut least, mut least_guarded, mut guarded) = {
        let heap = lock(life);
        (heap.size().cap, heap.size().guarded(), heap.is_guarded())
    };
    let own = [least, least_guarded, guarded.into()];
    node_exchange::exchange(Call::of(world, call, CallKind::Heap), &own, |_, words| {
        least = least.min(words[0]);
        least_guarded = least_guarded.min(words[1]);
        guarded |= words[2] != 0;
    });
    let mut heap = lock(life);
    heap.limit(least);
    if guarded {
        heap.guard(least_guarded);
    }
}

/// One line about the heap for `SHMEM_INFO`.
pub(super) fn describe() -> String {
    lock(open_life("shmem_init")).describe()
}

fn address(offset: u64) -> *mut c_void {
    (FAST.heap.own().0 + offset as usize) as *mut c_void
}

/// How far behind the beginning of the heap the program's address is; nothing has looked whether a block begins there.
fn offset_of(ptr: *mut c_void) -> u64 {
    (ptr as usize).wrapping_sub(FAST.heap.own().0) as u64
}

/// Where the block around an address begins.
pub(super) fn block_around(call: &'static str, ptr: *mut c_void) -> Option<*mut c_void> {
    lock(open_life(call)).block_around(offset_of(ptr)).map(address)
}

/// The common part of all allocating calls of the standard, whose answer is NULL when they fail. `fill` runs on the new block
/// before the barrier. It writes zeros only, unless blocks are guarded (`SymmetricHeap::used_part`).
pub(super) fn allocate(call: &'static str, bytes: usize, align: usize, fill: impl FnOnce(*mut c_void)) -> *mut c_void {
    let life = open_life(call);
    // Also of a call that allocates nothing: the next one is no trial.
    let speaks = !collected::takes_trial();
    if bytes == 0 {
        return null_mut();
    }
    let find = |heap: &mut SymmetricHeap| heap.place(call, bytes as u64, MIN_ALIGN.max(align as u64));
    allocate_or_say(Proposal::new(life, call, bytes, speaks, find), fill).unwrap_or(null_mut())
}

/// Allocates, or says why not: the error has the numbers, and nothing is printed. `content` is a word about what the block is for, which
/// all PEs that name one must have alike.
pub(super) fn try_allocate(call: &'static str, bytes: usize, content: Option<u64>) -> Result<*mut c_void, Error> {
    let life = open_life(call);
    let find = |heap: &mut SymmetricHeap| {
        content.into_iter().for_each(|word| heap.note(word));
        heap.place(call, bytes as u64, MIN_ALIGN)
    };
    allocate_or_say(Proposal::new(life, call, bytes, false, find), |_| {})
        .map_err(|failed| failed.error.of_kind(lock(life).out_of_memory(bytes as u64)))
}

/// Bytes that take so long to fill that a report shall name the call.
const LONG_FILL: usize = 64 << 20;

fn allocate_or_say(
    proposal: Proposal<'_, u64>,
    fill: impl FnOnce(*mut c_void),
) -> Result<*mut c_void, FailedAllocation> {
    let Proposal { life, call, bytes, .. } = proposal;
    let mut fill = proposal.found.as_ref().ok().copied().zip(Some(fill));
    let mut filled = || {
        if let Some((offset, fill)) = fill.take() {
            fill(address(offset));
            lock(life).paint(offset);
        }
    };
    // Most blocks have their memory already.
    if proposal.missing == 0 {
        let is_long = bytes >= LONG_FILL;
        let subject = CallSubject { peer: None, team: None, bytes: bytes as u64 };
        let _recorded = is_long.then(|| RecordedCall::begin_long(call, subject));
        filled();
    }
    let offset = proposal.conclude(filled)?;
    network::with_turns(|turns| turns.allocated(offset, bytes as u64));
    Ok(address(offset))
}

/// Allocates. `call` is the name of the routine, for messages.
///
/// # Safety
/// All PEs call with the same argument, one thread of each.
pub unsafe fn malloc(call: &'static str, bytes: usize) -> *mut c_void {
    allocate(call, bytes, 1, |_| {})
}

/// Allocates; the hints change nothing.
///
/// # Safety
/// See [`malloc`].
pub unsafe fn malloc_with_hints(call: &'static str, bytes: usize, _hints: c_long) -> *mut c_void {
    allocate(call, bytes, 1, |_| {})
}

/// Allocates with an alignment.
///
/// # Safety
/// See [`malloc`].
pub unsafe fn align(call: &'static str, alignment: usize, bytes: usize) -> *mut c_void {
    if !alignment.is_power_of_two() {
        errors::bad_argument(call, "alignment", alignment as i64, "the powers of two");
    }
    allocate(call, bytes, alignment, |_| {})
}

/// Allocates zeroed memory.
///
/// # Safety
/// See [`malloc`].
pub unsafe fn calloc(count: usize, size: usize) -> *mut c_void {
    const CALL: &str = "shmem_calloc";
    if count.checked_mul(size).is_none() {
        FailedAllocation::everywhere(
            Error::new(format!("{CALL}: {count} elements of {size} bytes are more than there are addresses"))
                .because("the product of both arguments overflows a size_t")
                .fix("check how the program computes the arguments: one of them may be negative"),
        )
        .say();
    }
    // An overflowing product is more than any heap has, so it fails as other sizes that are too large do.
    let bytes = length::of(count, size);
    allocate(CALL, bytes, 1, |block| {
        let used = lock(open_life(CALL)).used_part(bytes as u64);
        // SAFETY: runs on the new block of `bytes` bytes, and `used` are no more.
        unsafe { block.write_bytes(0, used as usize) }
    })
}

/// Frees a block.
///
/// # Safety
/// All PEs call, one thread of each, with the same block or null. No PE uses it any more, and all operations on it are
/// complete.
pub unsafe fn free(call: &'static str, ptr: *mut c_void) {
    let life = open_life(call);
    if ptr.is_null() {
        return;
    }
    let fingerprint = lock(life).fingerprint();
    // No PE may still be about to use the block, and no transfer to it may be on its way.
    agree(call, 0, true, fingerprint, 0);
    errors::check_guards(call);
    let block = extent_of(life, ptr);
    if !lock(life).free(offset_of(ptr)) {
        no_block(life, call, ptr);
    }
    freed::give_back(call, &block);
    network::with_turns(|turns| turns.freed(offset_of(ptr)));
}

/// The part of the heap that the block of this address has; empty if none begins there.
fn extent_of(life: &LibraryState, ptr: *mut c_void) -> Range<u64> {
    let block = lock(life).sized_block_around(offset_of(ptr));
    block.map_or(0..0, |(start, bytes)| start..start + bytes)
}

/// At `SHMEM_CHECK=3`: says which blocks were never freed. They are the same on all PEs, so the first one speaks.
pub(super) fn list_leaks(call: &'static str) {
    let Some(life) = state::current() else { return };
    let leaks = lock(life).leaks();
    if collected::is_collected() || leaks.is_empty() || job::identity().is_none_or(|(pe, _)| pe != 0) {
        return;
    }
    let error = Error::new(format!("{call}: blocks of the symmetric heap were never freed"))
        .because(leaks.join("\n           "))
        .fix("free them on all PEs with shmem_free, or SHPDEALLC of Fortran, or lower SHMEM_CHECK: the library frees them itself");
    warn(&error, "");
}
