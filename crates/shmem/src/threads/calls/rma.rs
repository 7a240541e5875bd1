//! Put and get.

use core::ffi::c_int;
use core::mem::MaybeUninit;

use oxshmem_runtime::Via;
use oxshmem_transport::Remote;

use crate::Plain;
use crate::threads::ThreadPe;

/// Begins a call: where `nelems` elements at `address` are on `pe`, and how many bytes they have. `None` without any.
fn place<V: Via, T>(here: &ThreadPe, via: V, address: *const T, nelems: usize, pe: c_int) -> Option<(Remote, usize)> {
    here.turns().step(here.me);
    let n = nelems * size_of::<T>();
    (n > 0).then(|| (here.remote(via, address.cast(), n, pe), n))
}

pub(crate) unsafe fn p<V: Via, T: Plain>(here: &ThreadPe, via: V, dest: *mut T, value: T, pe: c_int) {
    // SAFETY: the put has copied the local when it returns.
    unsafe { put(here, via, dest, &raw const value, 1, pe) }
}

pub(crate) unsafe fn g<V: Via, T: Plain>(here: &ThreadPe, via: V, source: *const T, pe: c_int) -> T {
    let mut value = MaybeUninit::uninit();
    // SAFETY: the get has filled the local when it returns.
    unsafe {
        get(here, via, value.as_mut_ptr(), source, 1, pe);
        value.assume_init()
    }
}

pub(crate) unsafe fn put<V: Via, T: Plain>(
    here: &ThreadPe,
    via: V,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    pe: c_int,
) {
    if let Some((to, n)) = place(here, via, dest, nelems, pe) {
        // SAFETY: `remote` has checked that the place is inside a region; the caller promises `n` readable bytes at
        // `source`.
        here.issue(via, |lane| unsafe { lane.put(to, source.cast(), n) });
    }
}

pub(crate) unsafe fn get<V: Via, T: Plain>(
    here: &ThreadPe,
    via: V,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    pe: c_int,
) {
    if let Some((from, n)) = place(here, via, source, nelems, pe) {
        // SAFETY: the caller promises room for `nelems` elements at `dest`. A get that brings nothing leaves zeros.
        unsafe { dest.write_bytes(0, nelems) };
        // SAFETY: `remote` has checked that the place is inside a region; the caller promises `n` writable bytes at
        // `dest`, and `ask` returns only when they are there.
        here.ask(via, |lane| unsafe { lane.get_nbi(dest.cast(), from, n) });
    }
}

/// The beginnings of transfers, which are complete when these return.
macro_rules! complete_at_once {
    ($($name:ident $whole:ident;)*) => {$(
        pub(crate) unsafe fn $name<V: Via, T: Plain>(
            here: &ThreadPe, via: V, dest: *mut T, source: *const T, nelems: usize, pe: c_int,
        ) -> bool {
            // SAFETY: our caller has made the promises that this call asks for.
            unsafe { $whole(here, via, dest, source, nelems, pe) };
            false
        }
    )*};
}

complete_at_once! {
    begin_put put;
    begin_get get;
}

pub(crate) unsafe fn put_nbi<V: Via, T: Plain>(
    here: &ThreadPe,
    via: V,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    pe: c_int,
) {
    if let Some((to, n)) = place(here, via, dest, nelems, pe) {
        // SAFETY: `remote` has checked that the place is inside a region; the caller promises `n` bytes at `source` that
        // no code writes before the next quiet.
        here.issue(via, |lane| unsafe { lane.put_nbi(to, source.cast(), n) });
    }
}

pub(crate) unsafe fn get_nbi<V: Via, T: Plain>(
    here: &ThreadPe,
    via: V,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    pe: c_int,
) {
    if let Some((from, n)) = place(here, via, source, nelems, pe) {
        // SAFETY: `remote` has checked that the place is inside a region; the caller promises `n` bytes at `dest` that
        // no code uses before the next quiet.
        here.issue(via, |lane| unsafe { lane.get_nbi(dest.cast(), from, n) });
    }
}

/// The strided forms: blocks of the contiguous one, and single elements, which are blocks of one.
macro_rules! strided {
    ($($of_blocks:ident $of_elements:ident $block:ident;)*) => {$(
        pub(crate) unsafe fn $of_blocks<V: Via, T: Plain>(
            here: &ThreadPe, via: V, dest: *mut T, source: *const T, dst: isize, sst: isize, bsize: usize, nblocks: usize,
            pe: c_int,
        ) {
            for i in 0..nblocks as isize {
                let (to, from) = (dest.wrapping_offset(i * dst), source.wrapping_offset(i * sst));
                // SAFETY: one block of the caller's promise.
                unsafe { $block(here, via, to, from, bsize, pe) }
            }
        }

        pub(crate) unsafe fn $of_elements<V: Via, T: Plain>(
            here: &ThreadPe, via: V, dest: *mut T, source: *const T, dst: isize, sst: isize, nelems: usize, pe: c_int,
        ) {
            // SAFETY: the caller promises `nelems` elements at these strides, which are blocks of one element.
            unsafe { $of_blocks(here, via, dest, source, dst, sst, 1, nelems, pe) }
        }
    )*};
}

strided! {
    ibput iput put;
    ibget iget get;
}
