//! Where operations go that the arithmetic of [`crate::memory::direct`] does not settle: PEs of other nodes, nodes whose PEs have no
//! numbers in a row, teams that are not triplets, calls that are to be checked, atomics that the network does, and the user's mistakes.

pub(crate) mod updates;

use core::ffi::c_int;

use oxshmem_transport::{Region, Remote};

use crate::diagnosis::{errors, recorder};
use crate::memory::direct::{Extent, FAST};
use crate::network;
use crate::network::lane::ContextLane;
use crate::start::job;
use crate::teams::context::ContextHandle;
use crate::teams::via::Via;
use crate::transfers::{element, range};
use crate::wait::Needs;

/// Where the caller's symmetric object is on another PE.
#[derive(Clone, Copy)]
pub(crate) enum FoundObject {
    /// Mapped at this address.
    Here(usize),
    /// On another node.
    There(Remote),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ObjectAccess {
    Transfer,
    /// Where the network does atomics, no object of one is here.
    Atomic,
}

/// The way of nearly all operations between nodes: the place of an object that the network reaches and the context's lane, as far as the
/// table of the data path tells them.
///
/// The caller has found no window for them in that table. While it is open it has all PEs of this node, so an object that it has is on
/// another node, or an atomic is the network's.
#[inline(always)]
fn elsewhere<V: Via>(via: V, address: usize, bytes: usize, pe: c_int) -> Option<(Remote, &'static ContextLane)> {
    let (region, offset) = FAST.place(address, bytes)?;
    // The table is closed while handles are to be looked up.
    let (pe, lane) = if V::IN_WORLD { ContextHandle::published_pe(pe)? } else { via.context().published_member(pe)? };
    Some((Remote { pe, region, offset }, lane))
}

/// [`elsewhere`] for a call, which is recorded.
#[inline(always)]
fn reached<V: Via>(via: V, address: usize, bytes: usize, pe: c_int) -> Option<(Remote, &'static ContextLane)> {
    let found = elsewhere(via, address, bytes, pe)?;
    recorder::note_found(via.call(), found.0.pe, bytes);
    Some(found)
}

/// Finds `bytes` bytes of the caller's symmetric `address`, which is the argument of this name, on the context's PE `pe` by every means,
/// or ends the job with the reason.
#[inline(always)]
fn search(
    call: &'static str,
    argument: &str,
    context: ContextHandle,
    address: usize,
    bytes: usize,
    access: ObjectAccess,
    pe: c_int,
) -> FoundObject {
    let found = match find_believed(call, context, address, bytes, access, pe) {
        Some(found) => found,
        None => find_checked(call, argument, context, address, bytes, access, pe),
    };
    if access == ObjectAccess::Transfer
        && let FoundObject::Here(there) = found
    {
        network::before_access(there, argument == "dest");
    }
    found
}

/// [`search`] in few steps, for a context whose PE numbers follow the arithmetic. Where the node's PEs have no numbers in a row, nearly all
/// operations come this way.
#[inline(always)]
fn find_believed(
    call: &'static str,
    context: ContextHandle,
    address: usize,
    bytes: usize,
    access: ObjectAccess,
    pe: c_int,
) -> Option<FoundObject> {
    // No handle is believed while calls are to be checked, so nobody needs to know what lies at the address.
    let pe = context.published_number(pe)?;
    let holder = range::holder(address, bytes)?;
    Some(on_pe(call, holder, address, bytes, access, pe))
}

/// [`search`] with a look at everything.
#[cold]
#[inline(never)]
fn find_checked(
    call: &'static str,
    argument: &str,
    context: ContextHandle,
    address: usize,
    bytes: usize,
    access: ObjectAccess,
    pe: c_int,
) -> FoundObject {
    find(call, argument, address, bytes, access, range::member(call, context, pe))
}

/// [`search`] for a transfer and a world number that exists.
pub(crate) fn on_world_pe(call: &'static str, address: usize, bytes: usize, pe: u32) -> FoundObject {
    find(call, "", address, bytes, ObjectAccess::Transfer, pe)
}

fn find(
    call: &'static str,
    argument: &str,
    address: usize,
    bytes: usize,
    access: ObjectAccess,
    pe: u32,
) -> FoundObject {
    on_pe(call, range::symmetric_argument(call, argument, address, bytes), address, bytes, access, pe)
}

/// Where world number `pe` has the `bytes` bytes of the caller's `address`, which the extent holds.
#[inline(always)]
fn on_pe(
    call: &'static str,
    (extent, region): (&Extent, Region),
    address: usize,
    bytes: usize,
    access: ObjectAccess,
    pe: u32,
) -> FoundObject {
    let by_network = access == ObjectAccess::Atomic && network::does_atomics();
    match job::window_of(pe) {
        Some(window) if !by_network => FoundObject::Here(extent.in_window(address, window)),
        _ => {
            recorder::note(call, Some(pe), bytes);
            FoundObject::There(Remote { pe, region, offset: (address - extent.own().0) as u64 })
        }
    }
}

/// Put of `n` bytes, which the table of the data path has in no window. The caller leaves the source alone until the next quiet if `NBI`,
/// otherwise until this returns.
///
/// # Safety
/// `source` is readable for `n` bytes until then.
#[inline(never)]
pub(crate) unsafe fn put<V: Via, const NBI: bool>(
    call: &'static str,
    given: V::Given,
    dest: *mut u8,
    source: *const u8,
    n: usize,
    pe: c_int,
) {
    if n == 0 {
        return;
    }
    let via = V::of(call, given);
    // SAFETY: both ways have `n` bytes inside a region or mapped; the caller vouches for the source.
    unsafe {
        match reached(via, dest as usize, n, pe) {
            Some((to, lane)) => send::<NBI>(call, lane, to, source, n),
            None => put_seldom::<NBI>(call, via.context(), dest, source, n, pe),
        }
    }
}

/// [`put`] where the table does not tell.
///
/// # Safety
/// As for [`put`].
#[cold]
#[inline(never)]
unsafe fn put_seldom<const NBI: bool>(
    call: &'static str,
    context: ContextHandle,
    dest: *mut u8,
    source: *const u8,
    n: usize,
    pe: c_int,
) {
    if source.is_null() {
        errors::null(call, "source");
    }
    match search(call, "dest", context, dest as usize, n, ObjectAccess::Transfer, pe) {
        // SAFETY: `search` found `n` mapped bytes; the caller vouches for the source.
        FoundObject::Here(there) => unsafe { element::copy(source, there as *mut u8, n) },
        // SAFETY: `search` found `n` bytes inside a region; the caller vouches for the source.
        FoundObject::There(to) => unsafe { send::<NBI>(call, context.lane(), to, source, n) },
    }
}

/// Whether a put of `n` bytes between nodes waits until the network has read its source, because it is too long to be copied.
#[inline(never)]
pub(crate) fn waits_for_source(n: usize) -> bool {
    network::capabilities().is_some_and(|capabilities| n > capabilities.inject)
}

/// Put of `n` bytes by the network; unless `NBI` the source may be reused when this returns.
///
/// # Safety
/// `to` has `n` bytes and `source` is readable for as many; until the next quiet if `NBI`.
#[inline(always)]
unsafe fn send<const NBI: bool>(call: &'static str, lane: &ContextLane, to: Remote, source: *const u8, n: usize) {
    // SAFETY: `to` has `n` bytes, and the source is readable for as many: until the next quiet if `NBI`, otherwise until this returns.
    // The lane copies one that is not longer than its limit.
    unsafe {
        if NBI {
            lane.put_nbi(call, to, source, n);
        } else if n <= lane.inject() {
            lane.put(call, to, source, n);
        } else {
            send_long(call, lane, to, source, n);
        }
    }
}

/// Put of `n` bytes by the network that returns when the source may be reused.
///
/// # Safety
/// `to` has `n` bytes and `source` is readable for as many.
#[inline(never)]
unsafe fn send_long(call: &'static str, lane: &ContextLane, to: Remote, source: *const u8, n: usize) {
    // SAFETY: `to` has `n` bytes; the source stays valid until the network has read it, when this returns.
    unsafe { lane.put_awaited(call, to, source, n) };
    lane.complete_locally(call, Needs::One(to.pe));
}

/// The ends of a get: when it returns, at the next quiet, or when [`await_gets`] returns.
pub(crate) const AT_RETURN: u8 = 0;
pub(crate) const AT_QUIET: u8 = 1;
pub(crate) const WHEN_AWAITED: u8 = 2;

/// Get of `n` bytes, which the table of the data path has in no window. `END` says when it is complete.
///
/// # Safety
/// `dest` is writable for `n` bytes until then.
#[inline(never)]
pub(crate) unsafe fn get<V: Via, const END: u8>(
    call: &'static str,
    given: V::Given,
    dest: *mut u8,
    source: *const u8,
    n: usize,
    pe: c_int,
) {
    if n == 0 {
        return;
    }
    let via = V::of(call, given);
    // SAFETY: both ways have `n` bytes inside a region or mapped; the caller vouches for the destination.
    unsafe {
        match reached(via, source as usize, n, pe) {
            Some((from, lane)) => fetch::<END>(call, lane, dest, from, n),
            None => get_seldom::<END>(call, via.context(), dest, source, n, pe),
        }
    }
}

/// [`get`] where the table does not tell.
///
/// # Safety
/// As for [`get`].
#[cold]
#[inline(never)]
unsafe fn get_seldom<const END: u8>(
    call: &'static str,
    context: ContextHandle,
    dest: *mut u8,
    source: *const u8,
    n: usize,
    pe: c_int,
) {
    if dest.is_null() {
        errors::null(call, "dest");
    }
    match search(call, "source", context, source as usize, n, ObjectAccess::Transfer, pe) {
        FoundObject::Here(there) => {
            // SAFETY: `search` found `n` mapped bytes; the caller vouches for the destination.
            unsafe { element::copy(there as *const u8, dest, n) };
            element::end_loads();
        }
        // SAFETY: `search` found `n` bytes inside a region; the caller vouches for the destination.
        FoundObject::There(from) => unsafe { fetch::<END>(call, context.lane(), dest, from, n) },
    }
}

/// Returns when gets of one call from the context's PE `pe` are there, which were to end here. Those from a PE of this node are there already.
#[inline(never)]
pub(crate) fn await_gets(call: &'static str, context: ContextHandle, pe: c_int) {
    let pe = range::member(call, context, pe);
    if job::window_of(pe).is_none()
        && let Some(lane) = context.known_lane()
    {
        lane.await_gets(call, pe);
    }
}

/// Get of `n` bytes by the network; `END` says when they are there.
///
/// # Safety
/// `from` has `n` bytes and `dest` is writable for as many until then.
#[inline(always)]
unsafe fn fetch<const END: u8>(call: &'static str, lane: &ContextLane, dest: *mut u8, from: Remote, n: usize) {
    // SAFETY: `from` has `n` bytes; `dest` is writable for as many until they are there.
    unsafe {
        match END {
            AT_RETURN => lane.get(call, dest, from, n),
            AT_QUIET => lane.get_nbi(call, dest, from, n),
            _ => lane.begin_get(call, dest, from, n),
        }
    }
}

/// Put of one value.
///
/// # Safety
/// As for `calls::rma::p`.
#[inline(never)]
pub(crate) unsafe fn p<V: Via, T: Copy>(call: &'static str, given: V::Given, dest: *mut T, value: T, pe: c_int) {
    let via = V::of(call, given);
    if let Some((to, lane)) = reached(via, dest as usize, size_of::<T>(), pe) {
        // SAFETY: `reached` found a `T` inside a region; `value` is a local that stays until the call returns.
        return unsafe { send::<false>(call, lane, to, (&raw const value).cast(), size_of::<T>()) };
    }
    // SAFETY: our caller has made the promises that this call asks for.
    unsafe { p_seldom(call, via.context(), dest, value, pe) }
}

/// [`p`] where the table does not tell.
///
/// # Safety
/// As for [`p`].
#[cold]
#[inline(never)]
unsafe fn p_seldom<T: Copy>(call: &'static str, context: ContextHandle, dest: *mut T, value: T, pe: c_int) {
    match search(call, "dest", context, dest as usize, size_of::<T>(), ObjectAccess::Transfer, pe) {
        // SAFETY: `search` found a mapped `T`; the caller vouches for the alignment and for what is no word.
        FoundObject::Here(there) => unsafe { element::store(there as *mut T, value) },
        // SAFETY: `search` found a `T` inside a region; `value` is a local that stays until the call returns.
        FoundObject::There(to) => unsafe {
            send::<false>(call, context.lane(), to, (&raw const value).cast(), size_of::<T>())
        },
    }
}

/// Get of one value.
///
/// # Safety
/// As for `calls::rma::g`.
#[inline(never)]
pub(crate) unsafe fn g<V: Via, T: Copy>(call: &'static str, given: V::Given, source: *const T, pe: c_int) -> T {
    let via = V::of(call, given);
    // SAFETY: `reached` found a `T` inside a region, whose every bit pattern is a value; the caller vouches for the rest.
    unsafe {
        match reached(via, source as usize, size_of::<T>(), pe) {
            Some((from, lane)) => fetch_one(call, lane, from),
            None => g_seldom(call, via.context(), source, pe),
        }
    }
}

/// Get of one value by the network.
///
/// # Safety
/// `from` has a `T`, of which every bit pattern is a value.
#[inline(always)]
unsafe fn fetch_one<T: Copy>(call: &'static str, lane: &ContextLane, from: Remote) -> T {
    let mut value = core::mem::MaybeUninit::<T>::uninit();
    // SAFETY: `fetch` fills the local, which has room for a `T`.
    unsafe {
        fetch::<AT_RETURN>(call, lane, value.as_mut_ptr().cast(), from, size_of::<T>());
        value.assume_init()
    }
}

/// [`g`] where the table does not tell.
///
/// # Safety
/// As for [`g`].
#[cold]
#[inline(never)]
unsafe fn g_seldom<T: Copy>(call: &'static str, context: ContextHandle, source: *const T, pe: c_int) -> T {
    match search(call, "source", context, source as usize, size_of::<T>(), ObjectAccess::Transfer, pe) {
        // SAFETY: `search` found a mapped `T`, aligned as the caller vouches; every bit pattern is a value.
        FoundObject::Here(there) => unsafe { element::load(there as *const T) },
        // SAFETY: `search` found a `T` inside a region, whose every bit pattern is a value.
        FoundObject::There(from) => unsafe { fetch_one(call, context.lane(), from) },
    }
}
