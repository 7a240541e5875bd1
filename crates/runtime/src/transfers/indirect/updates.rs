//! Atomics and signals where the arithmetic of the node does not settle them.

use core::ffi::c_int;
use core::ptr;

use oxshmem_transport::{Amo, Remote, SignalUpdate, Width};

use super::{FoundObject, ObjectAccess, elsewhere, put_seldom, reached, search};
use crate::diagnosis::{errors, recorder};
use crate::memory::control::ControlBlock;
use crate::memory::direct::FAST;
use crate::network;
use crate::network::lane::ContextLane;
use crate::start::job;
use crate::teams::context::ContextHandle;
use crate::teams::via::{On, Via};
use crate::transfers::atomic::{AmoType, execute};
use crate::transfers::range;

/// An atomic; returns the old value if `fetch`. Otherwise it may return before the update happens.
///
/// # Safety
/// As the standard asks of the atomic calls.
#[inline(never)]
pub(crate) unsafe fn amo<V: Via, T: AmoType>(
    call: &'static str,
    given: V::Given,
    address: *const T,
    amo: Amo,
    fetch: bool,
    pe: c_int,
) -> T {
    let (via, at) = (V::of(call, given), address as usize);
    if at & (size_of::<T>() - 1) == 0
        && let Some(width) = const { width_of::<T>() }
        && let Some((to, lane)) = reached(via, at, size_of::<T>(), pe)
    {
        // SAFETY: `reached` found the whole object inside a region, and it is aligned.
        return T::of_bits(unsafe { update(call, lane, to, width, amo, fetch) });
    }
    // SAFETY: our caller has made the promises that this call asks for.
    unsafe { amo_seldom(call, via.context(), address, amo, fetch, pe) }
}

/// A fetching atomic, whose old value is in `result` when the context is quiet again.
///
/// # Safety
/// As the standard asks of the nonblocking atomic calls: as for [`amo`], and `result` is writable until then.
#[inline(never)]
pub(crate) unsafe fn amo_nbi<V: Via, T: AmoType>(
    call: &'static str,
    given: V::Given,
    result: *mut T,
    address: *const T,
    amo: Amo,
    pe: c_int,
) {
    let (via, at) = (V::of(call, given), address as usize);
    if at & (size_of::<T>() - 1) == 0
        && let Some(width) = const { width_of::<T>() }
        && let Some((to, lane)) = reached(via, at, size_of::<T>(), pe)
    {
        // SAFETY: `reached` found the whole object inside a region, and it is aligned; the result stays as the caller promises.
        return unsafe { lane.amo_nbi(call, to, width, amo, result.cast()) };
    }
    // SAFETY: our caller has made the promises that these calls ask for.
    unsafe { result.write_unaligned(amo_seldom(call, via.context(), address, amo, true, pe)) }
}

/// The width of objects that the network updates as they are.
const fn width_of<T>() -> Option<Width> {
    match size_of::<T>() {
        4 => Some(Width::Four),
        8 => Some(Width::Eight),
        _ => None,
    }
}

/// An atomic by the network; returns the old value if `fetch`.
///
/// # Safety
/// `to` is an aligned object inside a region.
#[inline(always)]
unsafe fn update(call: &'static str, lane: &ContextLane, to: Remote, width: Width, amo: Amo, fetch: bool) -> u64 {
    let mut old = 0_u64;
    let place = if fetch { (&raw mut old).cast() } else { ptr::null_mut() };
    // SAFETY: the lane has written `old` when this returns; the caller vouches for the object.
    unsafe { lane.amo(call, to, width, amo, place) };
    old
}

/// [`amo`] where the table does not tell.
///
/// # Safety
/// As for [`amo`].
#[cold]
#[inline(never)]
unsafe fn amo_seldom<T: AmoType>(
    call: &'static str,
    context: ContextHandle,
    address: *const T,
    amo: Amo,
    fetch: bool,
    pe: c_int,
) -> T {
    let at = address as usize;
    if at & (size_of::<T>() - 1) != 0 {
        errors::misaligned(call, at, size_of::<T>());
    }
    let bits = match search(call, "", context, at, size_of::<T>(), ObjectAccess::Atomic, pe) {
        FoundObject::Here(there) => {
            network::before_access(there, !matches!(amo, Amo::Fetch));
            // SAFETY: `search` found the whole object in mapped memory, and it is aligned.
            unsafe { execute(there, size_of::<T>(), amo) }
        }
        FoundObject::There(to) => {
            let on = Lanes { call, context, to };
            match size_of::<T>() {
                4 => on.amo(Width::Four, amo, fetch),
                8 => on.amo(Width::Eight, amo, fetch),
                2 if !network::does_atomics() => on.amo(Width::Two, amo, fetch),
                bytes => on.part(bytes, amo),
            }
        }
    };
    T::of_bits(bits)
}

/// An object that is reached by the network.
struct Lanes {
    call: &'static str,
    context: ContextHandle,
    to: Remote,
}

impl Lanes {
    /// An atomic; returns the old value if `fetch`.
    fn amo(&self, width: Width, amo: Amo, fetch: bool) -> u64 {
        // SAFETY: `search` found the object inside a region, and it is aligned.
        unsafe { update(self.call, self.context.lane(), self.to, width, amo, fetch) }
    }

    /// An atomic on 1 or 2 bytes of a word of 4 (a lock of Fortran has two of 2): the network's have at least 4 bytes, and none has
    /// 1, so the word is exchanged unless another update has been faster. What lies beside is to be changed by atomics alone.
    fn part(&self, bytes: usize, amo: Amo) -> u64 {
        let (shift, mask) = ((self.to.offset & 3) * 8, u64::MAX >> (64 - 8 * bytes));
        let whole = Self { to: Remote { offset: self.to.offset & !3, ..self.to }, ..*self };
        let mut word = whole.amo(Width::Four, Amo::Fetch, true);
        loop {
            let old = word >> shift & mask;
            let new = amo.apply(old, bytes);
            if new == old {
                return old;
            }
            let value = word & !(mask << shift) | new << shift;
            let there = whole.amo(Width::Four, Amo::CompareSwap { cond: word, value }, true);
            if there == word {
                return old;
            }
            word = there;
        }
    }
}

/// Put of `n` bytes that ends with a signal.
///
/// # Safety
/// `source` is readable for `n` bytes; until the next quiet if `nbi`.
#[inline(never)]
pub(crate) unsafe fn put_signal(
    call: &'static str,
    context: ContextHandle,
    dest: *mut u8,
    source: *const u8,
    n: usize,
    signal: *mut u64,
    update: SignalUpdate,
    nbi: bool,
    pe: c_int,
) {
    if !signal.is_aligned() {
        errors::misaligned(call, signal as usize, 8);
    }
    if n > 0
        && let Some((to, lane)) = elsewhere(On(context, call), dest as usize, n, pe)
        && let Some((region, offset)) = FAST.place(signal as usize, 8)
    {
        recorder::note_found(call, to.pe, n);
        let signal = Remote { region, offset, ..to };
        // SAFETY: both are inside regions of one PE; the caller vouches for the source.
        return unsafe { signalled(call, lane, to, source, n, signal, update, nbi) };
    }
    // SAFETY: our caller has made the promises that this call asks for.
    unsafe { put_signal_seldom(call, context, dest, source, n, signal, update, nbi, pe) }
}

/// [`put_signal`] where the table does not tell.
///
/// # Safety
/// As for [`put_signal`].
#[cold]
#[inline(never)]
unsafe fn put_signal_seldom(
    call: &'static str,
    context: ContextHandle,
    dest: *mut u8,
    source: *const u8,
    n: usize,
    signal: *mut u64,
    update: SignalUpdate,
    nbi: bool,
    pe: c_int,
) {
    if n > 0 && source.is_null() {
        errors::null(call, "source");
    }
    match search(call, "sig_addr", context, signal as usize, 8, ObjectAccess::Atomic, pe) {
        FoundObject::Here(there) => {
            // SAFETY: the caller promises `n` readable bytes at `source`; the signal is mapped and aligned.
            unsafe {
                if n > 0 {
                    put_seldom::<false>(call, context, dest, source, n, pe);
                }
                network::before_access(there, true);
                execute(there, 8, update.amo());
            }
            nudge(call, context, pe);
        }
        FoundObject::There(signal) => {
            // Without data the destination may be anything. The data goes with its signal.
            let data = || search(call, "dest", context, dest as usize, n, ObjectAccess::Atomic, pe);
            let to = match if n > 0 { data() } else { FoundObject::There(signal) } {
                FoundObject::There(to) => to,
                FoundObject::Here(_) => unreachable!("data and signal go one way"),
            };
            // SAFETY: both are inside regions of one PE; the caller vouches for the source.
            unsafe { signalled(call, context.lane(), to, source, n, signal, update, nbi) };
        }
    }
}

/// Wakes the context's PE `pe`, which may sleep until a signal comes, if it is on this node: for calls to which the table of the data path
/// tells no windows.
#[cold]
#[inline(never)]
pub(crate) fn nudge(call: &'static str, context: ContextHandle, pe: c_int) {
    if let Some(window) = job::window_of(range::member(call, context, pe)) {
        ControlBlock::of(window).bell().nudge();
    }
}

/// A put with a signal by the network.
///
/// # Safety
/// Both places are inside regions of one PE; `source` is readable for `n` bytes, until the next quiet if `nbi`.
#[inline(always)]
unsafe fn signalled(
    call: &'static str,
    lane: &ContextLane,
    to: Remote,
    source: *const u8,
    n: usize,
    signal: Remote,
    update: SignalUpdate,
    nbi: bool,
) {
    // SAFETY: the source stays readable until the network has read it, or until the next quiet by the caller's promise.
    unsafe { lane.put_signal(call, to, source, n, signal, update) };
    if !nbi {
        lane.await_source_of_signalled(call, to.pe, n);
    }
}
