//! Where operations go that the arithmetic of [`crate::transfers::direct`] does not settle: PEs of other nodes, teams that are not
//! triplets, calls that are to be checked, atomics that the network does, and the user's mistakes.

use core::ffi::c_int;
use core::ptr;

use oxshmem_transport::{Amo, Remote, SignalUpdate, Width};

use crate::diagnosis::{errors, recorder};
use crate::network;
use crate::network::lane::Direction;
use crate::start::job;
use crate::teams::context::ContextHandle;
use crate::transfers::atomic::{AmoType, execute};
use crate::transfers::direct::{FAST, is_apart};
use crate::transfers::element;
use crate::transfers::range;
use crate::wait::Needs;

/// Where the caller's symmetric object is on another PE.
#[derive(Clone, Copy)]
pub(crate) enum FoundObject {
    /// Mapped at this address.
    Here(usize),
    /// On another node.
    There(Remote),
}

/// The kind of access.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Transfer,
    /// Where the network does atomics, no object of one is here.
    Atomic,
}

/// Finds `bytes` bytes of the caller's symmetric `address` on the context's PE `pe`, or ends the job with the reason.
#[inline(always)]
fn locate(
    call: &'static str,
    context: ContextHandle,
    address: usize,
    bytes: usize,
    what: What,
    pe: c_int,
) -> FoundObject {
    match elsewhere(context, address, bytes, what, pe) {
        Some(there) => {
            recorder::note(call, Some(there.pe), bytes);
            FoundObject::There(there)
        }
        None => search(call, context, address, bytes, what, pe),
    }
}

/// The place of an object that the network reaches, as far as the table of the data path tells. While the table is open it has all PEs
/// of this node.
#[inline(always)]
fn elsewhere(context: ContextHandle, address: usize, bytes: usize, what: What, pe: c_int) -> Option<Remote> {
    let (region, offset) = FAST.place(address, bytes)?;
    let pe = context.published_world(pe)?;
    let by_network = what == What::Atomic && network::does_atomics();
    (by_network || is_apart(pe)).then_some(Remote { pe, region, offset })
}

/// [`locate`] by everything that there is to know.
#[cold]
#[inline(never)]
fn search(
    call: &'static str,
    context: ContextHandle,
    address: usize,
    bytes: usize,
    what: What,
    pe: c_int,
) -> FoundObject {
    find(call, address, bytes, what, range::member(call, context, pe))
}

/// [`locate`] for a transfer and a world number that exists.
pub(crate) fn on_world_pe(call: &'static str, address: usize, bytes: usize, pe: u32) -> FoundObject {
    find(call, address, bytes, What::Transfer, pe)
}

fn find(call: &'static str, address: usize, bytes: usize, what: What, pe: u32) -> FoundObject {
    let (extent, region) = range::symmetric(call, address, bytes);
    let by_network = what == What::Atomic && network::does_atomics();
    match job::window_of(pe) {
        Some(window) if !by_network => FoundObject::Here(extent.in_window(address, window)),
        _ => {
            recorder::note(call, Some(pe), bytes);
            FoundObject::There(Remote { pe, region, offset: (address - extent.own().0) as u64 })
        }
    }
}

/// Put of `n` bytes.
///
/// # Safety
/// `source` is readable for `n` bytes.
#[inline(never)]
pub(crate) unsafe fn put(
    call: &'static str,
    context: ContextHandle,
    dest: *mut u8,
    source: *const u8,
    n: usize,
    pe: c_int,
) {
    if n == 0 {
        return;
    }
    match locate(call, context, dest as usize, n, What::Transfer, pe) {
        // SAFETY: `locate` found `n` mapped bytes; the caller vouches for the source.
        FoundObject::Here(there) => unsafe { ptr::copy(source, there as *mut u8, n) },
        // SAFETY: `locate` found `n` bytes inside a region; the caller vouches for the source.
        FoundObject::There(to) => unsafe { send(call, context, to, source, n) },
    }
}

/// Put of `n` bytes by the network; the source may be reused when this returns.
///
/// # Safety
/// `to` has `n` bytes and `source` is readable for as many.
unsafe fn send(call: &'static str, context: ContextHandle, to: Remote, source: *const u8, n: usize) {
    let lane = context.lane();
    if n <= lane.inject() {
        // SAFETY: `to` has `n` bytes; the lane copies the source, which is readable for as many.
        return lane.operate(call, to.pe, Direction::Write, |lane| unsafe { lane.put(to, source, n) });
    }
    // SAFETY: `to` has `n` bytes; the source, too long to be copied, stays valid until the drain has ended.
    lane.operate(call, to.pe, Direction::Write, |lane| unsafe { lane.put_nbi(to, source, n) });
    lane.drain(call, Needs::One(to.pe));
}

/// Get of `n` bytes.
///
/// # Safety
/// `dest` is writable for `n` bytes.
#[inline(never)]
pub(crate) unsafe fn get(
    call: &'static str,
    context: ContextHandle,
    dest: *mut u8,
    source: *const u8,
    n: usize,
    pe: c_int,
) {
    if n == 0 {
        return;
    }
    match locate(call, context, source as usize, n, What::Transfer, pe) {
        // SAFETY: `locate` found `n` mapped bytes; the caller vouches for the destination.
        FoundObject::Here(there) => unsafe { ptr::copy(there as *const u8, dest, n) },
        // SAFETY: `locate` found `n` bytes inside a region; the caller vouches for the destination.
        FoundObject::There(from) => unsafe { fetch(call, context, dest, from, n) },
    }
}

/// Get of `n` bytes by the network.
///
/// # Safety
/// `from` has `n` bytes and `dest` is writable for as many.
unsafe fn fetch(call: &'static str, context: ContextHandle, dest: *mut u8, from: Remote, n: usize) {
    let lane = context.lane();
    // SAFETY: `from` has `n` bytes; `dest` is writable for as many and stays so until the drain has ended.
    lane.operate(call, from.pe, Direction::Read, |lane| unsafe { lane.get_nbi(dest, from, n) });
    lane.drain(call, Needs::One(from.pe));
}

/// Get of `n` bytes that is complete at the next quiet.
///
/// # Safety
/// `dest` is writable for `n` bytes until then.
#[inline(never)]
pub(crate) unsafe fn get_nbi(
    call: &'static str,
    context: ContextHandle,
    dest: *mut u8,
    source: *const u8,
    n: usize,
    pe: c_int,
) {
    if n == 0 {
        return;
    }
    match locate(call, context, source as usize, n, What::Transfer, pe) {
        // SAFETY: `locate` found `n` mapped bytes; the caller vouches for the destination.
        FoundObject::Here(there) => unsafe { ptr::copy(there as *const u8, dest, n) },
        FoundObject::There(from) => {
            // SAFETY: `locate` found `n` bytes inside a region; the caller keeps `dest` until the next quiet.
            context.lane().operate(call, from.pe, Direction::Read, |lane| unsafe { lane.get_nbi(dest, from, n) });
        }
    }
}

/// Put of `n` bytes whose source the caller leaves alone until the next quiet.
///
/// # Safety
/// `source` is readable for `n` bytes until then.
#[inline(never)]
pub(crate) unsafe fn put_nbi(
    call: &'static str,
    context: ContextHandle,
    dest: *mut u8,
    source: *const u8,
    n: usize,
    pe: c_int,
) {
    if n == 0 {
        return;
    }
    match locate(call, context, dest as usize, n, What::Transfer, pe) {
        // SAFETY: `locate` found `n` mapped bytes; the caller vouches for the source.
        FoundObject::Here(there) => unsafe { ptr::copy(source, there as *mut u8, n) },
        FoundObject::There(to) => {
            // SAFETY: `locate` found `n` bytes inside a region; the caller keeps the source until the next quiet.
            context.lane().operate(call, to.pe, Direction::Write, |lane| unsafe { lane.put_nbi(to, source, n) })
        }
    }
}

/// Put of one value.
///
/// # Safety
/// As for `calls::rma::p`.
#[inline(never)]
pub(crate) unsafe fn p<T: Copy>(call: &'static str, context: ContextHandle, dest: *mut T, value: T, pe: c_int) {
    match locate(call, context, dest as usize, size_of::<T>(), What::Transfer, pe) {
        // SAFETY: `locate` found a mapped `T`; the caller vouches for the alignment and for what is no word.
        FoundObject::Here(there) => unsafe { element::store(there as *mut T, value) },
        // SAFETY: `locate` found a `T` inside a region; `value` is a local that stays until the call returns.
        FoundObject::There(to) => unsafe { send(call, context, to, (&raw const value).cast(), size_of::<T>()) },
    }
}

/// Get of one value.
///
/// # Safety
/// As for `calls::rma::g`.
#[inline(never)]
pub(crate) unsafe fn g<T: Copy>(call: &'static str, context: ContextHandle, source: *const T, pe: c_int) -> T {
    match locate(call, context, source as usize, size_of::<T>(), What::Transfer, pe) {
        // SAFETY: `locate` found a mapped `T`, aligned as the caller vouches; every bit pattern is a value.
        FoundObject::Here(there) => unsafe { element::load(there as *const T) },
        FoundObject::There(from) => {
            let mut value = core::mem::MaybeUninit::<T>::uninit();
            // SAFETY: `locate` found a `T` inside a region; `fetch` fills the local, of which every bit pattern is a value.
            unsafe {
                fetch(call, context, value.as_mut_ptr().cast(), from, size_of::<T>());
                value.assume_init()
            }
        }
    }
}

/// An atomic; returns the old value if `fetch`, otherwise perhaps before it happens.
///
/// # Safety
/// As the standard asks of the atomic calls.
#[inline(never)]
pub(crate) unsafe fn amo<T: AmoType>(
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
    let bits = match locate(call, context, at, size_of::<T>(), What::Atomic, pe) {
        // SAFETY: `locate` found the whole object in mapped memory, and it is aligned.
        FoundObject::Here(there) => unsafe { execute(there, size_of::<T>(), amo) },
        FoundObject::There(to) => {
            let on = Lanes { call, context, to };
            match size_of::<T>() {
                2 if network::does_atomics() => on.half(amo),
                2 => on.amo(Width::Two, amo, fetch),
                4 => on.amo(Width::Four, amo, fetch),
                8 => on.amo(Width::Eight, amo, fetch),
                other => {
                    errors::bad_argument(call, "the size of the object", other as i64, "2, 4 and 8 bytes between nodes")
                }
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
        let lane = self.context.lane();
        let mut old = 0_u64;
        let direction = if fetch { Direction::Read } else { Direction::Write };
        let place = if fetch { (&raw mut old).cast() } else { ptr::null_mut() };
        // SAFETY: `old` stays valid until the drain has ended; `locate` found the object inside a region, and it is aligned.
        lane.operate_near(self.call, self.to.pe, direction, |lane| unsafe { lane.amo(self.to, width, amo, place) });
        if fetch {
            lane.drain(self.call, Needs::One(self.to.pe));
        }
        old
    }

    /// An atomic on half a word of 4 bytes (a lock of Fortran has two): the network's have at least 4 bytes, so the word is
    /// exchanged unless somebody has been faster. Both halves of such a word are changed in no other way.
    fn half(&self, amo: Amo) -> u64 {
        let (shift, mask) = ((self.to.offset & 2) * 8, u64::from(u16::MAX));
        let whole = Self { to: Remote { offset: self.to.offset & !2, ..self.to }, ..*self };
        let mut word = whole.amo(Width::Four, Amo::Fetch, true);
        loop {
            let old = word >> shift & mask;
            let new = amo.apply(old) & mask;
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
    match locate(call, context, signal as usize, 8, What::Atomic, pe) {
        FoundObject::Here(there) => {
            // SAFETY: the caller promises `n` readable bytes at `source`; the signal is mapped and aligned.
            unsafe {
                put(call, context, dest, source, n, pe);
                execute(there, 8, update.amo());
            }
        }
        FoundObject::There(signal) => {
            // Without data the destination may be anything. The data goes with its signal.
            let data = || locate(call, context, dest as usize, n, What::Atomic, pe);
            let to = match if n > 0 { data() } else { FoundObject::There(signal) } {
                FoundObject::There(to) => to,
                FoundObject::Here(_) => unreachable!("data and signal go one way"),
            };
            let lane = context.lane();
            // SAFETY: both are inside regions of one PE; the source stays readable until the drain has ended, or until the
            // next quiet by the caller's promise.
            lane.operate_near(call, to.pe, Direction::Write, |lane| unsafe {
                lane.put_signal(to, source, n, signal, update)
            });
            if !nbi {
                lane.drain(call, Needs::One(to.pe));
            }
        }
    }
}
