//! Conditions of waits.

use core::ffi::c_int;

/// How a value in symmetric memory is to compare with one of the caller.
///
/// ```
/// use oxshmem::Comparison::{AtMost, Is};
/// assert!(AtMost(3).holds(2) && !Is(3).holds(2));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Comparison<T> {
    /// It is equal.
    Is(T),
    /// It differs.
    Not(T),
    /// It is greater.
    Above(T),
    /// It is greater or equal.
    AtLeast(T),
    /// It is less.
    Below(T),
    /// It is less or equal.
    AtMost(T),
}

impl<T: PartialOrd + Copy> Comparison<T> {
    /// Whether `seen` satisfies the comparison.
    ///
    /// ```
    /// assert!(oxshmem::Comparison::Above(1.5).holds(2.0));
    /// ```
    #[must_use]
    pub fn holds(self, seen: T) -> bool {
        match self {
            Self::Is(value) => seen == value,
            Self::Not(value) => seen != value,
            Self::Above(value) => seen > value,
            Self::AtLeast(value) => seen >= value,
            Self::Below(value) => seen < value,
            Self::AtMost(value) => seen <= value,
        }
    }
}

impl<T: Copy> Comparison<T> {
    /// The operator's number in the C header, and the value.
    #[inline(always)]
    pub(crate) fn parts(self) -> (c_int, T) {
        match self {
            Self::Is(value) => (1, value),
            Self::Not(value) => (2, value),
            Self::Above(value) => (3, value),
            Self::AtLeast(value) => (4, value),
            Self::Below(value) => (5, value),
            Self::AtMost(value) => (6, value),
        }
    }
}
