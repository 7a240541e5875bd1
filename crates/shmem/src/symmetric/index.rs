//! `[]` of slices in symmetric memory: the place of an element, or of several.

use core::ops::{Deref, Index};

use super::Symmetric;
use crate::Resident;

impl<T: Resident, const N: usize> Deref for Symmetric<[T; N]> {
    type Target = Symmetric<[T]>;
    #[inline(always)]
    fn deref(&self) -> &Symmetric<[T]> {
        // SAFETY: an array is a slice of its elements.
        unsafe { Symmetric::of(self.own().cast(), N) }
    }
}

impl<T: Resident> Index<usize> for Symmetric<[T]> {
    type Output = Symmetric<T>;
    #[inline(always)]
    #[track_caller]
    fn index(&self, i: usize) -> &Symmetric<T> {
        match self.at(i) {
            Some(place) => place,
            None => outside(&i, self.len()),
        }
    }
}

macro_rules! index_by_range {
    ($($range:ty)*) => {$(
        impl<T: Resident> Index<$range> for Symmetric<[T]> {
            type Output = Symmetric<[T]>;
            #[inline(always)]
            #[track_caller]
            fn index(&self, range: $range) -> &Symmetric<[T]> {
                match self.part(range.clone()) {
                    Some(part) => part,
                    None => outside(&range, self.len()),
                }
            }
        }
    )*};
}

index_by_range! {
    core::ops::Range<usize> core::ops::RangeInclusive<usize> core::ops::RangeFrom<usize> core::ops::RangeTo<usize>
    core::ops::RangeToInclusive<usize> core::ops::RangeFull
}

/// Panics, as the language asks of `[]`; `at` and `part` return an `Option` instead.
#[cold]
#[track_caller]
fn outside(index: &dyn core::fmt::Debug, len: usize) -> ! {
    panic!("index {index:?} is out of range for a symmetric slice of length {len}")
}
