//! The kernels: array operations on raw memory, by type or by name.

use core::mem::size_of;

use crate::body::{Bodies, Body, Pair, Store};
use crate::element::{Complex, Kind};
use crate::extended::{LongDouble, Quad};
use crate::operator::*;
use crate::variant::{Variant, select};

/// The array operations of one operator on one type.
#[derive(Clone, Copy)]
pub struct Kernel {
    bodies: &'static [Body; 3],
    variant: Variant,
    lanes_per_element: usize,
}

impl Kernel {
    /// The kernel for a pair known when the caller is compiled.
    #[inline]
    pub fn of<O: Operator, T: Operand<O>>() -> Kernel {
        Kernel {
            bodies: const { &Pair::<O, T::Lane>::BODIES },
            variant: select(),
            lanes_per_element: size_of::<T>() / size_of::<T::Lane>(),
        }
    }

    /// The kernel for a pair known by name, or `None` if the type does not have the operator.
    pub fn find(op: Op, kind: Kind) -> Option<Kernel> {
        macro_rules! all {
            ($t:ty: $($op:ident)*) => {
{
                    $(if op == Op::$op {
                        return Some(Kernel::of::<$op, $t>());
                    })*
                    None
                }
            };
        }
        match kind {
            Kind::I8 => all!(i8: And Or Xor Max Min Sum Prod),
            Kind::I16 => all!(i16: And Or Xor Max Min Sum Prod),
            Kind::I32 => all!(i32: And Or Xor Max Min Sum Prod),
            Kind::I64 => all!(i64: And Or Xor Max Min Sum Prod),
            Kind::U8 => all!(u8: And Or Xor Max Min Sum Prod),
            Kind::U16 => all!(u16: And Or Xor Max Min Sum Prod),
            Kind::U32 => all!(u32: And Or Xor Max Min Sum Prod),
            Kind::U64 => all!(u64: And Or Xor Max Min Sum Prod),
            Kind::F32 => all!(f32: Max Min Sum Prod),
            Kind::F64 => all!(f64: Max Min Sum Prod),
            Kind::LongDouble => all!(LongDouble: Max Min Sum Prod),
            Kind::Quad => all!(Quad: Max Min Sum Prod),
            Kind::ComplexF32 => all!(Complex<f32>: Sum Prod),
            Kind::ComplexF64 => all!(Complex<f64>: Sum Prod),
        }
    }

    /// The same kernel compiled for `variant`, or `None` if this processor cannot run it.
    pub fn compiled_for(self, variant: Variant) -> Option<Kernel> {
        variant.is_available().then_some(Kernel { variant, ..self })
    }

    /// Element by element, `destination = sources[0] op sources[1] op …`, from left to right. One source is copied;
    /// with none, nothing is written.
    ///
    /// # Safety
    /// All pointers are aligned to the element and good for `n` elements: the sources for reading, the destination
    /// for writing. The destination is the same as a source or does not overlap it. No other thread accesses the
    /// destination, or writes to a source, during the call.
    #[inline]
    pub unsafe fn fold(&self, destination: *mut u8, sources: &[*const u8], n: usize, store: Store) {
        // SAFETY: the caller promises `n` elements at each pointer, and one destination overlaps no other destination.
        unsafe { self.fold_to_many(&[destination], sources, n, store) }
    }

    /// [`fold`](Self::fold) with the result written to every destination; every source is read once.
    ///
    /// # Safety
    /// As [`fold`](Self::fold) for every destination, and no two destinations overlap.
    #[inline]
    pub unsafe fn fold_to_many(&self, destinations: &[*mut u8], sources: &[*const u8], n: usize, store: Store) {
        // SAFETY: the caller promises `n` elements at each pointer, which are `n * lanes_per_element` lanes. The processor
        // has the variant, because `select` and `compiled_for` give no other.
        unsafe { self.bodies[self.variant as usize](destinations, sources, n * self.lanes_per_element, store) }
    }
}

/// Element by element, `destination = sources[0] op sources[1] op …`, from left to right; see [`Kernel::fold`].
///
/// # Safety
/// As [`Kernel::fold`].
#[inline]
pub unsafe fn fold<O: Operator, T: Operand<O>>(destination: *mut T, sources: &[*const T], n: usize) {
    // SAFETY: the caller promises `n` elements of `T` at each pointer, aligned for `T`, and that nobody else uses the
    // destination meanwhile.
    unsafe {
        if n <= SMALL {
            fold_small::<O, T>(destination, sources, n);
        } else {
            Kernel::of::<O, T>().fold(destination.cast(), untyped(sources), n, Store::Cached);
        }
    }
}

/// [`fold`] with streaming stores and a store fence at the end.
///
/// # Safety
/// As [`Kernel::fold`].
#[inline]
pub unsafe fn fold_stream<O: Operator, T: Operand<O>>(destination: *mut T, sources: &[*const T], n: usize) {
    // SAFETY: the caller promises `n` elements of `T` at each pointer, aligned for `T`, and that nobody else uses the
    // destination meanwhile.
    unsafe { Kernel::of::<O, T>().fold(destination.cast(), untyped(sources), n, Store::Streaming) }
}

/// [`fold`] with the result written to every destination; see [`Kernel::fold_to_many`].
///
/// # Safety
/// As [`Kernel::fold_to_many`].
#[inline]
pub unsafe fn fold_to_many<O: Operator, T: Operand<O>>(
    destinations: &[*mut T],
    sources: &[*const T],
    n: usize,
    store: Store,
) {
    // SAFETY: the caller promises `n` elements at each pointer and destinations that do not overlap. Pointers to different
    // types are represented alike, so the list of them may be read as one of `*mut u8`.
    unsafe {
        let destinations = core::slice::from_raw_parts(destinations.as_ptr().cast(), destinations.len());
        Kernel::of::<O, T>().fold_to_many(destinations, untyped(sources), n, store);
    }
}

/// [`fold`] for a handful of elements: no call, no vectors.
///
/// # Safety
/// As [`Kernel::fold`].
#[inline(always)]
pub unsafe fn fold_small<O: Operator, T: Operand<O>>(destination: *mut T, sources: &[*const T], n: usize) {
    let Some((first, rest)) = sources.split_first() else {
        return;
    };
    for i in 0..n {
        // SAFETY: the caller promises `n` elements at each pointer, and `i` is less than `n`.
        unsafe {
            let first = first.add(i).read().without_padding();
            let result = rest.iter().fold(first, |result, next| result.combine(next.add(i).read()));
            destination.add(i).write(result);
        }
    }
}

/// Copies with streaming stores and a store fence at the end.
///
/// # Safety
/// `source` is good for reading and `destination` for writing `n` bytes; they do not overlap; no other thread accesses
/// the destination, or writes to the source, during the call.
#[inline]
pub unsafe fn copy_stream(destination: *mut u8, source: *const u8, n: usize) {
    // SAFETY: the caller promises `n` bytes at both pointers without overlap, and any address is aligned for a byte. A
    // fold of one source is a copy.
    unsafe { fold_stream::<Or, u8>(destination, &[source], n) }
}

/// Up to here a vector is not worth its set-up.
const SMALL: usize = 8;

#[inline(always)]
fn untyped<T>(pointers: &[*const T]) -> &[*const u8] {
    // SAFETY: pointers to different types are represented alike.
    unsafe { core::slice::from_raw_parts(pointers.as_ptr().cast(), pointers.len()) }
}
