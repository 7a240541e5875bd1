//! Put and get.
//!
//! On the node a transfer is complete when the call returns, so the nonblocking forms do what the blocking ones do.

mod far_strides;

use core::ffi::c_int;

use crate::memory::direct::{near, near_object};
use crate::teams::via::Via;
use crate::transfers::element::{self, copy};
use crate::transfers::length::{self, Cover, bytes};
use crate::transfers::{indirect, range};
use crate::wait::Needs;

use far_strides::FarBlocks;

/// Stores one element. Others may store and load a word (an element of 1, 2, 4 or 8 bytes) at the same time: see [`element`].
///
/// # Safety
/// As the standard asks of the call: `dest` is symmetric, and aligned as every address of a `T`. If an element is no word, no
/// other access to it races with this call.
#[inline(always)]
pub unsafe fn p<V: Via, T: Copy>(via: V, dest: *mut T, value: T, pe: c_int) {
    match near_object(dest, via.world(pe)) {
        // SAFETY: `near_object` found it inside memory that is mapped for reading and writing, at the same distance from an
        // aligned address; the caller vouches for the alignment and for what is no word.
        Some(there) => unsafe { element::store(there, value) },
        // SAFETY: our caller has made the promises for `dest` that this call asks for.
        None => unsafe { indirect::p::<V, T>(via.call(), via.given(), dest, value, pe) },
    }
}

/// Loads one element.
///
/// # Safety
/// As for [`p`].
#[inline(always)]
pub unsafe fn g<V: Via, T: Copy>(via: V, source: *const T, pe: c_int) -> T {
    match near_object(source, via.world(pe)) {
        // SAFETY: `near_object` found it in mapped memory, aligned as the caller vouches; every bit pattern is a value of the
        // types of the C calls.
        Some(there) => unsafe { element::load(there) },
        // SAFETY: our caller has made the promises for `source` that this call asks for.
        None => unsafe { indirect::g::<V, T>(via.call(), via.given(), source, pe) },
    }
}

/// Copies `nelems` elements to `pe`.
///
/// # Safety
/// As the standard asks of the call: `dest` is symmetric and `source` readable for `nelems` elements. A copy of many bytes is
/// no atomic access in the language, so the program keeps others from the bytes until it is complete.
#[inline(always)]
pub unsafe fn put<V: Via, T>(via: V, dest: *mut T, source: *const T, nelems: usize, pe: c_int) {
    let n = bytes::<T>(nelems);
    match near(dest, n, via.world(pe)) {
        // SAFETY: `near` checked all `n` bytes of the destination; the caller vouches for the source.
        Some(there) => unsafe { copy(source.cast(), there.cast(), n) },
        // SAFETY: our caller vouches for `nelems` elements on both sides, which are `n` bytes.
        None => unsafe { indirect::put::<V, false>(via.call(), via.given(), dest.cast(), source.cast(), n, pe) },
    }
}

/// Copies `nelems` elements from `pe`.
///
/// # Safety
/// As the standard asks of the call: `source` is symmetric and `dest` writable for `nelems` elements.
#[inline(always)]
pub unsafe fn get<V: Via, T>(via: V, dest: *mut T, source: *const T, nelems: usize, pe: c_int) {
    let n = bytes::<T>(nelems);
    match near(source, n, via.world(pe)) {
        Some(there) => {
            // SAFETY: `near` checked all `n` bytes of the source; the caller vouches for the destination.
            unsafe { copy(there.cast(), dest.cast(), n) };
            element::end_loads();
        }
        // SAFETY: the caller promises `n` writable bytes at `dest`, and `indirect::get` looks at the source's address
        // itself.
        None => unsafe {
            indirect::get::<V, { indirect::AT_RETURN }>(via.call(), via.given(), dest.cast(), source.cast(), n, pe)
        },
    }
}

/// [`put`] that may return before the source can be reused.
///
/// # Safety
/// As for [`put`]; the source stays untouched until the next quiet.
#[inline(always)]
pub unsafe fn put_nbi<V: Via, T>(via: V, dest: *mut T, source: *const T, nelems: usize, pe: c_int) {
    let n = bytes::<T>(nelems);
    match near(dest, n, via.world(pe)) {
        // SAFETY: `near` checked all `n` bytes of the destination; the caller promises the source.
        Some(there) => unsafe { copy(source.cast(), there.cast(), n) },
        // SAFETY: the caller promises that the source stays untouched until the next quiet, and `indirect::put` looks
        // at the destination's address itself.
        None => unsafe { indirect::put::<V, true>(via.call(), via.given(), dest.cast(), source.cast(), n, pe) },
    }
}

/// [`get`] that may return before the data is there.
///
/// # Safety
/// As for [`get`]; the destination is not looked at until the next quiet.
#[inline(always)]
pub unsafe fn get_nbi<V: Via, T>(via: V, dest: *mut T, source: *const T, nelems: usize, pe: c_int) {
    let n = bytes::<T>(nelems);
    match near(source, n, via.world(pe)) {
        // SAFETY: `near` checked all `n` bytes of the source; the caller promises the destination.
        Some(there) => unsafe { copy(there.cast(), dest.cast(), n) },
        // SAFETY: the caller promises that the destination is writable until the next quiet, and `indirect::get` looks
        // at the source's address itself.
        None => unsafe {
            indirect::get::<V, { indirect::AT_QUIET }>(via.call(), via.given(), dest.cast(), source.cast(), n, pe)
        },
    }
}

/// [`put`] of a part of what the caller puts. Returns whether the network may still read its source when the call returns: it has when
/// [`complete_locally`] returns.
///
/// # Safety
/// As for [`put`]; the source stays untouched until then.
#[inline(always)]
pub unsafe fn begin_put<V: Via, T>(via: V, dest: *mut T, source: *const T, nelems: usize, pe: c_int) -> bool {
    let n = bytes::<T>(nelems);
    if near(dest, n, via.world(pe)).is_none() && indirect::waits_for_source(n) {
        // SAFETY: the caller promises that the source stays untouched, and `indirect::put` looks at the destination's address itself.
        unsafe { indirect::put::<V, true>(via.call(), via.given(), dest.cast(), source.cast(), n, pe) };
        return true;
    }
    // SAFETY: our caller has made the promises that this call asks for.
    unsafe { put(via, dest, source, nelems, pe) };
    false
}

/// [`get`] of a part of what the caller gets. Returns whether the data may still be on its way when the call returns: it is there after
/// the next quiet.
///
/// # Safety
/// As for [`get`]; the destination is not looked at until then.
#[inline(always)]
pub unsafe fn begin_get<V: Via, T>(via: V, dest: *mut T, source: *const T, nelems: usize, pe: c_int) -> bool {
    let n = bytes::<T>(nelems);
    if near(source, n, via.world(pe)).is_none() {
        // SAFETY: the caller promises that the destination is writable until the next quiet, and `indirect::get` looks
        // at the source's address itself.
        unsafe {
            indirect::get::<V, { indirect::AT_QUIET }>(via.call(), via.given(), dest.cast(), source.cast(), n, pe)
        };
        return true;
    }
    // SAFETY: our caller has made the promises that this call asks for.
    unsafe { get(via, dest, source, nelems, pe) };
    false
}

/// Returns when the network has read the sources of everything that was issued on the context.
///
/// # Safety
/// The context has not been destroyed.
pub unsafe fn complete_locally<V: Via>(via: V) {
    if let Some(lane) = via.context().known_lane() {
        lane.complete_locally(via.call(), Needs::Anyone);
    }
}

/// Bytes of a strided array in private memory from which a call looks at the array. A shorter one that is wrong is found by the
/// processor, as in any other call that is given memory of the program's own.
const FAR: usize = 1 << 30;

/// Looks at the side of a strided transfer that need not be symmetric.
#[inline(always)]
fn look_at_own<V: Via, T>(via: V, argument: &str, address: *const T, stride: isize, piece: usize, count: usize) {
    let cover = Cover::strided(size_of::<T>(), stride, piece, count);
    if cover.bytes > FAR {
        range::check_count(via.call(), if piece == 1 { "nelems" } else { "nblocks" }, count);
        range::check_own(via.call(), argument, address as usize, cover);
    }
}

/// Copies `count` pieces of `piece` elements between memory that is strided on both sides.
///
/// # Safety
/// Both sides are valid for every piece.
#[inline(always)]
unsafe fn copy_pieces<T>(from: *const T, from_stride: isize, to: *mut T, to_stride: isize, piece: usize, count: usize) {
    let n = bytes::<T>(piece);
    for i in 0..count as isize {
        // SAFETY: piece `i` starts `i` strides after the first on either side, which the caller vouches for.
        unsafe {
            let (from, to) =
                (from.wrapping_offset(i.wrapping_mul(from_stride)), to.wrapping_offset(i.wrapping_mul(to_stride)));
            copy(from.cast(), to.cast(), n);
        }
    }
}

/// Block-strided put: `nblocks` blocks of `bsize` elements; strides count elements between block starts.
///
/// # Safety
/// As for [`put`], for every block.
#[inline(always)]
pub unsafe fn ibput<V: Via, T>(
    via: V,
    dest: *mut T,
    source: *const T,
    dst: isize,
    sst: isize,
    bsize: usize,
    nblocks: usize,
    pe: c_int,
) {
    if nblocks == 0 || bsize == 0 || size_of::<T>() == 0 {
        return;
    }
    if let Some(elements) = length::joined(dst, sst, bsize, nblocks) {
        // SAFETY: our caller vouches for all elements of the blocks.
        return unsafe { put(via, dest, source, elements, pe) };
    }
    let cover = Cover::strided(size_of::<T>(), dst, bsize, nblocks);
    let lowest = dest.wrapping_byte_sub(cover.back);
    look_at_own(via, "source", source, sst, bsize, nblocks);
    match near(lowest, cover.bytes, via.world(pe)) {
        // SAFETY: `near` checked everything from the lowest block to the end of the highest, and the first block begins
        // `cover.back` bytes after the lowest; the caller vouches for the source.
        Some(lowest) => unsafe { copy_pieces(source, sst, lowest.wrapping_byte_add(cover.back), dst, bsize, nblocks) },
        None => {
            // All blocks lie inside the caller's array from here on, whatever the strides.
            range::check_array(via.call(), "dest", via.context(), lowest as usize, cover.bytes, pe);
            let n = bytes::<T>(bsize);
            let blocks = FarBlocks::of::<T>(n, dst, sst, nblocks);
            if blocks.are_put_together() {
                // SAFETY: all blocks lie inside of the array; our caller vouches for the source.
                return unsafe { blocks.put(via, dest.cast(), source.cast(), pe) };
            }
            let block = |i: isize| {
                let to = dest.wrapping_offset(i.wrapping_mul(dst));
                let from = source.wrapping_offset(i.wrapping_mul(sst));
                (to.cast(), from.cast())
            };
            // One wait for all sources: the last put waits until everything that the context has under way is complete locally.
            let (last, waits) = (nblocks as isize - 1, indirect::waits_for_source(n));
            for i in 0..last {
                let (to, from) = block(i);
                // SAFETY: one block of the caller's promise, whose source is free when that of the last one is, or at once.
                unsafe {
                    if waits {
                        indirect::put::<V, true>(via.call(), via.given(), to, from, n, pe);
                    } else {
                        indirect::put::<V, false>(via.call(), via.given(), to, from, n, pe);
                    }
                }
            }
            let (to, from) = block(last);
            // SAFETY: one block of the caller's promise.
            unsafe { indirect::put::<V, false>(via.call(), via.given(), to, from, n, pe) };
        }
    }
}

/// Block-strided get.
///
/// # Safety
/// As for [`get`], for every block.
#[inline(always)]
pub unsafe fn ibget<V: Via, T>(
    via: V,
    dest: *mut T,
    source: *const T,
    dst: isize,
    sst: isize,
    bsize: usize,
    nblocks: usize,
    pe: c_int,
) {
    if nblocks == 0 || bsize == 0 || size_of::<T>() == 0 {
        return;
    }
    if let Some(elements) = length::joined(dst, sst, bsize, nblocks) {
        // SAFETY: our caller vouches for all elements of the blocks.
        return unsafe { get(via, dest, source, elements, pe) };
    }
    let cover = Cover::strided(size_of::<T>(), sst, bsize, nblocks);
    let lowest = source.wrapping_byte_sub(cover.back);
    look_at_own(via, "dest", dest.cast_const(), dst, bsize, nblocks);
    match near(lowest, cover.bytes, via.world(pe)) {
        Some(lowest) => {
            let first = lowest.wrapping_byte_add(cover.back).cast_const();
            // SAFETY: `near` checked everything from the lowest block to the end of the highest, and the first block begins
            // `cover.back` bytes after the lowest; the caller vouches for the destination.
            unsafe { copy_pieces(first, sst, dest, dst, bsize, nblocks) };
            element::end_loads();
        }
        None => {
            // All blocks lie inside the caller's array from here on, whatever the strides.
            range::check_array(via.call(), "source", via.context(), lowest as usize, cover.bytes, pe);
            let n = bytes::<T>(bsize);
            let blocks = FarBlocks::of::<T>(n, dst, sst, nblocks);
            if blocks.are_got_together(cover.bytes) {
                // SAFETY: the array has all from the lowest block to the end of the highest; our caller vouches for the destination.
                return unsafe { blocks.get(via, dest.cast(), source.cast(), pe) };
            }
            let block = |i: isize| {
                let to = dest.wrapping_offset(i.wrapping_mul(dst));
                let from = source.wrapping_offset(i.wrapping_mul(sst));
                (to.cast(), from.cast())
            };
            for i in 0..nblocks as isize {
                let (to, from) = block(i);
                // SAFETY: one block of the caller's promise, which is complete when this call returns.
                unsafe { indirect::get::<V, { indirect::WHEN_AWAITED }>(via.call(), via.given(), to, from, n, pe) };
            }
            // One round trip for all.
            indirect::await_gets(via.call(), via.context(), pe);
        }
    }
}

/// Strided put of single elements.
///
/// # Safety
/// As for [`put`], for every element.
#[inline(always)]
pub unsafe fn iput<V: Via, T>(
    via: V,
    dest: *mut T,
    source: *const T,
    dst: isize,
    sst: isize,
    nelems: usize,
    pe: c_int,
) {
    // SAFETY: a block of one element is that element.
    unsafe { ibput(via, dest, source, dst, sst, 1, nelems, pe) }
}

/// Strided get of single elements.
///
/// # Safety
/// As for [`get`], for every element.
#[inline(always)]
pub unsafe fn iget<V: Via, T>(
    via: V,
    dest: *mut T,
    source: *const T,
    dst: isize,
    sst: isize,
    nelems: usize,
    pe: c_int,
) {
    // SAFETY: a block of one element is that element.
    unsafe { ibget(via, dest, source, dst, sst, 1, nelems, pe) }
}
