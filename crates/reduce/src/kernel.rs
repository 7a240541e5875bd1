//! The kernels: array operations on raw memory.

use core::mem::size_of;

use crate::body::{Bodies, Body, Pair, Store};
use crate::operator::{Operand, Operator};
use crate::variant::{Variant, select};

/// The array operations of one operator on one type.
#[derive(Clone, Copy)]
pub struct Kernel {
    bodies: &'static [Body; 3],
    variant: Variant,
    lanes_per_element: usize,
}

impl Kernel {
    /// The kernel of a pair.
    #[inline]
    pub fn of<O: Operator, T: Operand<O>>() -> Kernel {
        Kernel {
            bodies: const { &Pair::<O, T::Lane>::BODIES },
            variant: select(),
            lanes_per_element: size_of::<T>() / size_of::<T::Lane>(),
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
