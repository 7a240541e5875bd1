//! The collective heap calls.
//!
//! Each ends with an exchange on the world that is its barrier and carries four words: whether the PE has a place for the
//! block, a hash of all heap calls so far, how many bytes it must back with pages first, and the bytes that it asks for. So all PEs fail together
//! (HEAP-5), and PEs whose calls differ are told. If any PE must back pages, the PEs ask their nodes' accounts for the
//! memory, and a second exchange tells whether all have it.

mod differing;
mod failed;
mod misplaced;

use core::ffi::{c_long, c_void};
use core::ptr::null_mut;

use oxshmem_base::{Error, planted};
use oxshmem_flight::calls::CallSubject;
use oxshmem_heap::{MIN_ALIGN, Resized};
use parking_lot::MutexGuard;

use crate::calls::order;
use crate::collectives::call::Call;
use crate::collectives::node_exchange;
use crate::collectives::signature::CallKind;
use crate::diagnosis::errors;
use crate::diagnosis::recorder::RecordedCall;
use crate::memory::account;
use crate::memory::collected;
use crate::memory::heap::SymmetricHeap;
use crate::network;
use crate::start::job;
use crate::start::state::{self, LibraryState};
use crate::teams::team::{TeamHandle, TeamState};
use crate::transfers::direct::FAST;
use crate::transfers::length;
use failed::{FailedAllocation, warn};
use misplaced::no_block;

fn open_life(call: &'static str) -> &'static LibraryState {
    state::current().unwrap_or_else(|| errors::not_initialised(call))
}

fn lock(life: &LibraryState) -> MutexGuard<'_, SymmetricHeap> {
    life.heap.lock()
}

/// The outcomes of all PEs at the end of a heap call.
struct Agreement {
    /// The first PE that has not succeeded.
    failed: Option<u32>,
    /// A PE must back memory first.
    growing: bool,
}

/// The barrier at the end of a heap call; this PE must back `missing` bytes.
fn agree(call: &'static str, bytes: usize, succeeded: bool, sequence: u64, missing: u64) -> Agreement {
    let Some(world) = TeamHandle::world().state() else { errors::not_initialised(call) };
    if planted!("heap-call-without-quiet", true, false) {
        // SAFETY: the default context is never destroyed.
        unsafe { order::quiet(crate::InWorld(call)) };
    }
    let (mut failed, mut growing) = (None, false);
    let mut other = None;
    let meeting = Call::of(world, call, CallKind::Heap);
    let _recorded = meeting.record(0);
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

/// Backs the `missing` bytes of the last call, on all PEs or on none; `backed` runs once this PE has its part. After an error, which it
/// prints if it `speaks`, the caller takes the call back.
fn grow(
    life: &LibraryState,
    call: &'static str,
    bytes: usize,
    missing: u64,
    speaks: bool,
    backed: impl FnOnce(),
) -> Result<(), FailedAllocation> {
    let page = lock(life).page();
    let sequence = lock(life).sequence();
    // The kernel may take seconds for many pages, which is no wait.
    let _recorded = RecordedCall::begin(call, CallSubject { peer: None, team: None, bytes: bytes as u64 });
    let outcome = match account::ask(call, missing, page) {
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
        Err(failed) if speaks => failed.say(),
        Err(_) => {}
    }
    let failed = agree(call, bytes, outcome.is_ok(), sequence, 0).failed;
    outcome.and_then(|()| failed.map_or(Ok(()), |pe| Err(FailedAllocation::elsewhere(call, bytes, pe))))
}

/// Nodes may have different memory; the same calls must find the same places everywhere.
pub(super) fn agree_on_capacity(world: &TeamState, call: &'static str) {
    if world.span.is_none() {
        return;
    }
    let life = open_life(call);
    let (mut least, mut guarded) = {
        let heap = lock(life);
        (heap.capacity(), heap.is_guarded())
    };
    node_exchange::exchange(Call::of(world, call, CallKind::Heap), &[least, guarded.into()], |_, words| {
        least = least.min(words[0]);
        guarded |= words[1] != 0;
    });
    let mut heap = lock(life);
    heap.limit(least);
    if guarded {
        heap.guard();
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
    if bytes == 0 {
        return null_mut();
    }
    allocate_or_say(life, call, bytes, align, true, fill).unwrap_or_else(|failed| {
        failed.say();
        null_mut()
    })
}

/// Allocates, or says why not: the error has the numbers, and nothing is printed.
pub(super) fn try_allocate(call: &'static str, bytes: usize) -> Result<*mut c_void, Error> {
    let life = open_life(call);
    allocate_or_say(life, call, bytes, 1, false, |_| {})
        .map_err(|failed| failed.error.of_kind(lock(life).out_of_memory(bytes as u64)))
}

/// Bytes that take so long to fill that a report shall name the call.
const LONG_FILL: usize = 64 << 20;

fn allocate_or_say(
    life: &LibraryState,
    call: &'static str,
    bytes: usize,
    align: usize,
    speaks: bool,
    fill: impl FnOnce(*mut c_void),
) -> Result<*mut c_void, FailedAllocation> {
    let (placed, missing, sequence) = {
        let mut heap = lock(life);
        let placed = heap.place(call, bytes as u64, MIN_ALIGN.max(align as u64));
        (placed, heap.missing(account::ahead), heap.sequence())
    };
    if let (true, Err(error)) = (speaks, &placed) {
        FailedAllocation::everywhere(error.clone()).say();
    }
    // Most blocks have their memory already.
    let mut fill = Some(fill);
    let mut filled = || {
        if let (Ok(offset), Some(fill)) = (&placed, fill.take()) {
            fill(address(*offset));
            lock(life).paint(*offset);
        }
    };
    if missing == 0 {
        let is_long = bytes >= LONG_FILL;
        let subject = CallSubject { peer: None, team: None, bytes: bytes as u64 };
        let _recorded = is_long.then(|| RecordedCall::begin(call, subject));
        filled();
    }
    let Agreement { failed, growing } = agree(call, bytes, placed.is_ok(), sequence, missing);
    let grown = if failed.is_none() && growing { grow(life, call, bytes, missing, speaks, filled) } else { Ok(()) };
    conclude(life, failed.is_none() && grown.is_ok());
    let offset = placed.map_err(FailedAllocation::everywhere)?;
    grown?;
    match failed {
        None => {
            network::allocated(offset, bytes as u64);
            Ok(address(offset))
        }
        Some(pe) => Err(FailedAllocation::elsewhere(call, bytes, pe)),
    }
}

/// The last call is in force on all PEs, or on none.
fn conclude(life: &LibraryState, all: bool) {
    let mut heap = lock(life);
    if all { heap.settle() } else { heap.take_back() }
}

/// Allocates.
///
/// # Safety
/// All PEs call with the same argument, one thread of each.
pub unsafe fn malloc(bytes: usize) -> *mut c_void {
    allocate("shmem_malloc", bytes, 1, |_| {})
}

/// Allocates; the hints change nothing.
///
/// # Safety
/// See [`malloc`].
pub unsafe fn malloc_with_hints(bytes: usize, _hints: c_long) -> *mut c_void {
    allocate("shmem_malloc_with_hints", bytes, 1, |_| {})
}

/// Allocates with an alignment.
///
/// # Safety
/// See [`malloc`].
pub unsafe fn align(alignment: usize, bytes: usize) -> *mut c_void {
    if !alignment.is_power_of_two() {
        errors::bad_argument("shmem_align", "alignment", alignment as i64, "the powers of two");
    }
    allocate("shmem_align", bytes, alignment, |_| {})
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
                .fix("look how the program computes the arguments: one of them may have been negative"),
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
pub unsafe fn free(ptr: *mut c_void) {
    // SAFETY: the caller makes the same promises.
    unsafe { free_named("shmem_free", ptr) }
}

/// [`free`], called by a routine of that name.
///
/// # Safety
/// See [`free`].
pub(super) unsafe fn free_named(call: &'static str, ptr: *mut c_void) {
    let life = open_life(call);
    if ptr.is_null() {
        return;
    }
    let sequence = lock(life).sequence();
    // No PE may still be about to use the block, and no transfer to it may be on its way.
    agree(call, 0, true, sequence, 0);
    errors::check_guards(call);
    if !lock(life).free(offset_of(ptr)) {
        no_block(life, call, ptr);
    }
    network::freed(offset_of(ptr));
}

/// Changes the size of a block.
///
/// # Safety
/// See [`free`]: after it the block has perhaps another address.
pub unsafe fn realloc(ptr: *mut c_void, bytes: usize) -> *mut c_void {
    // SAFETY: the caller makes the same promises.
    unsafe { realloc_named("shmem_realloc", ptr, bytes) }
}

/// [`realloc`], called by a routine of that name.
///
/// # Safety
/// See [`realloc`].
pub(super) unsafe fn realloc_named(call: &'static str, ptr: *mut c_void, bytes: usize) -> *mut c_void {
    if ptr.is_null() {
        return allocate(call, bytes, 1, |_| {});
    }
    if bytes == 0 {
        // SAFETY: the caller promises a block of the heap that no PE uses any more, and all PEs make this call.
        unsafe { free_named(call, ptr) };
        return null_mut();
    }
    let life = open_life(call);
    let old = offset_of(ptr);
    if lock(life).block_around(old) != Some(old) {
        no_block(life, call, ptr);
    }
    if lock(life).is_guarded() {
        return replace(life, call, ptr, bytes);
    }
    let (resized, missing, sequence) = {
        let mut heap = lock(life);
        let resized = heap.resize(call, old, bytes as u64);
        (resized, heap.missing(account::ahead), heap.sequence())
    };
    if let Err(error) = &resized {
        FailedAllocation::everywhere(error.clone()).say();
    }
    // All PEs are in the call, so no transfer to the block is on its way, and all PEs know whether it succeeds.
    let Agreement { failed, growing } = agree(call, bytes, resized.is_ok(), sequence, missing);
    let mut all = failed.is_none();
    if all && growing {
        all = grow(life, call, bytes, missing, true, || {}).is_ok();
    }
    conclude(life, all);
    if !all {
        return null_mut();
    }
    let new = match resized {
        Ok(Resized::Moved { to, copy }) => {
            // SAFETY: both places are in the committed heap and hold `copy` bytes; they may overlap.
            unsafe { address(to).cast::<u8>().copy_from(ptr.cast(), copy as usize) };
            address(to)
        }
        Ok(Resized::InPlace) | Err(_) => ptr,
    };
    network::freed(old);
    network::allocated(offset_of(new), bytes as u64);
    agree(call, bytes, true, sequence, 0);
    new
}

/// [`realloc`] of a guarded block: always a new one, so that accesses to the old one are found.
fn replace(life: &LibraryState, call: &'static str, ptr: *mut c_void, bytes: usize) -> *mut c_void {
    let Some(size) = lock(life).guarded_size(offset_of(ptr)) else { no_block(life, call, ptr) };
    let sequence = lock(life).sequence();
    // After this no transfer to the old block is on its way.
    agree(call, bytes, true, sequence, 0);
    let copied = bytes.min(size as usize);
    // SAFETY: the old block has `size` bytes, the new one `bytes`, and they do not overlap: both are in use.
    let new =
        allocate(call, bytes, 1, |block| unsafe { block.cast::<u8>().copy_from_nonoverlapping(ptr.cast(), copied) });
    if !new.is_null() {
        // SAFETY: all PEs have got here, and the program uses the new block from now on.
        unsafe { free_named(call, ptr) };
    }
    new
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
