//! Looks at the range of memory that a call names, where the arithmetic of [`crate::memory::direct`] does not settle it: each
//! function ends the job with the reason if the range is wrong.

use core::ffi::c_int;

use oxshmem_transport::Region;

use crate::diagnosis::errors;
use crate::memory::direct::{Extent, FAST};
use crate::teams::context::ContextHandle;
use crate::transfers::length::Cover;

/// The world number of the context's PE `pe`.
pub(crate) fn member(call: &'static str, context: ContextHandle, pe: c_int) -> u32 {
    let team = context.live_team(call);
    if pe as u32 >= team.size {
        errors::no_such_pe(call, pe, team.size);
    }
    team.world(pe as u32)
}

/// Ends the job with the reason unless the context has a PE `pe`, and `bytes` bytes at the caller's `address`, an argument of this
/// name, are symmetric.
#[cold]
#[inline(never)]
pub(crate) fn check_array(
    call: &'static str,
    argument: &str,
    context: ContextHandle,
    address: usize,
    bytes: usize,
    pe: c_int,
) {
    member(call, context, pe);
    if bytes > isize::MAX as usize {
        errors::too_long(call, argument, address);
    }
    symmetric_argument(call, argument, address, bytes);
}

/// Ends the job with a message if the argument of this name counts elements and is negative.
#[cold]
#[inline(never)]
pub(crate) fn check_count(call: &'static str, argument: &str, count: usize) {
    if count > isize::MAX as usize {
        errors::negative(call, argument, count);
    }
}

/// Ends the job with a message if the caller's array, which need not be symmetric, leaves the address space, or leaves the
/// symmetric memory in which it begins.
#[cold]
#[inline(never)]
pub(crate) fn check_own(call: &'static str, argument: &str, address: usize, cover: Cover) {
    if address == 0 && cover.bytes > 0 {
        errors::null(call, argument);
    }
    if !cover.is_possible(address) {
        errors::too_long(call, argument, address);
    }
    if FAST.name(address, 1).is_some() {
        symmetric_argument(call, argument, cover.lowest(address), cover.bytes);
    }
}

/// The extent of symmetric memory that holds `bytes` bytes of the caller's at `address`, whatever lies there.
#[inline(always)]
pub(crate) fn holder(address: usize, bytes: usize) -> Option<(&'static Extent, Region)> {
    if FAST.heap.holds(address, bytes) {
        Some((&FAST.heap, Region::Heap))
    } else if FAST.statics.holds(address, bytes) {
        Some((&FAST.statics, Region::Statics))
    } else {
        None
    }
}

/// The extent of symmetric memory that holds `bytes` bytes of the caller's at `address`, or ends the job with the reason.
pub(crate) fn symmetric(call: &'static str, address: usize, bytes: usize) -> (&'static Extent, Region) {
    symmetric_argument(call, "", address, bytes)
}

/// [`symmetric`] of the argument of this name; it is empty where the call has one array.
pub(crate) fn symmetric_argument(
    call: &'static str,
    argument: &str,
    address: usize,
    bytes: usize,
) -> (&'static Extent, Region) {
    let Some((extent, region)) = holder(address, bytes) else { errors::not_symmetric(call, argument, address, bytes) };
    if region == Region::Heap {
        errors::check_block(call, address, bytes);
    } else {
        errors::check_variable(call, address, bytes);
    }
    (extent, region)
}
