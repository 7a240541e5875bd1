//! Point-to-point synchronisation: wait until, or test whether, symmetric variables of the caller satisfy a comparison.

mod set;

use core::ffi::c_int;

use crate::calls::amo::AmoType;
use crate::diagnosis::errors;
use crate::wait::{self, Needs, Reason, polls};
use oxshmem_flight::waits::Comparand;

pub use set::{
    test_all, test_all_vector, test_any, test_any_vector, test_some, test_some_vector, wait_until_all,
    wait_until_all_vector, wait_until_any, wait_until_any_vector, wait_until_some, wait_until_some_vector,
};

/// The comparison operators, with the numbers of the header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CmpOperator {
    Eq = 1,
    Ne,
    Gt,
    Ge,
    Lt,
    Le,
}

impl CmpOperator {
    fn of(call: &'static str, number: c_int) -> Self {
        match number {
            1 => Self::Eq,
            2 => Self::Ne,
            3 => Self::Gt,
            4 => Self::Ge,
            5 => Self::Lt,
            6 => Self::Le,
            _ => errors::bad_argument(call, "cmp", number.into(), "SHMEM_CMP_EQ, NE, GT, GE, LT and LE (1 to 6)"),
        }
    }

    #[inline(always)]
    fn holds<T: PartialOrd>(self, left: T, right: T) -> bool {
        match self {
            Self::Eq => left == right,
            Self::Ne => left != right,
            Self::Gt => left > right,
            Self::Ge => left >= right,
            Self::Lt => left < right,
            Self::Le => left <= right,
        }
    }
}

/// A wait for `count` variables from `ivar` on.
fn reason<T>(call: &'static str, ivar: *mut T, count: usize, awaited: Comparand) -> Reason<'static> {
    Reason { call, address: ivar as usize, needs: Needs::Variables(count as u64, awaited) }
}

/// Waits until `*ivar cmp value`, and says what satisfied it.
///
/// # Safety
/// `ivar` is a valid, aligned object that others change atomically.
#[inline(always)]
pub(crate) unsafe fn until<T: AmoType + PartialOrd>(call: &'static str, ivar: *mut T, cmp: c_int, value: T) -> T {
    let comparison = CmpOperator::of(call, cmp);
    // All bits set is less than none only where there are negative numbers.
    let signed = T::of_bits(u64::MAX) < T::of_bits(0);
    let (bytes, value_bits) = (size_of::<T>() as u8, value.bits());
    let reason = reason(call, ivar, 1, Comparand { comparison: comparison as u8, bytes, signed, value: value_bits });
    // SAFETY: until the wait ends, the caller promises a valid, aligned object that others change atomically.
    let look = move || unsafe { T::load(ivar) };
    // The two comparisons that programs spin on get loops of their own.
    let seen = match comparison {
        CmpOperator::Eq => wait::until_interrupted(reason, None, move || Some(look()).filter(|seen| *seen == value)),
        CmpOperator::Ne => wait::until_interrupted(reason, None, move || Some(look()).filter(|seen| *seen != value)),
        _ => wait::until_interrupted(reason, None, move || Some(look()).filter(|seen| comparison.holds(*seen, value))),
    };
    // The interpreter that has interrupted the wait raises an exception in the place of a result.
    seen.unwrap_or_else(look)
}

/// Ends the job with a message in the name of `call` if a task waits for `ivar` and no PE is left that could change it, or the job has lost
/// one of its PEs. `ready` says whether the wait is over.
pub fn end_if_hopeless<T>(call: &'static str, ivar: *mut T, ready: impl FnMut() -> bool) {
    let awaited = Comparand { comparison: 0, bytes: size_of::<T>() as u8, signed: false, value: 0 };
    wait::end_if_hopeless(reason(call, ivar, 1, awaited), ready);
}

/// Waits until `*ivar cmp value`.
///
/// # Safety
/// As the standard asks: `ivar` is a symmetric object of the caller. So for all calls of this file.
#[inline(always)]
pub unsafe fn wait_until<T: AmoType + PartialOrd>(ivar: *mut T, cmp: c_int, value: T) {
    // SAFETY: the caller promises that `ivar` is a symmetric object of its own, which others change atomically.
    unsafe { until("shmem_wait_until", ivar, cmp, value) };
}

/// Waits until `*ivar` differs from `value`.
///
/// # Safety
/// See [`wait_until`].
#[inline(always)]
pub unsafe fn wait<T: AmoType + PartialOrd>(ivar: *mut T, value: T) {
    // SAFETY: the caller promises that `ivar` is a symmetric object of its own, which others change atomically.
    unsafe { until("shmem_wait", ivar, CmpOperator::Ne as c_int, value) };
}

/// Whether `*ivar cmp value`.
///
/// # Safety
/// See [`wait_until`].
#[inline(always)]
pub unsafe fn test<T: AmoType + PartialOrd>(ivar: *mut T, cmp: c_int, value: T) -> c_int {
    let comparison = CmpOperator::of("shmem_test", cmp);
    // SAFETY: the caller promises that `ivar` is a symmetric object of its own, which others change atomically.
    let seen = unsafe { T::load(ivar) };
    answer("shmem_test", comparison.holds(seen, value))
}

/// The answer of a test that is repeated until it is yes.
#[inline(always)]
pub(crate) fn answer(call: &'static str, yes: bool) -> c_int {
    if !yes {
        polls::test_failed(call, Needs::Anyone);
    }
    yes.into()
}
