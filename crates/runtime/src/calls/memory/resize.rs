//! The calls that change the size of a block.

use core::ffi::c_void;
use core::ptr::null_mut;

use oxshmem_heap::Resized;

use super::misplaced::no_block;
use super::proposal::Proposal;
use super::{address, agree, allocate, extent_of, free, lock, offset_of, open_life};
use crate::collectives::active_set::freed;
use crate::network;
use crate::start::state::LibraryState;

/// Changes the size of a block.
///
/// # Safety
/// See [`free`]: after it the block has perhaps another address.
pub unsafe fn realloc(call: &'static str, ptr: *mut c_void, bytes: usize) -> *mut c_void {
    if ptr.is_null() {
        return allocate(call, bytes, 1, |_| {});
    }
    if bytes == 0 {
        // SAFETY: the caller promises a block of the heap that no PE uses any more, and all PEs make this call.
        unsafe { free(call, ptr) };
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
    let block = extent_of(life, ptr);
    let proposal = Proposal::new(life, call, bytes, true, |heap| heap.resize(call, old, bytes as u64));
    // All PEs are in the call, so no transfer to the block is on its way, and all PEs know whether it succeeds.
    let Ok(resized) = proposal.conclude(|| {}) else { return null_mut() };
    let new = match resized {
        Resized::Moved { to, copy } => {
            // SAFETY: both places are in the committed heap and hold `copy` bytes; they may overlap.
            unsafe { address(to).cast::<u8>().copy_from(ptr.cast(), copy as usize) };
            freed::give_back(call, &block);
            address(to)
        }
        Resized::InPlace => ptr,
    };
    network::with_turns(|turns| turns.freed(old));
    network::with_turns(|turns| turns.allocated(offset_of(new), bytes as u64));
    let fingerprint = lock(life).fingerprint();
    agree(call, bytes, true, fingerprint, 0);
    new
}

/// [`realloc`] of a guarded block: always a new one, so that accesses to the old one are found.
fn replace(life: &LibraryState, call: &'static str, ptr: *mut c_void, bytes: usize) -> *mut c_void {
    let Some(size) = lock(life).guarded_size(offset_of(ptr)) else { no_block(life, call, ptr) };
    let fingerprint = lock(life).fingerprint();
    // After this no transfer to the old block is on its way.
    agree(call, bytes, true, fingerprint, 0);
    let copied = bytes.min(size as usize);
    lock(life).set_replaced(Some(offset_of(ptr)));
    // SAFETY: the old block has `size` bytes, the new one `bytes`, and they do not overlap: both are in use.
    let new =
        allocate(call, bytes, 1, |block| unsafe { block.cast::<u8>().copy_from_nonoverlapping(ptr.cast(), copied) });
    lock(life).set_replaced(None);
    if !new.is_null() {
        // SAFETY: all PEs have got here, and the program uses the new block from now on.
        unsafe { free(call, ptr) };
    }
    new
}
